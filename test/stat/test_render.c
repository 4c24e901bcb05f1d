/* test_render.c - classes, the picture and the dot file, as text. */
#include <errno.h>
#include <unistd.h>

#include "stat/classes.h"
#include "stat/dot.h"
#include "stat/frame.h"
#include "stat/render.h"
#include "stat/traces.h"
#include "test/check.h"

#define STEP                                                                   \
    {                                                                          \
        "ring_step", "ring.c", 40, "", 0                                       \
    }
#define MAIN                                                                   \
    {                                                                          \
        "main", "ring.c", 90, "", 0                                            \
    }

/* The ring of 16 with one that stalls. */
static struct tree *ring_tree(uint32_t samples)
{
    struct frame stall[] = {MAIN,
                            STEP,
                            {"do_SendOrStall", "ring.c", 44, "", 0},
                            {"pause", "", 0, "", 0}};
    struct frame wait[] = {MAIN,
                           STEP,
                           {"ring_waitall", "ring.c", 55, "", 0},
                           {"recv", "", 0, "", 0}};
    struct frame meet[] = {MAIN,
                           STEP,
                           {"ring_barrier", "ring.c", 66, "", 0},
                           {"pthread_barrier_wait", "", 0, "", 0},
                           {"libc.so.6+0x85f17", "", 0, "", 0}};
    struct tree none = {0};
    struct traces *traces;
    struct tree *tree, *more, *both;
    uint32_t sample;
    uint32_t task;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(tree_join(&tree, &none, &none));
    for (sample = 0; sample < samples; sample++) {
        for (task = 0; task < 16; task++) {
            if (task == 1)
                CHECK_OK(traces_add(traces, task, stall, 4));
            else if (task == 2)
                CHECK_OK(traces_add(traces, task, wait, 4));
            else
                CHECK_OK(traces_add(traces, task, meet, 5));
        }
        CHECK_OK(traces_sample(&more, traces, 1900000));
        CHECK_OK(tree_join(&both, tree, more));
        tree_free(tree);
        tree_free(more);
        tree = both;
    }
    traces_free(traces);
    CHECK_OK(tree_settle(&both, tree));
    tree_free(tree);
    return both;
}

/* Draw `tree`, which is freed, and compare. */
static void check_picture(struct tree *tree,
                          const struct render_options *options,
                          const char *expected)
{
    struct classes *classes;
    char *text = NULL;
    size_t len;
    FILE *file;

    CHECK_OK(classes_new(&classes, tree, CLASSES_CALLS));
    file = open_memstream(&text, &len);
    CU_ASSERT_FATAL(file != NULL);
    CHECK_OK(render_tree(file, tree, classes, options));
    fclose(file);
    if (strcmp(text, expected) != 0)
        printf("\n--- expected\n%s--- drawn\n%s---\n", expected, text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
    classes_free(classes);
    tree_free(tree);
}

/* Three classes: fewest first, outliers marked, the C library on the line of
 * its caller. */
static void the_ring_has_three_classes(void)
{
    int32_t pids[16] = {100, 101, 102};
    struct render_options options = {
        .width = 100, .hosts = 1, .samples = 1, .pids = pids, .task_count = 16};

    check_picture(
        ring_tree(1), &options,
        "16 tasks on 1 host, 3 classes, 1 sample, stopped 1.9 ms at most "
        "            tasks  ranks\n"
        "main (ring.c:90)                                                "
        "               16  0-15\n"
        "└─ ring_step (ring.c:40)                                        "
        "               16  0-15\n"
        "   ├─ do_SendOrStall (ring.c:44) ▸ pause                        "
        "                1  1  ◀ outlier\n"
        "   ├─ ring_waitall (ring.c:55) ▸ recv                           "
        "                1  2  ◀ outlier\n"
        "   └─ ring_barrier (ring.c:66) ▸ pthread_barrier_wait ▸ libc.so."
        "6+0x85f17      14  0,3-15\n"
        "class 1: 1 task: 1 (pid 101)\n"
        "class 2: 1 task: 2 (pid 102)\n"
        "class 3: 14 tasks: 0,3-15\n");
}

/* Each line of a narrow picture fits, but for marks and the headline. */
static void narrow_pictures_are_cut(void)
{
    struct render_options options = {.width = 50, .hosts = 1, .samples = 3};

    check_picture(
        ring_tree(3), &options,
        "16 tasks on 1 host, 3 classes, 3 samples, stopped 1.9 ms at most\n"
        "                               tasks  ranks\n"
        "main (ring.c:90)                  16  0-15\n"
        "└─ ring_step (ring.c:40)          16  0-15\n"
        "   ├─ do_SendOrStall (ring.…       1  1  ◀ outlier, unchanged fo"
        "r 3 samples\n"
        "   ├─ ring_waitall (ring.c:…       1  2  ◀ outlier, unchanged fo"
        "r 3 samples\n"
        "   └─ ring_barrier (ring.c:…      14  0,3-15\n"
        "class 1: 1 task: 1\n"
        "class 2: 1 task: 2\n"
        "class 3: 14 tasks: 0,3-15\n");
}

/* One class: no outlier, whatever the counts. A trace that ends where others
 * go on has a line of its own. */
static void ends_inside_are_shown(void)
{
    struct render_options options = {
        .width = 80, .colour = true, .hosts = 2, .samples = 1};
    struct frame frames[] = {{"main", "", 0, "", 0}, {"work", "w.c", 2, "", 0}};
    struct traces *traces;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 1));
    CHECK_OK(traces_add(traces, 0, frames, 2));
    CHECK_OK(traces_sample(&tree, traces, 0));
    traces_free(traces);
    check_picture(
        tree, &options,
        "1 task on 2 hosts, 1 class, 1 sample, stopped 0.0 ms at most\n"
        "                                                             tas"
        "ks  ranks\n"
        "\033[38;5;208mmain                                              "
        "               1  0\033[0m\n"
        "\033[38;5;208m├─ (here)                                         "
        "               1  0\033[0m\n"
        "\033[38;5;208m└─ work (w.c:2)                                   "
        "               1  0\033[0m\n"
        "\033[38;5;208mclass 1: 1 task: 0\033[0m\n");
}

