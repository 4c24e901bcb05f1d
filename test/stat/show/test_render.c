/* test_render.c - the picture, the classes and the judgement, as text. */
#include "stat/show/columns.h"
#include "stat/show/render.h"
#include "stat/show/report.h"
#include "stat/tree/frame.h"
#include "test/stat/trees.h"

#define STEP                                                                   \
    {                                                                          \
        "ring_step", "ring.c", 40, "", 0, false                                \
    }
#define MAIN                                                                   \
    {                                                                          \
        "main", "ring.c", 90, "", 0, false                                     \
    }

/* The ring of 16 tasks, one of which stalls. */
static struct tree *ring_tree(uint32_t samples)
{
    struct frame stall[] = {MAIN,
                            STEP,
                            {"do_SendOrStall", "ring.c", 44, "", 0, false},
                            {"pause", "", 0, "", 0, false}};
    struct frame wait[] = {MAIN,
                           STEP,
                           {"ring_waitall", "ring.c", 55, "", 0, false},
                           {"recv", "", 0, "", 0, false}};
    struct frame meet[] = {
        MAIN,
        STEP,
        {"ring_barrier", "ring.c", 66, "", 0, false},
        {"pthread_barrier_wait", "", 0, role_text(ROLE_THREADS), 0, false},
        {"libc.so.6+0x85f17", "", 0, "", 0, false}};
    struct tree *tree = NULL;
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (uint32_t sample = 0; sample < samples; sample++) {
        for (uint32_t task = 0; task < 16; task++) {
            if (task == 1)
                CHECK_OK(traces_add(traces, task, stall, 4));
            else if (task == 2)
                CHECK_OK(traces_add(traces, task, wait, 4));
            else
                CHECK_OK(traces_add(traces, task, meet, 5));
        }
        tree = with_sample(tree, traces, 1900000);
    }
    traces_free(traces);
    return settled(tree);
}

/* The text of `tree`, for the caller to free. Frees `tree`. */
static char *drawn(struct tree *tree,
                   const struct report_source *source,
                   unsigned width,
                   bool colour)
{
    struct render_options options = {.width = width, .colour = colour};
    struct report *report;
    char *text = NULL;
    size_t len;
    FILE *file;

    CHECK_OK(report_new(&report, tree, source));
    file = open_memstream(&text, &len);
    CU_ASSERT_FATAL(file != NULL);
    CHECK_OK(render_report(file, report, &options));
    fclose(file);
    report_free(report);
    tree_free(tree);
    return text;
}

