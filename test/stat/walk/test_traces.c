/* test_traces.c - the record that a daemon keeps of the stacks it has seen. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "stat/walk/traces.h"
#include "test/check.h"
#include "test/stat/trees.h"

/* Samples of a job that is never twice at the same place. */
#define SAMPLES 20000
#define TASKS   4
#define DEPTH   20

/* One sample: the first task stands still, each other task is at a new place.
 * Returns the tree. */
static struct tree *sample(struct traces *traces, uint32_t number)
{
    struct frame frames[DEPTH];
    char names[DEPTH][32];
    struct tree *tree = NULL;

    for (uint32_t task = 0; task < TASKS; task++) {
        for (uint32_t i = 0; i < DEPTH; i++) {
            snprintf(names[i], sizeof(names[i]), "f%u_%u_%u", i, task,
                     task == 0 ? 0 : number);
            frames[i] = FRAME_NOTE(names[i]);
        }
        CHECK_OK(traces_add(traces, task, frames, DEPTH));
    }
    CHECK_OK(traces_sample(&tree, traces, 0));
    return tree;
}

static size_t used(void)
{
    return mallinfo2().uordblks;
}

/* The memory of a follower does not grow with the samples, which have the new
 * place of each task that moved. */
TEST(who_follows_keeps_the_present_only)
{
    struct traces *traces = NULL;
    struct tree *tree;
    size_t early = 0;

    CHECK_OK(traces_new(&traces));
    traces_forget(traces);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        tree = sample(traces, i);
        CU_ASSERT_EQUAL(tree->end_count, i == 0 ? TASKS : TASKS - 1);
        tree_free(tree);
        if (i == SAMPLES / 10)
            early = used();
    }
    CU_ASSERT(used() < early + ((size_t)1 << 20));
    traces_free(traces);
}

/* Without traces_forget() each place keeps its count, however often tasks leave
 * it and return to it. */
TEST(who_samples_keeps_all)
{
    struct traces *traces = NULL;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    for (uint32_t i = 0; i < 500; i++)
        tree_free(sample(traces, i % 250));
    tree = sample(traces, 7);
    CU_ASSERT_EQUAL(tree->end_count, (TASKS - 1) * 250);
    tree_free(tree);
    traces_free(traces);
}

/* One sample of task 0, whose thread is at `inside` in a call from `line`.
 * Returns the sample in which the task last moved. */
static uint32_t moved_in(struct traces *traces,
                         uint32_t line,
                         const char *inside,
                         bool ran)
{
    const struct frame frames[] = {{"main", "m.c", line, "", 0, false},
                                   {"MPI_Barrier", "", 0, "", 0, false},
                                   {inside, "", 0, "", 0, false}};
    struct tree *tree = NULL;
    uint32_t moved = 0;

    CHECK_OK(traces_add_thread(traces, 0, 0, frames, 3,
                               &(struct evidence){.decisive = 1,
                                                  .ran = ran,
                                                  .weight = WEIGHT_NATIVE}));
    CHECK_OK(traces_sample(&tree, traces, 0));
    CU_ASSERT_EQUAL_FATAL(tree->progress_count, 1);
    moved = tree->progress[0].moved;
    /* also the place that it has left, which now has more samples */
    CU_ASSERT_EQUAL(tree->end_count > 0, moved == tree->progress[0].seen);
    tree_free(tree);
    return moved;
}

/* A task moves when its decisive frames change, or when it has run. Frames
 * below the decisive ones do not count, and are not sent. */
TEST(the_decisive_frames_move_a_task)
{
    struct traces *traces = NULL;

    CHECK_OK(traces_new(&traces));
    CU_ASSERT_EQUAL(moved_in(traces, 1, "poll", false), 1);
    CU_ASSERT_EQUAL(moved_in(traces, 1, "progress", false), 1);
    CU_ASSERT_EQUAL(moved_in(traces, 1, "poll", false), 1);
    CU_ASSERT_EQUAL(moved_in(traces, 1, "poll", true), 4);
    CU_ASSERT_EQUAL(moved_in(traces, 1, "poll", false), 4);
    CU_ASSERT_EQUAL(moved_in(traces, 2, "poll", false), 6);
    traces_free(traces);
}

/* Add a thread in `function`, called by main(). */
static void add_in(struct traces *traces,
                   const char *function,
                   struct evidence evidence)
{
    const struct frame frames[] = {{"main", "m.c", 1, "", 0, false},
                                   {function, "", 0, "", 0, false}};

    evidence.decisive = 2;
    CHECK_OK(traces_add_thread(traces, 0, 0, frames, 2, &evidence));
}

/* The end in `function` of the settled tree of both; `tree` becomes the tree of
 * both. */
