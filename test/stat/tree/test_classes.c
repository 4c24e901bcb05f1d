/* test_classes.c - which tasks behave alike, inside and outside runtimes. */

#include "stat/tree/classes.h"
#include "stat/tree/frame.h"
#include "stat/walk/runtime.h"
#include "test/stat/trees.h"

#define PLACE(name) CALL(name, ROLE_PROGRAM)
#define CALL(name, role)                                                       \
    {                                                                          \
        name, "", 0, role_text(role), 0, false                                 \
    }

/* Check that the classes of `tree` are the sets `expected`, as text. */
static void check_classes(const struct tree *tree,
                          enum classes_ends ends,
                          const char *const *expected)
{
    struct classes *classes;
    char text[64];
    size_t i;

    CHECK_OK(classes_new(&classes, tree, ends));
    for (i = 0; i < classes->count && expected[i]; i++)
        CU_ASSERT_STRING_EQUAL(tasks_text(classes->sets[i], text, sizeof(text)),
                               expected[i]);
    CU_ASSERT(i == classes->count && !expected[i]);
    classes_free(classes);
}

/* Ten ranks are in one barrier, in different frames of its progress engine; one
 * is in MPI_Waitall, one before its send. Each has a progress thread at one of
 * two places. */
static struct tree *spinning_tree(void)
{
    static const char *const spots[] = {"ucp_worker_progress", "sched_yield",
                                        "libuct.so.0.0.0+0x18489"};
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < 12; task++) {
        struct frame stall[] = {PLACE("main"), PLACE("do_SendOrStall")};
        struct frame wait[] = {PLACE("main"), CALL("PMPI_Waitall", ROLE_MPI),
                               PLACE(spots[0])};
        struct frame meet[] = {PLACE("main"), CALL("PMPI_Barrier", ROLE_MPI),
                               PLACE("MPIR_Barrier_impl"),
                               PLACE(spots[task % 3])};
        struct frame own[] = {CALL("libpmix.so.2.6.2+0xa98b0", ROLE_MPI),
                              PLACE(task % 2 ? "epoll_wait" : "poll")};

        CHECK_OK(traces_add(traces, task, own, 2));
        if (task == 1)
            CHECK_OK(traces_add(traces, task, stall, 2));
        else if (task == 2)
            CHECK_OK(traces_add(traces, task, wait, 3));
        else
            CHECK_OK(traces_add(traces, task, meet, task == 3 ? 2 : 4));
    }
    return tree_of(traces);
}

TEST(who_spins_in_one_call_is_alike)
{
    static const char *const three[] = {"1", "2", "0,3-11", NULL};
    struct tree *tree = spinning_tree();

    check_classes(tree, CLASSES_CALLS, three);
    tree_free(tree);
}

/* Tasks that have ended are alike, wherever they were before. */
TEST(ended_tasks_are_one_class)
{
    static const char *const two[] = {"2", "0-1", NULL};
    struct traces *traces;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < 3; task++) {
        const struct frame frames[] = {FRAME_NOTE(FRAME_EXITED), PLACE("main"),
                                       PLACE(task == 1 ? "read" : "write")};

        CHECK_OK(task < 2 ? traces_add(traces, task, frames, 3)
                          : traces_add(traces, task, frames + 1, 2));
    }
    tree = tree_of(traces);
    check_classes(tree, CLASSES_CALLS, two);
    check_classes(tree, CLASSES_FULL, two);
    tree_free(tree);
}

/* 0, 6 / 4, 10 / 5, 11 / 7 / 8 / 9 in the barrier, and 1, 2, 3. */
TEST(full_classes_look_inside)
{
    static const char *const all[] = {"1", "2",   "3",    "7",    "8",
                                      "9", "0,6", "4,10", "5,11", NULL};
    struct tree *tree = spinning_tree();

    check_classes(tree, CLASSES_FULL, all);
    tree_free(tree);
}

/* A task that has only threads of the runtime is compared by these threads, and
 * differs from tasks that also have other threads. */
TEST(nobody_is_left_out)
{
    static const char *const expected[] = {"0", "1", "2", NULL};
    struct frame program[] = {PLACE("main"), PLACE("work")};
    struct frame poll[] = {CALL("progress_engine", ROLE_MPI), PLACE("poll")};
    struct frame wait[] = {CALL("ucs_async_thread_func", ROLE_TRANSPORT),
                           PLACE("wait")};
    struct frame gone = FRAME_NOT_WALKED("no such process");
    struct traces *traces;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, program, 2));
    CHECK_OK(traces_add(traces, 0, poll, 2));
    CHECK_OK(traces_add(traces, 1, poll, 2));
    CHECK_OK(traces_add(traces, 2, wait, 2));
    CHECK_OK(traces_add(traces, 3, &gone, 1));
    tree = tree_of(traces);
    check_classes(tree, CLASSES_CALLS, expected);
    tree_free(tree);
}

/* Tasks with the same ends are alike. A task with two threads is not like a
 * task with only one of them. */
TEST(classes_are_exact)
{
    static const char *const expected[] = {"1", "3", "0,2", NULL};
    struct frame a = PLACE("a"), b = PLACE("b"), bad = FRAME_NOT_WALKED("gone");
    struct traces *traces;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, &a, 1));
    CHECK_OK(traces_add(traces, 1, &a, 1));
    CHECK_OK(traces_add(traces, 1, &b, 1));
    CHECK_OK(traces_add(traces, 2, &a, 1));
    CHECK_OK(traces_add(traces, 3, &b, 1));
    CHECK_OK(traces_add(traces, 4, &bad, 1));
    tree = tree_of(traces);
    check_classes(tree, CLASSES_CALLS, expected);
    tree_free(tree);
}

