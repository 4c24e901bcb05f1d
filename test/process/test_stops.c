/* test_stops.c - commnodes are stopped (SIGSTOP) and continued.
 *
 * A node that is stopped until its children have left it must do no harm when
 * it continues. (In Flux it did, and the damage cascaded.) */
#include "test/frontend/tree.h"
#include "test/process/feeding.h"
#include "test/share.h"

/* The times of these networks. A stop is noticed after FAILURE_MS, long enough
 * that no other node is suspected on a busy machine. */
#define HEARTBEAT_MS 200
#define FAILURE_MS   6000

static const struct {
    const char *shape;
    int count;
    int rate;
} loads[] = {
    {"2x2x2x2", 50, 10},
    {"2x2x2x2", 2000, 1000},
    {"8x8", 300, 100},
};
#define LOADS (sizeof(loads) / sizeof(*loads))

static size_t begin_with(struct feeding *feeding,
                         size_t i,
                         pid_t nodes[NODES_MAX],
                         uint32_t failure_ms)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.topology_shape = loads[i].shape;
    launch.times.heartbeat_ms = HEARTBEAT_MS;
    launch.times.failure_timeout_ms = failure_ms;
    CHECK_OK(feeding_begin(feeding, launch, loads[i].count, loads[i].rate));
    CU_ASSERT_FATAL(feeding_await(feeding, 2));
    return nodes_all(nodes);
}

static size_t begin_load(struct feeding *feeding,
                         size_t i,
                         pid_t nodes[NODES_MAX])
{
    return begin_with(feeding, i, nodes, FAILURE_MS);
}

static void end_load(struct feeding *feeding)
{
    CU_ASSERT(feeding_end(feeding));
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* Stop a node until it is suspected, then continue it: it returns to the tree,
 * and neither the node nor any child is reported lost. */
static void check_stop(size_t load, bool last)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t count = begin_load(&feeding, load, nodes);
    size_t rank = last ? count : 1;

    CHECK_OK(kill(nodes[rank - 1], SIGSTOP));
    CU_ASSERT(feeding_await_suspicions(&feeding, 1));
    CHECK_OK(kill(nodes[rank - 1], SIGCONT));
    CU_ASSERT(feeding_await_adoption(&feeding, rank));
    CU_ASSERT(feeding_is_whole(&feeding));
    CHECK_OK(feeding_feed(&feeding, 100, 1000));
    CU_ASSERT(feeding_is_whole(&feeding));
    CU_ASSERT_EQUAL(feeding.lost, 0);
    end_load(&feeding);
}

TEST(a_continued_node_does_no_harm)
{
    for (size_t i = 0; i < LOADS; i++)
        check_stop(i, true);
}

TEST(nor_does_a_node_with_a_subtree)
{
    for (size_t i = 0; i < 2; i++)
        check_stop(i, false);
}

/* Both commnodes of the first level are stopped: all paths to the front-end. */
TEST(the_whole_first_level_is_stopped)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];

    begin_load(&feeding, 0, nodes);
    CHECK_OK(kill(nodes[0], SIGSTOP));
    CHECK_OK(kill(nodes[1], SIGSTOP));
    CU_ASSERT(feeding_await_suspicions(&feeding, 2));
    CHECK_OK(kill(nodes[0], SIGCONT));
    CHECK_OK(kill(nodes[1], SIGCONT));
    CU_ASSERT(feeding_await_adoption(&feeding, 1));
    CU_ASSERT(feeding_await_adoption(&feeding, 2));
    CU_ASSERT_EQUAL(feeding.lost, 0);
    end_load(&feeding);
}

/* A stopped node is never continued: the shutdown kills it at once, and does not
 * give it the time that a commnode has to end the nodes below it. */
TEST(a_stopped_node_does_not_delay_the_shutdown)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    struct share share;

    begin_load(&feeding, 0, nodes);
    CHECK_OK(kill(nodes[0], SIGSTOP));
    CU_ASSERT(feeding_await_suspicions(&feeding, 1));
    CU_ASSERT(feeding_await_events(&feeding, 0, 2));
    CU_ASSERT(feeding_is_whole(&feeding));
    share_begin(&share);
    CHECK_IS(cop_network_shutdown(feeding.network, 2 * PATIENCE_MS), 0);
    CU_ASSERT(share_end(&share) < 8000);
    feeding_fini(&feeding);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* A stop that ends well before the time-out, even if the test continues the
 * node late, causes no suspicion. */
TEST(a_short_stop_is_not_noticed)
{
    struct timespec pause = {.tv_nsec = 500000000};
    struct feeding feeding;
    pid_t nodes[NODES_MAX];

    for (size_t i = 0; i < 2; i++) {
        begin_with(&feeding, i, nodes, FEEDING_PATIENCE_MS);
        CHECK_OK(kill(nodes[0], SIGSTOP));
        nanosleep(&pause, NULL);
        CHECK_OK(kill(nodes[0], SIGCONT));
        CU_ASSERT(feeding_is_whole(&feeding));
        CU_ASSERT_EQUAL(feeding.suspected, 0);
        end_load(&feeding);
    }
}

/* In a session of its own, stop a process, kill the commnode that started it,
 * and continue it when the loss is reported. It is adopted, and nothing is
 * missing. In the session of a shell, the kernel would end the stopped process,
 * as its process group becomes orphaned. `router`: the process is a commnode,
 * not a back-end. Does not return. */
static void stop_below_a_victim(bool router)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;
    pid_t nodes[NODES_MAX], below[NODES_MAX];
    size_t count;
    bool right;

    launch.topology_shape = router ? "2x2x2" : "2x2";
    if (setsid() < 0 || feeding_begin(&feeding, launch, 300, 100) < 0)
        _exit(1);
    right = feeding_await(&feeding, 2) && nodes_all(nodes) > 0;
    if (router)
        count = nodes_below(nodes[0], below);
    else
        count = nodes_called(nodes[0], "member", below);
    if (!right || count != 2)
        _exit(1);
    tree_stop(below[0]);
    right = kill(nodes[0], SIGKILL) == 0 &&
            feeding_await_events(&feeding, 1, router ? 1 : 0) &&
            feeding_await_moves(&feeding, router ? 0 : 1);
    kill(below[0], SIGCONT); /* if the process is gone, the rest fails */
    right = right && feeding_await_events(&feeding, 1, router ? 2 : 0) &&
            feeding_await_moves(&feeding, router ? 0 : 2) &&
            feeding_is_whole(&feeding) && feeding_end(&feeding);
    _exit(right && feeding.lost == 1 ? 0 : 1);
}

TEST(a_stopped_process_survives_its_starter)
{
    int status;
    pid_t pid;

    for (int router = 0; router < 2; router++) {
        fflush(NULL);
        pid = fork();
        if (pid == 0)
            stop_below_a_victim(router);
        CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
        CU_ASSERT_EQUAL(status, 0);
        CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
    }
}
