/* test_view.c - the tree is drawn whatever the status contains. */
#include "tools/view.h"

#include <stdlib.h>
#include <string.h>

#include "test/check.h"
#include "tools/export.h"

/* The most nodes of one answer. */
#define NODES 65536

/* The status in this test: each node is the parent of the next one. */
struct cop_status {
    size_t count;
    const char *host; /* of each node; NULL: "h" */
};

size_t cop_status_count(const struct cop_status *status)
{
    return status->count;
}

size_t cop_status_left_off(const struct cop_status *status)
{
    (void)status;
    return 0;
}

int cop_status_at(const struct cop_status *status,
                  size_t index,
                  struct cop_status_node *node)
{
    *node = (struct cop_status_node){
        .size = sizeof(*node),
        .rank = (uint32_t)index,
        .parent = index ? (uint32_t)index - 1 : COP_RANK_NONE,
        .adopted_from = COP_RANK_NONE,
        .host = status->host ? status->host : "h",
        .reason = "",
        .label = "",
    };
    return 0;
}

/* The number of lines drawn for `count` nodes; the longest has `*longest` bytes.
 */
static size_t drawn_lines(size_t count, size_t *longest)
{
    const struct view_style style = {.ascii = true, .width = 80};
    const struct cop_status status = {count, NULL};
    char *text = NULL, *line, *end;
    size_t len = 0, lines = 0;
    FILE *file = open_memstream(&text, &len);
    struct view view;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK_OK(view_init(&view, &status));
    CHECK_OK(view_draw(&view, &style, file));
    view_fini(&view);
    fclose(file);
    *longest = 0;
    for (line = text; (end = memchr(line, '\n', len)); line = end + 1) {
        size_t width = (size_t)(end - line);

        if (width > *longest)
            *longest = width;
        len -= width + 1;
        lines++;
    }
    free(text);
    return lines;
}

/* Each byte of a host's name that is no UTF-8 becomes "?". */
TEST(what_is_no_utf8_is_not_exported)
{
    static const char *const names[][2] = {
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb3",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb3"},
        {"\xc0\xaf", "??"}, /* longer than it must be */
        {"\xe0\x80\xaf", "???"},
        {"\xf0\x80\x80\xaf", "????"},
        {"\xed\xa0\x80", "???"},      /* half of a pair of UTF-16 */
        {"\xf4\x90\x80\x80", "????"}, /* above the last one */
        {"\xe2\x82", "??"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct cop_status status = {1, names[i][0]};
        char *text = NULL, expected[32];
        struct view view;
        size_t len = 0;
        FILE *file = open_memstream(&text, &len);

        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CHECK_OK(view_init(&view, &status));
        export_write(&view, EXPORT_JSON, file);
        view_fini(&view);
        fclose(file);
        snprintf(expected, sizeof(expected), "\"%s\"", names[i][1]);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, expected));
        free(text);
    }
}

/* Up to DEPTH_MAX levels the tree is drawn as it is. */
TEST(a_deep_tree_is_drawn)
{
    size_t longest;

    CU_ASSERT_EQUAL(drawn_lines(200, &longest), 200);
    CU_ASSERT(longest > 3 * 199);
}

/* An impossible depth in the answer: each node has its line, lines stay short,
 * and neither stack nor time is exhausted. */
TEST(an_impossible_depth_is_drawn)
{
    size_t longest;

    CU_ASSERT_EQUAL(drawn_lines(NODES, &longest), NODES);
    CU_ASSERT(longest < 1000);
}