static void check_text(char *text, const char *expected)
{
    if (strcmp(text, expected) != 0)
        printf("\n--- expected\n%s--- drawn\n%s---\n", expected, text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
}

/* Three classes: smallest first, outliers marked, C library functions on their
 * callers' lines, an ellipsis inside pthread, hosts of small classes. */
TEST(the_ring_has_three_classes)
{
    struct targets targets = {0};
    struct report_source source = {
        .targets = &targets, .hosts = 2, .samples = 1};
    uint32_t host;

    CHECK_OK(targets_host(&targets, "", &host, NULL));
    for (uint32_t i = 0; i < 16; i++) {
        CHECK_OK(targets_host(&targets, i < 2 ? "" : "node7", &host, NULL));
        CHECK_OK(targets_add(&targets, host, (pid_t)(100 + i), NULL));
    }
    check_text(drawn(ring_tree(1), &source, 100, false),
               "16 tasks on 2 hosts, 3 classes, 1 sample, stopped 1.9 ms at "
               "most   count  tasks\n"
               "main (ring.c:90)                                               "
               "       16  0-15\n"
               "└─ ring_step (ring.c:40)                                       "
               "       16  0-15\n"
               "   ├─ do_SendOrStall (ring.c:44) ▸ pause                       "
               "        1  1  ◀ outlier\n"
               "   ├─ ring_waitall (ring.c:55) ▸ recv                          "
               "        1  2  ◀ outlier\n"
               "   └─ ring_barrier (ring.c:66) ▸ pthread_barrier_wait ▸ …      "
               "       14  0,3-15\n"
               "class 1: 1 task: 1 (localhost pid 101), outlier\n"
               "class 2: 1 task: 2 (node7 pid 102), outlier\n"
               "class 3: 14 tasks: 0,3-15\n"
               "14 of 16 tasks are in pthread_barrier_wait (ring_barrier, "
               "ring.c:66); task 1 is in pause\n"
               "  (do_SendOrStall, ring.c:44); task 2 is in recv "
               "(ring_waitall, ring.c:55) (1 sample)\n");
    targets_fini(&targets);
}

/* A full picture shows also the inside of pthread. */
TEST(full_pictures_leave_nothing_out)
{
    struct report_source source = {
        .hosts = 1, .samples = 3, .interval_ms = 100, .full = true};

    check_text(
        drawn(ring_tree(3), &source, 140, false),
        "16 tasks on 1 host, 3 classes, 3 samples, stopped 1.9 ms at "
        "most            count  tasks\n"
        "main (ring.c:90)                                               "
        "                16  0-15\n"
        "└─ ring_step (ring.c:40)                                       "
        "                16  0-15\n"
        "   ├─ do_SendOrStall (ring.c:44) ▸ pause                       "
        "                 1  1  ◀ outlier, unchanged for 3 samples\n"
        "   ├─ ring_waitall (ring.c:55) ▸ recv                          "
        "                 1  2  ◀ outlier, unchanged for 3 samples\n"
        "   └─ ring_barrier (ring.c:66) ▸ pthread_barrier_wait ▸ "
        "libc.so.6+0x85f17      14  0,3-15\n"
        "class 1: 1 task: 1, outlier, unchanged for 3 samples, 0.2 s\n"
        "class 2: 1 task: 2, outlier, unchanged for 3 samples, 0.2 s\n"
        "class 3: 14 tasks: 0,3-15, unchanged for 3 samples, 0.2 s\n"
        "14 of 16 tasks wait in pthread_barrier_wait (ring_barrier, "
        "ring.c:66); task 1 waits in pause (do_SendOrStall, ring.c:44); "
        "task 2 waits in\n"
        "  recv (ring_waitall, ring.c:55); no task has moved (3 samples, "
        "0.2 s)\n");
}

/* Each line of a narrow picture fits. Marks get shorter, but stay. */
TEST(narrow_pictures_are_cut)
{
    struct report_source source = {
        .hosts = 1, .samples = 3, .interval_ms = 100};

    check_text(drawn(ring_tree(3), &source, 40, false),
               "16 tasks on 1 host, 3 classes, 3\n"
               "  samples, stopped 1.9 ms at most\n"
               "                     count  tasks\n"
               "main (ring.c:90)        16  0-15\n"
               "└─ ring_step…c:40)      16  0-15\n"
               "   ├─ do_… ▸ pause       1  1  ◀ outlier\n"
               "   ├─ ring… ▸ recv       1  2  ◀ outlier\n"
               "   └─ ring_ba… ▸ …      14  0,3-15\n"
               "class 1: 1 task: 1, outlier, unchanged\n"
               "  for 3 samples, 0.2 s\n"
               "class 2: 1 task: 2, outlier, unchanged\n"
               "  for 3 samples, 0.2 s\n"
               "class 3: 14 tasks: 0,3-15, unchanged for\n"
               "  3 samples, 0.2 s\n"
               "14 of 16 tasks wait in\n"
               "  pthread_barrier_wait (ring_barrier,\n"
               "  ring.c:66); task 1 waits in pause\n"
               "  (do_SendOrStall, ring.c:44); task 2\n"
               "  waits in recv (ring_waitall,\n"
               "  ring.c:55); no task has moved (3\n"
               "  samples, 0.2 s)\n");
}

/* One class has no outlier, whatever its counts. A stack that ends where other
 * stacks go on has its own line, "(here)". */
TEST(ends_inside_are_shown)
{
    struct report_source source = {.hosts = 2, .samples = 1};
    struct frame frames[] = {{"main", "", 0, "", 0, false},
                             {"work", "w.c", 2, "", 0, false}};
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 1));
    CHECK_OK(traces_add(traces, 0, frames, 2));
    check_text(drawn(tree_of(traces), &source, 80, true),
               "1 task on 2 hosts, 1 class, 1 sample, stopped 0.0 ms at most\n"
               "                  count  tasks\n"
               "\033[38;5;208mmain                  1  0\033[0m\n"
               "\033[38;5;208m├─ (here)             1  0\033[0m\n"
               "\033[38;5;208m└─ work (w.c:2)       1  0\033[0m\n"
               "\033[38;5;208mclass 1: 1 task: 0\033[0m\n"
               "task 0: 1 thread is in main; 1 thread is in work (w.c:2) "
               "(1 sample)\n");
}

/* If a function has several lines, judgement and picture name the line of each
 * call, unless that call too is made from several lines. */
