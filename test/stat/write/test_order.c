/* test_order.c - all files have the same order and the same outliers, and name
 * their origin. */
#include <stdlib.h>

#include "stat/show/origin.h"
#include "stat/show/report.h"
#include "stat/write/output.h"
#include "test/stat/trees.h"

/* A tree of `count` tasks: the first in other(), the others in step(). The last
 * also has a progress thread, with a name. */
static struct tree *made_tree(uint32_t count)
{
    const struct frame mains[] = {{"main", "m.c", 1, "", 0, false},
                                  {"step", "m.c", 2, "", 0, false}};
    const struct frame other[] = {{"main", "m.c", 1, "", 0, false},
                                  {"other", "m.c", 3, "", 0, false}};
    const struct frame progress[] = {
        {"[thread p-#]", "", 0, "", 0, false},
        {"progress_engine", "", 0, role_text(ROLE_MPI), 0, false}};
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (uint32_t i = 0; i < count; i++)
        CHECK_OK(traces_add(traces, i, i == 0 ? other : mains, 2));
    CHECK_OK(traces_add(traces, count - 1, progress, 2));
    return settled(tree_of(traces));
}

/* `tree`, which is taken, in one format; the caller frees the text. */
static char *written_tree(enum output_kind kind, struct tree *tree)
{
    struct report_source source = {.hosts = 1,
                                   .samples = 1,
                                   .job = "./solver <3>",
                                   .command = "coppice-stat --mpir 7"};
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

/* The tree of `count` tasks in one format; the caller frees the text. */
static char *written(enum output_kind kind, uint32_t count)
{
    return written_tree(kind, made_tree(count));
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

/* Progress threads are last: they are few, but do not explain a hang. */
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

/* A function without a source line has the line of its call. */
TEST(calls_tell_their_lines)
{
    static const struct made_call calls[] = {{7, "MPI_Barrier"},
                                             {9, "MPI_Bcast"}};
    char *svg = written_tree(OUTPUT_SVG, tree_of_calls(calls, 2));
    char *dot = written_tree(OUTPUT_DOT, tree_of_calls(calls, 2));
    char *json = written_tree(OUTPUT_JSON, tree_of_calls(calls, 2));

    CU_ASSERT(has(svg, "<title>MPI_Barrier (from s.c:7)"));
    CU_ASSERT(has(svg, "<title>MPI_Bcast (from s.c:9)"));
    CU_ASSERT(has(dot, "label=\"MPI_Barrier\\nfrom s.c:7\""));
    CU_ASSERT(has(json, "\"call_line\":9"));
    free(svg);
    free(dot);
    free(json);
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

/* The dot file has every frame, quoted, and an ordinary dot renders it. */
TEST(dot_renders_the_graph)
{
    struct frame frames[] = {{"f<\"x\\y\">", "a \"b\".c", 3, "", 0, false}};
    struct traces *traces;
    char *text;
    FILE *file;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 1));
    text = written_tree(OUTPUT_DOT, tree_of(traces));
    CU_ASSERT(has(text, "label=\"f<\\\"x\\\\y\\\">\\na \\\"b\\\".c:3\""));
    CU_ASSERT(has(text, "0 -> 1 [label=\"1:[0]\", bv=\"[0]\"]"));
    if (system("command -v dot >/dev/null") == 0) {
        file = popen("dot -Tsvg | grep -q '1:\\[0\\]'", "w");
        CU_ASSERT_FATAL(file != NULL);
        fputs(text, file);
        CU_ASSERT_EQUAL(pclose(file), 0);
    }
    free(text);
}

/* Names cannot end the script or the string that contains them. */
TEST(hostile_names_stay_names)
{
    struct frame frame = {
        "</script><script>x()", "<!--\"\\\n\xff.c", 1, "", 0, false};
    struct traces *traces;
    unsigned ends = 0;
    char *text, *at;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, &frame, 1));
    text = written_tree(OUTPUT_HTML, tree_of(traces));
    for (at = text; (at = strstr(at, "</script")) != NULL; at++)
        ends++;
    CU_ASSERT_EQUAL(ends, 2);
    CU_ASSERT(!has(text, "<script>x()"));
    CU_ASSERT(has(text, "\"\\u003c/script\\u003e\\u003cscript\\u003ex()\""));
    CU_ASSERT(has(text, "\"\\u003c!--\\\"\\\\\\u000a\xef\xbf\xbd.c\""));
    free(text);
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