static struct tree_end end_in(struct tree **tree,
                              struct traces *traces,
                              const char *function)
{
    struct tree_end found = {.node = 0};
    struct tree *whole = NULL;

    *tree = with_sample(*tree, traces, 0);
    CHECK_OK(tree_settle(&whole, *tree));
    for (uint32_t i = 0; i < whole->end_count; i++)
        if (strcmp(tree_function(whole, whole->ends[i].node), function) == 0)
            found = whole->ends[i];
    tree_free(whole);
    return found;
}

/* One thread moves in each sample: the task moves, but the other thread stands
 * still. */
TEST(a_place_is_still_while_another_thread_moves)
{
    const struct evidence still = {.weight = WEIGHT_NATIVE};
    struct evidence moving = still;
    struct traces *traces = NULL;
    struct tree *tree = NULL;

    CHECK_OK(traces_new(&traces));
    for (uint32_t i = 1; i <= 3; i++) {
        add_in(traces, "wait", still);
        add_in(traces, "work", moving);
        CU_ASSERT_EQUAL(end_in(&tree, traces, "wait").still, i);
        CU_ASSERT_EQUAL(tree->progress[0].moved, i);
        moving.ran = true;
    }
    for (uint32_t i = 4; i <= 5; i++) {
        add_in(traces, "wait", still);
        add_in(traces, "work", still);
        CU_ASSERT_EQUAL(end_in(&tree, traces, "wait").still, i);
        CU_ASSERT_EQUAL(tree->progress[0].moved, 3);
    }
    /* A second thread comes. */
    add_in(traces, "wait", still);
    add_in(traces, "wait", still);
    CU_ASSERT_EQUAL(end_in(&tree, traces, "wait").still, 1);
    tree_free(tree);
    traces_free(traces);
}

/* A thread that wakes up at the same place in a call with a time-out has not
 * moved, but the place says that it polls. If it goes elsewhere, it has. */
TEST(a_poller_does_not_move)
{
    struct evidence evidence = {.weight = WEIGHT_NATIVE};
    struct traces *traces = NULL;
    struct tree *tree = NULL;

    CHECK_OK(traces_new(&traces));
    add_in(traces, "epoll_wait", evidence);
    CU_ASSERT(!end_in(&tree, traces, "epoll_wait").polls);
    evidence.polled = true;
    add_in(traces, "epoll_wait", evidence);
    CU_ASSERT(end_in(&tree, traces, "epoll_wait").polls);
    CU_ASSERT_EQUAL(tree->progress[0].moved, 1);
    add_in(traces, "poll", evidence);
    CU_ASSERT(!end_in(&tree, traces, "poll").polls);
    CU_ASSERT_EQUAL(tree->progress[0].moved, 3);
    tree_free(tree);
    traces_free(traces);
}

/* Threads of a Python program without its own frames do not move it, unless it
 * has no others. */
TEST(threads_of_libraries_do_not_move_a_program)
{
    const struct evidence program = {.weight = WEIGHT_PROGRAM};
    struct evidence library = {.weight = WEIGHT_LIBRARY};
    struct traces *traces = NULL;
    struct tree *tree = NULL;

    CHECK_OK(traces_new(&traces));
    for (uint32_t i = 1; i <= 4; i++) {
        if (i < 4)
            add_in(traces, "train", program);
        add_in(traces, i % 2 ? "monitor" : "save", library);
        tree = with_sample(tree, traces, 0);
        CU_ASSERT_EQUAL(tree->progress[0].moved, i < 4 ? 1 : 4);
        library.ran = true;
    }
    tree_free(tree);
    traces_free(traces);
}

/* Below the note of a task that has ended is where it was; a later note takes
 * its place. A task that was not there before has only the note. */
TEST(a_task_that_has_ended_is_where_it_was)
{
    static const char *const notes[] = {"[zombie: killed by SIGKILL]",
                                        FRAME_EXITED, FRAME_EXITED};
    const struct frame frames[] = {{"main", "a.c", 3, "", 0, false},
                                   {"solve", "a.c", 7, "", 0, false}};
    const struct frame missing = FRAME_NOT_WALKED("not permitted");
    struct traces *traces = NULL;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, 2));
    CHECK_OK(traces_add(traces, 1, &missing, 1));
    CHECK_OK(traces_sample(&tree, traces, 0));
    tree_free(tree);
    traces_forget(traces);
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t task = 0; task < 3; task++)
            CHECK_OK(traces_end(traces, task, notes[i]));
        CHECK_OK(traces_sample(&tree, traces, 0));
        CU_ASSERT_EQUAL(tree->node_count, i < 2 ? 3 : 0);
        for (uint32_t end = 0; end < tree->end_count; end++) {
            uint32_t node = tree->ends[end].node;

            CU_ASSERT_STRING_EQUAL(tree_function(tree, 0), notes[i]);
            CU_ASSERT_EQUAL(node == 2, tasks_has(tree->ends[end].tasks, 0));
            CU_ASSERT_STRING_EQUAL(tree_function(tree, node),
                                   node == 2 ? "solve" : notes[i]);
        }
        tree_free(tree);
    }
    traces_free(traces);
}