TEST(judgements_name_the_line_of_a_call)
{
    static const struct made_call calls[] = {
        {6, "MPI_Bcast"}, {4, "MPI_Allreduce"}, {4, "MPI_Allreduce"},
        {7, "MPI_Recv"},  {8, "MPI_Recv"},      {7, "MPI_Recv"}};
    struct report_source source = {.hosts = 1, .samples = 1};
    char *text = drawn(tree_of_calls(calls, 6), &source, 300, false);

    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "3 of 6 tasks are in MPI_Recv (solve, s.c); task 0 is in "
                     "MPI_Bcast (solve, s.c:6); tasks 1-2 are in MPI_Allreduce "
                     "(solve, s.c:4) (1 sample)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nsolve (s.c) "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " MPI_Bcast (from s.c:6) "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " MPI_Allreduce (from s.c:4) "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " MPI_Recv  "));
    free(text);
}

/* Of a path as many folders are shown as tell it from those of the same name:
 * here a module in two folders, and one that is in a folder or in none. */
TEST(files_of_one_name_are_shown_with_folders)
{
    static const char *const files[][2] = {{"/job/train.py", "train.py"},
                                           {"/job/a/utils.py", "a/utils.py"},
                                           {"/job/ba/utils.py", "ba/utils.py"},
                                           {"/job/my_utils.py", "my_utils.py"},
                                           {"/x/c/io.py", "x/c/io.py"},
                                           {"/y/c/io.py", "y/c/io.py"},
                                           {"d/io.py", "d/io.py"},
                                           {"/z/net.py", "z/net.py"},
                                           {"net.py", "net.py"},
                                           {"/net.py", "/net.py"},
                                           {"/w/log.py", "w/log.py"},
                                           {"log.py", "log.py"},
                                           {"/k/b.py", "k/b.py"},
                                           {"-b.py", "-b.py"},
                                           {"b.py", "b.py"},
                                           {"<string>", "<string>"},
                                           {"ring.c", "ring.c"}};
    size_t count = sizeof(files) / sizeof(files[0]), found = 0;
    struct report_source source = {.hosts = 1, .samples = 1};
    struct frame frames[sizeof(files) / sizeof(files[0])];
    struct tree *tree = NULL;
    struct traces *traces;
    struct report *report;

    for (size_t i = 0; i < count; i++)
        frames[i] = (struct frame){"f", files[i][0], 7, "", 0, false};
    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, count));
    tree = settled(with_sample(tree, traces, 0));
    traces_free(traces);
    CHECK_OK(report_new(&report, tree, &source));
    for (uint32_t node = 0; node < tree->node_count; node++)
        for (size_t i = 0; i < count; i++)
            if (strcmp(report_path(report, node), files[i][0]) == 0) {
                CU_ASSERT_STRING_EQUAL(report_file(report, node), files[i][1]);
                found++;
            }
    CU_ASSERT_EQUAL(found, count);
    report_free(report);
    tree_free(tree);
}

/* A task that has ended cannot move: the judgement is about the others. */
TEST(judgements_say_that_others_have_not_moved)
{
    const struct frame exited = FRAME_NOTE(FRAME_EXITED);
    const struct frame main_frame = MAIN;

    for (uint32_t ended = 1; ended <= 2; ended++) {
        struct report_source source = {
            .hosts = 1, .samples = 2, .interval_ms = 100};
        struct tree *tree = NULL;
        struct traces *traces;
        char *text;

        CHECK_OK(traces_new(&traces));
        for (uint32_t sample = 0; sample < 2; sample++) {
            for (uint32_t task = 0; task < 2; task++)
                CHECK_OK(traces_add(traces, task,
                                    task < ended ? &exited : &main_frame, 1));
            tree = with_sample(tree, traces, 0);
        }
        traces_free(traces);
        text = drawn(tree, &source, 300, false);
        CU_ASSERT((strstr(text, "; no other task has moved (2 ") != NULL) ==
                  (ended == 1));
        CU_ASSERT(strstr(text, "no task has moved") == NULL);
        free(text);
    }
}

/* With --full the threads of the runtime are last. */
TEST(progress_threads_are_drawn_last)
{
    const struct frame own[] = {
        {"progress_engine", "", 0, role_text(ROLE_MPI), 0, false},
        {"poll", "", 0, "", 0, false}};
    const struct frame wait = {"solve", "s.c", 3, "", 0, false};
    struct report_source source = {.hosts = 1, .samples = 1, .full = true};
    struct traces *traces;
    char *text;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, own, 2));
    CHECK_OK(traces_add(traces, 0, &wait, 1));
    text = drawn(tree_of(traces), &source, 100, false);
    CU_ASSERT(strstr(text, "progress_engine") > strstr(text, "solve"));
    free(text);
}

