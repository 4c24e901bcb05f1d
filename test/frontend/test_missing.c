/* test_missing.c - launches with nodes that do not start (PROTOCOL 12.2). */

#include "test/frontend/tree.h"

/* The start time-out: longer than any node takes to start, even on a busy
 * machine. A start that hangs takes this long. */
#define START_MS 12000

static struct cop_launch skipping(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.missing = COP_MISSING_SKIP;
    be_patient(&launch);
    return launch;
}

/* The missing ranks, such as "1 4 ", ascending; borrowed. Each has a reason. */
static const char *absent(struct cop_network *network)
{
    static char text[256];
    struct cop_absentee who = COP_ABSENTEE_INIT;
    size_t len = 0, i;

    text[0] = '\0';
    for (i = 0; cop_network_missing(network, i, &who) == 0; i++) {
        CU_ASSERT(*who.reason != '\0');
        CU_ASSERT(*who.host != '\0');
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len, "%u ", who.rank);
    }
    CHECK_IS(cop_network_missing(network, i, &who), -ENOENT);
    return text;
}

/* Find the entry of `rank`, or end the test. */
static struct cop_absentee find(struct cop_network *network, uint32_t rank)
{
    struct cop_absentee who = COP_ABSENTEE_INIT;

    for (size_t i = 0; cop_network_missing(network, i, &who) == 0; i++)
        if (who.rank == rank)
            return who;
    CU_FAIL_FATAL("it is not missing");
    return who;
}

/* Wait until this process has `count` commnodes. A commnode whose starter was
 * killed during the launch takes a moment to end. */
static void await_commnodes(size_t count)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    pid_t commnodes[NODES_MAX];

    while (nodes_all(commnodes) != count && tree_now_ms() < deadline_ms)
        tree_pause();
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), count);
}

/* All `count` back-ends answer, and again after all `n` commnodes have been
 * killed, one by one. Over ssh the test cannot kill commnodes: n is 0. */
static void check_work(struct cop_network *network, uint32_t count, size_t n)
{
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");

    CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)),
                    count);
    CU_ASSERT_EQUAL(cop_stream_size(stream), count);
    tree_check_sum(stream, 3, count);
    CHECK_IS(tree_sync(stream), 0);
    if (n > 0) {
        await_commnodes(n);
        CU_ASSERT_EQUAL(tree_kill_all(network), n);
    }
    /* a sync returns when every back-end has a parent again */
    CU_ASSERT(tree_sync(stream) >= 0);
    tree_check_sum(stream, 5, count);
    CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)),
                    count);
}

/* ---- on this host ---- */

/* No commnode can be started: the front-end is the parent of all back-ends. */
TEST(without_commnodes_the_front_end_parents_all)
{
    struct cop_launch launch = skipping();
    struct cop_network *network;
    pid_t commnodes[NODES_MAX];

    launch.commnode_path = "/no/such/commnode";
    network = tree_launch_as(launch, "2x2x2", NULL);
    CU_ASSERT_STRING_EQUAL(absent(network), "1 2 3 4 5 6 ");
    tree_check_says(find(network, 3).reason,
                    "/no/such/commnode|No such file or directory");
    CU_ASSERT_STRING_EQUAL(find(network, 3).host, "localhost");
    CU_ASSERT_EQUAL(nodes_all(commnodes), 0);
    check_work(network, 8, 0);
    tree_end(network);
}

/* A commnode dies during its launch, after it has started some of its children:
 * the first back-end that runs kills the node a number of levels above it. All
 * nodes that the victim had started are started again. */
TEST(a_commnode_dies_in_the_middle_of_its_launch)
{
    static const char *const levels[] = {"1", "2"};
    char folder[] = "/tmp/coppice-missing.XXXXXX";
    char mark[64];

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < 2; i++) {
        char *argv[] = {tree_program("member"), (char *)(uintptr_t) "fell",
                        (char *)(uintptr_t)levels[i], mark, NULL};
        struct cop_launch launch = skipping();
        struct cop_network *network;
        uint32_t rank = 0, other;

        snprintf(mark, sizeof(mark), "%s/%s", folder, levels[i]);
        launch.backend_argv = argv;
        network = tree_launch_as(launch, "2x2x2", NULL);
        CU_ASSERT_EQUAL(sscanf(absent(network), "%u %u", &rank, &other), 1);
        CU_ASSERT(i == 0 ? rank >= 3 && rank <= 6 : rank == 1 || rank == 2);
        check_work(network, 8, 5);
        tree_end(network);
        CU_ASSERT_EQUAL(rmdir(mark), 0);
    }
    rmdir(folder);
}

/* Without any back-end the launch fails with the reason, and nothing runs. */
TEST(without_a_back_end_the_launch_fails)
{
    char *argv[] = {tree_program("member"), (char *)(uintptr_t) "exit", NULL};
    struct cop_launch launch = skipping();
    struct cop_network *network = NULL;
    struct cop_error error = {""};

    launch.topology_shape = "2x2";
    launch.backend_argv = argv;
    CHECK_IS(cop_network_launch(&network, &launch, &error), -EHOSTUNREACH);
    tree_check_says(error.text, "exited with status 3|rank 3");
    CU_ASSERT_PTR_NULL(network);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* ---- over ssh, with a stand-in ---- */

static struct cop_network *launch_by_ssh(const char *tree)
{
    struct cop_launch launch = skipping();

    tree_by_ssh(&launch, tree);
    launch.times.start_timeout_ms = START_MS;
    return tree_launch_as(launch, NULL, NULL);
}

/* Hosts at several levels are dead: there is no host, no such program, or ssh
 * never answers. Each is listed with the error message of ssh. Ranks go level by
 * level. */
TEST(dead_hosts_are_listed)
{
    struct cop_network *network;
    struct cop_communicator *some;
    uint32_t dead_rank = 8;

    network = launch_by_ssh("localhost:0 => dead1:0 n2:0;"
                            "dead1:0 => silent3:0 n4:0;"
                            "n2:0 => bare5:0 n6:0;"
                            "silent3:0 => n7:0 dead8:0;"
                            "n4:0 => n9:0 n10:0;"
                            "bare5:0 => n11:0 n12:0;"
                            "n6:0 => bare13:0 n14:0;");
    CU_ASSERT_STRING_EQUAL(absent(network), "1 3 5 8 13 ");
    CU_ASSERT_STRING_EQUAL(find(network, 1).host, "dead1");
    tree_check_says(find(network, 1).reason,
                    "connect to host dead1 port 22: No route");
    tree_check_says(find(network, 3).reason,
                    "12000 ms (start_timeout)|Connecting to silent3");
    tree_check_says(find(network, 5).reason, "not found");
    CHECK_IS(cop_communicator_new(&some, network, &dead_rank, 1), -EINVAL);
    check_work(network, 6, 0);
    tree_end(network);
}