/* All waits for a mutex are one place, but differ by their callers. */
TEST(callers_of_a_mutex_differ)
{
    static const char *const expected[] = {"1", "0,2", NULL};
    struct traces *traces;
    struct tree *tree;

    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < 3; task++) {
        struct frame stack[] = {PLACE(task == 1 ? "write" : "read"),
                                CALL("___pthread_mutex_lock", ROLE_THREADS),
                                PLACE(task ? "futex" : "lll_lock_wait")};

        CHECK_OK(traces_add(traces, task, stack, 3));
    }
    tree = tree_of(traces);
    check_classes(tree, CLASSES_CALLS, expected);
    tree_free(tree);
}

/* The tree of one stack. */
static struct tree *tree_of_stack(const struct frame *frames, size_t count)
{
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, frames, count));
    return tree_of(traces);
}

/* A frame is a runtime's by its role, not by its name. */
TEST(names_make_no_runtime)
{
    const struct frame frames[] = {PLACE("mpi_exchange_ghosts"),
                                   PLACE("pthread_func"), PLACE("std::run()"),
                                   CALL("ompi_finalize", ROLE_MPI),
                                   CALL("progress", ROLE_MPI)};
    struct tree *tree = tree_of_stack(frames, 5);
    uint32_t places[5];

    runtime_places(places, tree);
    for (uint32_t node = 0; node < 3; node++) {
        CU_ASSERT_EQUAL(places[node], node);
        CU_ASSERT(!runtime_is_own(tree, node));
        CU_ASSERT(!runtime_is_library(tree, node));
    }
    CU_ASSERT_EQUAL(places[3], 3);
    CU_ASSERT_EQUAL(places[4], 3);
    tree_free(tree);
}

/* A wrapper of MPI is a call if it has called MPI; else it is the program. */
TEST(wrappers_are_calls_if_they_call_mpi)
{
    const struct frame frames[] = {CALL("MPI_Recv", ROLE_WRAPPER),
                                   PLACE("count_and_call"),
                                   CALL("PMPI_Recv", ROLE_MPI)};

    for (size_t count = 2; count <= 3; count++) {
        struct tree *tree = tree_of_stack(frames, count);

        CU_ASSERT_EQUAL(runtime_is_call(tree, 0), count == 3);
        tree_free(tree);
    }
}

/* Threads are a runtime's own if they begin in it, also behind a note and the
 * library of C++. */
TEST(own_threads_begin_in_a_runtime)
{
    const struct frame frames[] = {
        PLACE("[thread gloo]"),
        CALL("execute_native_thread_routine", ROLE_LIBRARY),
        CALL("libgloo.so.0+0x3374b", ROLE_COLLECTIVE), PLACE("epoll_wait")};
    const struct frame callback[] = {PLACE("[thread MPI_x]"),
                                     PLACE("mpi_progress"),
                                     CALL("MPI_Test", ROLE_MPI)};
    struct tree *tree = tree_of_stack(frames, 4);

    CU_ASSERT(runtime_is_own(tree, 0));
    tree_free(tree);
    tree = tree_of_stack(callback, 3);
    CU_ASSERT(!runtime_is_own(tree, 0));
    tree_free(tree);
}

/* Each role has a text of its own, and no other text has a role. */
TEST(roles_have_texts)
{
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        CU_ASSERT_EQUAL(role_of(role_text((enum role)role)), role);
    CU_ASSERT_EQUAL(role_of("0123 /usr/lib/libmpi.so"), ROLE_PROGRAM);
}

/* In a Python program the threads with frames of its own files count; a place
 * where threads poll counts only if there is no other. */
TEST(threads_that_say_less_make_no_classes)
{
    const struct frame program[] = {{"<module>", "train.py", 3, "", 0, false},
                                    PLACE("read")};
    const struct frame library[] = {CALL("Thread.run", ROLE_PYTHON),
                                    PLACE("wait")};
    const struct frame native[] = {PLACE("loop"), PLACE("epoll_wait")};
    const struct frame other[] = {PLACE("start"), PLACE("recv")};
    struct classes *classes = NULL;
    struct tree *tree = NULL;
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (int sample = 0; sample < 2; sample++) {
        CHECK_OK(traces_add(traces, 0, program, 2));
        CHECK_OK(traces_add(traces, 0, library, 2));
        CHECK_OK(traces_add(traces, 1, program, 2));
        CHECK_OK(traces_add(traces, 1, native, 2));
        CHECK_OK(traces_add(traces, 2, other, 2));
        CHECK_OK(traces_add_thread(
            traces, 2, 0, native, 2,
            &(struct evidence){
                .decisive = 2, .polled = true, .weight = WEIGHT_NATIVE}));
        CHECK_OK(traces_add(traces, 3, other, 2));
        CHECK_OK(traces_add(traces, 4, native, 2));
        tree = with_sample(tree, traces, 0);
    }
    traces_free(traces);
    CHECK_OK(classes_new(&classes, tree, CLASSES_CALLS));
    CU_ASSERT_EQUAL_FATAL(classes->count, 3);
    CU_ASSERT(tasks_has(classes->sets[0], 4));
    CU_ASSERT(tasks_has(classes->sets[1], 0) && tasks_has(classes->sets[1], 1));
    CU_ASSERT(tasks_has(classes->sets[2], 2) && tasks_has(classes->sets[2], 3));
    classes_free(classes);
    tree_free(tree);
}