/* A thread that began in another function, but waits as others do, is no
 * outlier. */
TEST(who_does_as_others_is_no_outlier)
{
    struct report_source source = {.hosts = 1, .samples = 1, .threads = true};
    struct frame frames[] = {{"start", "", 0, "", 0, false},
                             {"region", "w.c", 3, "", 0, false},
                             {"wait", "", 0, "", 0, false}};
    struct traces *traces;
    char *text;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 3));
    CHECK_OK(traces_add(traces, 0, frames, 3));
    frames[2].function = "spin";
    CHECK_OK(traces_add(traces, 0, frames, 3));
    frames[0].function = "main";
    frames[2].function = "wait";
    CHECK_OK(traces_add(traces, 0, frames, 3));
    text = drawn(tree_of(traces), &source, 200, false);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "spin "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "main "));
    CU_ASSERT(strstr(text, "outlier") > strstr(text, "spin "));
    CU_ASSERT_PTR_NULL(strstr(strstr(text, "outlier") + 1, "outlier"));
    free(text);
}

/* A chain of frames that all tasks share is one line: its first and a count. */
TEST(long_chains_are_counted)
{
    struct report_source source = {.hosts = 1, .samples = 1};
    char names[12][8];
    struct frame frames[12];
    struct traces *traces;

    for (unsigned i = 0; i < 12; i++) {
        snprintf(names[i], sizeof(names[i]), "f%u", i);
        frames[i] = (struct frame){names[i], "f.c", i + 1, "", 0, false};
    }
    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 12));
    CHECK_OK(traces_add(traces, 1, frames, 11));
    check_text(drawn(tree_of(traces), &source, 100, false),
               "2 tasks on 1 host, 2 classes, 1 sample, stopped 0.0 ms at most "
               "  count  tasks\n"
               "f0 (f.c:1) ▸ … 9 frames                                        "
               "      2  0-1\n"
               "└─ f10 (f.c:11)                                                "
               "      2  0-1\n"
               "   ├─ (here)                                                   "
               "      1  1\n"
               "   └─ f11 (f.c:12)                                             "
               "      1  0\n"
               "class 1: 1 task: 0\n"
               "class 2: 1 task: 1\n"
               "task 1 is in f10 (f.c:11); task 0 is in f11 (f.c:12) "
               "(1 sample)\n");
}

