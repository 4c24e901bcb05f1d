/* test_classes.c - which tasks behave alike, inside and outside runtimes. */

#include "stat/tree/classes.h"
#include "stat/tree/frame.h"
#include "stat/walk/runtime.h"
#include "test/stat/trees.h"

#define PLACE(name)                                                            \
    {                                                                          \
        name, "", 0, "", 0, false                                              \
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
        struct frame wait[] = {PLACE("main"), PLACE("PMPI_Waitall"),
                               PLACE(spots[0])};
        struct frame meet[] = {PLACE("main"), PLACE("PMPI_Barrier"),
                               PLACE("MPIR_Barrier_impl"),
                               PLACE(spots[task % 3])};
        struct frame own[] = {PLACE("libpmix.so.2.6.2+0xa98b0"),
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
    struct frame poll[] = {PLACE("progress_engine"), PLACE("poll")};
    struct frame wait[] = {PLACE("ucs_async_thread_func"), PLACE("wait")};
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
                                PLACE("___pthread_mutex_lock"),
                                PLACE(task ? "futex" : "lll_lock_wait")};

        CHECK_OK(traces_add(traces, task, stack, 3));
    }
    tree = tree_of(traces);
    check_classes(tree, CLASSES_CALLS, expected);
    tree_free(tree);
}

TEST(runtimes_are_known_by_name)
{
    static const char *const calls[] = {
        "MPI_Barrier",         "PMPI_Barrier",    "pmpi_send_",
        "mpi_wait_",           "pMPI_x",          "pthread_join",
        "__GI___pthread_lock", "__kmpc_set_lock", "__kmpc_critical_with_hint",
        "__kmpc_barrier"};
    static const char *const none[] = {"__kmpc_fork_call",
                                       "MPIR_Wait",
                                       "main",
                                       "impi_x",
                                       "my_pthread_x",
                                       "mpi",
                                       "_",
                                       "",
                                       "__"};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        CU_ASSERT(runtime_is_call(calls[i]));
    CU_ASSERT(runtime_is_spinning("__kmpc_set_nest_lock"));
    CU_ASSERT(!runtime_is_mpi("__kmpc_set_lock"));
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        CU_ASSERT(!runtime_is_call(none[i]));
    CU_ASSERT(runtime_is_thread("libucs.so.0.0.0+0x18d1d"));
    CU_ASSERT(runtime_is_thread("opal_progress"));
    CU_ASSERT(!runtime_is_thread("libmine.so+0x12"));
    CU_ASSERT(!runtime_is_thread("main"));
    CU_ASSERT(!runtime_is_thread("[truncated]"));
}