/* Tasks with the same ends are alike, wherever they are; a task with two
 * threads is not like one with one of them. */
static void classes_are_exact(void)
{
    struct frame a[] = {{"a", "", 0, "", 0}};
    struct frame b[] = {{"b", "", 0, "", 0}};
    struct frame bad[] = {{FRAME_NOT_WALKED "gone]", "", 0, "", 0}};
    struct classes *classes;
    struct traces *traces;
    struct tree *tree;
    char text[32];

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, a, 1));
    CHECK_OK(traces_add(traces, 1, a, 1));
    CHECK_OK(traces_add(traces, 1, b, 1));
    CHECK_OK(traces_add(traces, 2, a, 1));
    CHECK_OK(traces_add(traces, 3, b, 1));
    CHECK_OK(traces_add(traces, 4, bad, 1));
    CHECK_OK(traces_sample(&tree, traces, 0));
    CHECK_OK(classes_new(&classes, tree, CLASSES_CALLS));
    CU_ASSERT_EQUAL_FATAL(classes->count, 3);
    CU_ASSERT_STRING_EQUAL(tasks_text(classes->sets[0], text, 32), "1");
    CU_ASSERT_STRING_EQUAL(tasks_text(classes->sets[1], text, 32), "3");
    CU_ASSERT_STRING_EQUAL(tasks_text(classes->sets[2], text, 32), "0,2");
    classes_free(classes);
    tree_free(tree);
    traces_free(traces);
}

/* The dot file has every frame, quoted, and plain dot renders it. */
static void dot_renders_the_graph(void)
{
    struct frame frames[] = {{"f<\"x\\y\">", "a \"b\".c", 3, "", 0}};
    struct classes *classes;
    struct traces *traces;
    struct tree *tree;
    char *text = NULL;
    size_t len;
    FILE *file;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 1));
    CHECK_OK(traces_sample(&tree, traces, 0));
    CHECK_OK(classes_new(&classes, tree, CLASSES_CALLS));
    file = open_memstream(&text, &len);
    CU_ASSERT_FATAL(file != NULL);
    CHECK_OK(dot_write(file, tree, classes));
    fclose(file);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "label=\"f<\\\"x\\\\y\\\">\\na \\\"b\\\".c:3\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "root -> n0 [label=\"1:[0]\"]"));
    free(text);
    if (system("command -v dot >/dev/null") == 0) {
        file = popen("dot -Tsvg | grep -q '1:\\[0\\]'", "w");
        CU_ASSERT_FATAL(file != NULL);
        CHECK_OK(dot_write(file, tree, classes));
        CU_ASSERT_EQUAL(pclose(file), 0);
    }
    classes_free(classes);
    tree_free(tree);
    traces_free(traces);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the ring has three classes", the_ring_has_three_classes},
        {"narrow pictures are cut", narrow_pictures_are_cut},
        {"ends inside are shown", ends_inside_are_shown},
        {"classes are exact", classes_are_exact},
        {"dot renders the graph", dot_renders_the_graph},
        CU_TEST_INFO_NULL,
    };
    return check_run("render", tests);
}