/* A thousand classes: the smallest, the largest, and the number of others. */
TEST(a_thousand_classes_are_bounded)
{
    struct report_source source = {.hosts = 1, .samples = 1};
    struct traces *traces;
    unsigned lines = 0;
    char name[8];
    struct frame frames[] = {{"main", "m.c", 1, "", 0, false},
                             {name, "m.c", 2, "", 0, false}};
    char *text;
    char *at;

    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < 1000 + 5000; task++) {
        snprintf(name, sizeof(name), "f%04u", task < 1000 ? task : 999);
        CHECK_OK(traces_add(traces, task, frames, 2));
    }
    text = drawn(tree_of(traces), &source, 100, false);
    for (at = text; *at; at++)
        lines += *at == '\n';
    CU_ASSERT_EQUAL(lines, 1 + 1 + PICTURE_FIRST + PICTURE_LAST + 1 +
                               PICTURE_FIRST + 1 + PICTURE_LAST + 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "f0000 (m.c:2)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "f0999 (m.c:2)"));
    CU_ASSERT_PTR_NULL(strstr(text, "f0500"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\xe2\x80\xa6 980 more branches\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\xe2\x80\xa6 980 more classes"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "class 1000: 5001 tasks: 999-5999\n"));
    free(text);
}

/* Tasks at different places inside one MPI call behave alike, and have not
 * moved between samples, unless the picture is full. */
TEST(the_inside_of_mpi_makes_no_classes)
{
    struct report_source source = {
        .hosts = 1, .samples = 2, .interval_ms = 100};
    struct frame frames[] = {
        {"main", "m.c", 1, "", 0, false},
        {"PMPI_Barrier", "", 0, role_text(ROLE_MPI), 0, false},
        {"progress", "", 0, "", 0, false},
        {"poll", "", 0, "", 0, false}};
    struct tree *tree = NULL;
    struct traces *traces;
    struct report *report;

    CHECK_OK(traces_new(&traces));
    for (uint32_t sample = 0; sample < 2; sample++) {
        for (uint32_t task = 0; task < 3; task++)
            CHECK_OK(traces_add_thread(traces, task, 0, frames,
                                       2 + (task + sample) % 3,
                                       &(struct evidence){.decisive = 1}));
        tree = with_sample(tree, traces, 0);
    }
    traces_free(traces);
    tree = settled(tree);
    CHECK_OK(report_new(&report, tree, &source));
    CU_ASSERT_EQUAL(report->classes->count, 1);
    CU_ASSERT_EQUAL(report_unchanged(report, report->classes->sets[0]), 2);
    report_free(report);
    source.full = true;
    CHECK_OK(report_new(&report, tree, &source));
    CU_ASSERT_EQUAL(report->classes->count, 3);
    report_free(report);
    tree_free(tree);
}

/* A task whose first thread rests is not unchanged while its other thread
 * computes. A task with two threads that rest is unchanged. */
TEST(who_computes_is_not_unchanged)
{
    struct report_source source = {
        .hosts = 1, .samples = 2, .interval_ms = 100};
    char rest[8], work[8];
    struct frame rests[] = {MAIN, {rest, "", 0, "", 0, false}};
    struct frame works[] = {{"thread", "", 0, "", 0, false},
                            {work, "", 0, "", 0, false}};
    struct tree *tree = NULL;
    struct traces *traces;
    struct report *report;

    CHECK_OK(traces_new(&traces));
    for (uint32_t sample = 0; sample < 2; sample++) {
        for (uint32_t task = 0; task < 3; task++) {
            snprintf(rest, sizeof(rest), "rest%u", task);
            snprintf(work, sizeof(work), "w%u", task < 2 ? sample : 9);
            CHECK_OK(traces_add(traces, task, rests, 2));
            CHECK_OK(traces_add(traces, task, works, 2));
        }
        tree = with_sample(tree, traces, 0);
    }
    traces_free(traces);
    tree = settled(tree);
    CHECK_OK(report_new(&report, tree, &source));
    CU_ASSERT_EQUAL_FATAL(report->classes->count, 3);
    CU_ASSERT_EQUAL(report_unchanged(report, report->classes->sets[0]), 0);
    CU_ASSERT_EQUAL(report_unchanged(report, report->classes->sets[1]), 0);
    CU_ASSERT_EQUAL(report_unchanged(report, report->classes->sets[2]), 2);
    report_free(report);
    tree_free(tree);
}

/* A task that came from another outermost function has left that function. */
TEST(what_came_from_elsewhere_left_it)
{
    struct report_source source = {
        .hosts = 1, .samples = 2, .interval_ms = 100};
    struct frame before[] = {{"start", "s.c", 1, "", 0, false},
                             {"import", "s.c", 2, "", 0, false}};
    struct frame after[] = {MAIN, {"work", "ring.c", 1, "", 0, false}};
    struct traces *traces;
    struct tree *tree;
    char *text;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, before, 2));
    tree = with_sample(NULL, traces, 0);
    CHECK_OK(traces_add(traces, 0, after, 2));
    tree = with_sample(tree, traces, 0);
    traces_free(traces);
    text = drawn(settled(tree), &source, 200, false);
    CU_ASSERT_PTR_NULL(strstr(text, "never seen"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "task 0 is in work (ring.c:1)"));
    free(text);
}

/* A task that is elsewhere in each sample is not unchanged. A task that arrived
 * in the last sample but one is unchanged for two samples. */
TEST(what_moves_is_not_unchanged)
{
    struct report_source source = {
        .hosts = 1, .samples = 5, .interval_ms = 100, .present_only = true};
    char name[8];
    struct frame mover[] = {MAIN, {name, "ring.c", 1, "", 0, false}};
    struct frame stayer[] = {MAIN, {"stay", "ring.c", 2, "", 0, false}};
    struct tree *tree = NULL;
    struct traces *traces;
    char *text;

    CHECK_OK(traces_new(&traces));
    traces_forget(traces);
    for (uint32_t sample = 1; sample <= 5; sample++) {
        for (uint32_t task = 0; task < 20; task++) {
            snprintf(name, sizeof(name), "m%u_%u", task,
                     task == 0 || sample < 4 ? sample : 4);
            CHECK_OK(traces_add(traces, task, task < 2 ? mover : stayer, 2));
        }
        tree = with_sample(tree, traces, 0);
    }
    traces_free(traces);
    text = drawn(settled(tree), &source, 120, false);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "1  0  \xe2\x97\x80 outlier\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "1  1  \xe2\x97\x80 outlier, unchanged for 2 samples\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "class 1: 1 task: 0, outlier\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text, "class 3: 18 tasks: 2-19, unchanged for 5 samples, 0.4 s\n"));
    free(text);
}

