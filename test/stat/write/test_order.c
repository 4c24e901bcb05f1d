/* test_order.c - all files agree on what is first, and what is an outlier; and
 * say where they are from. */
#include <stdlib.h>

#include "stat/show/origin.h"
#include "stat/show/report.h"
#include "stat/walk/traces.h"
#include "stat/write/output.h"
#include "test/check.h"

/* A tree of `count` tasks in main(), the first in other(); the last has a
 * progress thread, too, with a name. */
static struct tree *made_tree(uint32_t count)
{
    const struct frame mains[] = {{"main", "m.c", 1, "", 0, false},
                                  {"step", "m.c", 2, "", 0, false}};
    const struct frame other[] = {{"main", "m.c", 1, "", 0, false},
                                  {"other", "m.c", 3, "", 0, false}};
    const struct frame progress[] = {{"[thread p-#]", "", 0, "", 0, false},
                                     {"progress_engine", "", 0, "", 0, false}};
    struct tree *tree, *settled;
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (uint32_t i = 0; i < count; i++)
        CHECK_OK(traces_add(traces, i, i == 0 ? other : mains, 2));
    CHECK_OK(traces_add(traces, count - 1, progress, 2));
    CHECK_OK(traces_sample(&tree, traces, 0));
    CHECK_OK(tree_settle(&settled, tree));
    tree_free(tree);
    traces_free(traces);
    return settled;
}

/* What one format says of so many tasks; the caller frees it. */
static char *written(enum output_kind kind, uint32_t count)
{
    struct report_source source = {.hosts = 1,
                                   .samples = 1,
                                   .job = "./solver <3>",
                                   .command = "coppice-stat --mpir 7"};
    struct tree *tree = made_tree(count);
    struct report *report;
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK_OK(report_new(&report, tree, &source));
    CHECK_OK(output_write(file, kind, report));
    CU_ASSERT_EQUAL(fclose(file), 0);
    report_free(report);
    tree_free(tree);
    return text;
}

static size_t place_of(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    if (!at)
        printf("no %s in: %s\n", word, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return (size_t)(at - text);
}

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/* They have the fewest tasks, which come first, but say nothing of a hang. */
TEST(progress_threads_are_last)
{
    char *svg = written(OUTPUT_SVG, 8), *dot = written(OUTPUT_DOT, 8);
    char *json = written(OUTPUT_JSON, 8);

    CU_ASSERT(place_of(svg, "<title>progress_engine") >
              place_of(svg, "<title>step"));
    CU_ASSERT(place_of(dot, "label=\"progress_engine") >
              place_of(dot, "label=\"step"));
    CU_ASSERT(has(json, "\"progress\":true"));
    free(svg);
    free(dot);
    free(json);
}

TEST(outliers_are_the_same_in_each_format)
{
    for (uint32_t count = 2; count <= 8; count += 6) {
        bool is = count == 8;
        char *svg = written(OUTPUT_SVG, count);
        char *dot = written(OUTPUT_DOT, count);
        char *json = written(OUTPUT_JSON, count);

        CU_ASSERT_EQUAL(has(svg, "1: 0 (outlier)"), is);
        CU_ASSERT_EQUAL(has(dot, "\"1:[0] (outlier)\""), is);
        CU_ASSERT_EQUAL(has(json, "\"outlier\":true"), is);
        CU_ASSERT_EQUAL(has(json, "\"outlier_most\":1,"), is);
        free(svg);
        free(dot);
        free(json);
    }
}

TEST(files_say_where_they_are_from)
{
    char *svg = written(OUTPUT_SVG, 8), *dot = written(OUTPUT_DOT, 8);
    char *json = written(OUTPUT_JSON, 8);

    CU_ASSERT(has(svg, "./solver &#60;3&#62;; coppice-stat --mpir 7 (version"));
    CU_ASSERT(has(dot, "./solver <3>; coppice-stat --mpir 7 (version"));
    CU_ASSERT(has(json, "\"job\":\"./solver \\u003c3\\u003e\""));
    CU_ASSERT(has(json, "\"command\":\"coppice-stat --mpir 7\""));
    free(svg);
    free(dot);
    free(json);
}

TEST(words_are_quoted_as_a_shell_takes_them)
{
    char tool[] = "coppice-stat", name[] = "--name", ab[] = "a b", none[] = "";
    char many[3000], *words[] = {tool, name, ab, none, many};
    char *text = origin_words(4, words);

    CU_ASSERT_STRING_EQUAL(text, "coppice-stat --name 'a b' ''");
    free(text);
    memset(many, 'x', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    text = origin_words(5, words);
    CU_ASSERT_EQUAL(strlen(text), ORIGIN_WORDS_MAX - 1);
    free(text);
}

int main(void)
{
    return check_run("order");
}