/* Remove terminal colours from `text`, in place. */
static void strip_colours(char *text)
{
    char *to = text;

    while (*text) {
        if (*text == '\033')
            text += strcspn(text, "m") + 1;
        else
            *to++ = *text++;
    }
    *to = '\0';
}

/* Check that no line of `tree` is wider than the terminal, that the number of
 * tasks is there, and that colours change nothing but colours. `tree` is
 * borrowed. */
static void check_width(struct tree *tree, unsigned width, uint32_t tasks)
{
    struct report_source source = {
        .hosts = 1, .samples = 3, .interval_ms = 100};
    struct tree none = {0};
    char *coloured, *plain, *line;
    struct tree *again;
    char count[16];

    CHECK_OK(tree_join(&again, tree, &none));
    coloured = drawn(again, &source, width, true);
    CHECK_OK(tree_join(&again, tree, &none));
    plain = drawn(again, &source, width, false);
    CU_ASSERT_PTR_NULL(strchr(plain, '\033'));
    CU_ASSERT_PTR_NOT_NULL(strchr(coloured, '\033'));
    strip_colours(coloured);
    CU_ASSERT_STRING_EQUAL(coloured, plain);
    snprintf(count, sizeof(count), "  %u  ", tasks);
    CU_ASSERT_PTR_NOT_NULL(strstr(plain, count));
    for (line = plain; *line; line += strlen(line) + 1) {
        line[strcspn(line, "\n")] = '\0';
        if (columns_of(line) > width)
            printf("\nwidth %u: \"%s\"\n", width, line);
        CU_ASSERT(columns_of(line) <= width);
        CU_ASSERT(line[0] == '\0' || line[strlen(line) - 1] != ' ');
    }
    free(coloured);
    free(plain);
}

/* A job of more than a million tasks in `classes` classes, with names that are
 * long, not ASCII, and hostile to terminals. */
static struct tree *large_tree(uint32_t classes)
{
    struct frame main_frame = {
        "std::vector<int>::main() const", "m.cc", 1, "", 0, false};
    char name[96];
    struct frame frame = {name, "a_file_with_a_long_name.cc", 77, "", 0, false};
    struct tree_end end = {.samples = 3, .threads = 1, .current = true};
    struct tree_progress progress = {.moved = 1, .seen = 3};
    struct tasks_range range;
    uint32_t each = 1200000 / classes;
    struct build *build;
    struct tree *tree;
    uint32_t top;

    CHECK_OK(build_new(&build, false));
    CHECK_OK(build_node(build, &top, BUILD_TOP, &main_frame));
    range = (struct tasks_range){0, each * classes - 1};
    CHECK_OK(tasks_new(&progress.tasks, &range, 1));
    CHECK_OK(build_progress(build, &progress));
    for (uint32_t i = 0; i < classes; i++) {
        snprintf(name, sizeof(name),
                 "f\xc3\xbcr_\033[2J\xc2\x9bm_%u_with_a_name_without_end", i);
        range = (struct tasks_range){i * each, (i + 1) * each - 1};
        CHECK_OK(build_node(build, &end.node, top, &frame));
        CHECK_OK(tasks_new(&end.tasks, &range, 1));
        CHECK_OK(build_end(build, &end));
        tasks_free(end.tasks);
    }
    CHECK_OK(build_tree(&tree, build, 1));
    tasks_free(progress.tasks);
    build_free(build);
    return tree;
}

/* One class and a thousand classes, at every width, with and without colour. */
TEST(lines_fit_at_every_width)
{
    static const unsigned widths[] = {40, 41, 60, 80, 100, 200};
    struct tree *trees[3] = {ring_tree(3), large_tree(1), large_tree(1000)};
    static const uint32_t tasks[3] = {16, 1200000, 1200000};

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
        for (size_t k = 0; k < 3; k++)
            check_width(trees[k], widths[i], tasks[k]);
    for (size_t k = 0; k < 3; k++)
        tree_free(trees[k]);
}
