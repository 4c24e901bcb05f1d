/* test_drain.c - hosts are emptied while a tool runs (PROTOCOL 20.4). */
#include <coppice/status.h>
#include <sys/stat.h>

#include "test/frontend/nodes.h"
#include "test/frontend/tree.h"

/* Two levels of commnodes over four hosts; each lower one has two back-ends. */
#define HOSTS                                                                  \
    "a:0 => b:0 c:0 ;\n"                                                       \
    "b:0 => d:0 b:1 ;\n"                                                       \
    "c:0 => c:1 d:1 ;\n"                                                       \
    "d:0 => d:2 d:3 ;\n"                                                       \
    "b:1 => b:2 b:3 ;\n"                                                       \
    "c:1 => c:2 c:3 ;\n"                                                       \
    "d:1 => d:4 d:5 ;\n"
#define COMMNODES 6
#define BACKENDS  8

static struct cop_network *launch_hosts(struct cop_launch launch)
{
    launch.launcher = "local";
    launch.topology_text = HOSTS;
    return tree_launch_as(launch, NULL, NULL);
}

/* How many commnodes of `host` are not lost. */
static int commnodes_on(struct cop_network *network, const char *host)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    int count = 0;

    for (uint32_t rank = 1; cop_network_node(network, rank, &node) == 0; rank++)
        count += node.role == COP_COMMNODE && node.state != COP_STATE_LOST &&
                 strcmp(node.host, host) == 0;
    return count;
}

/* Wait until a host is drained. Returns how many commnodes have left meanwhile. */
static int await_drained(struct cop_network *network)
{
    struct cop_event event;
    int left = 0;

    do {
        event = (struct cop_event)COP_EVENT_INIT;
        CU_ASSERT_EQUAL_FATAL(
            cop_network_event(network, &event, TREE_PATIENCE_MS), 0);
        left += event.type == COP_EVENT_NODE_LEFT;
        if (event.type == COP_EVENT_NODE_LEFT)
            tree_check_says(event.text, ") has left");
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_NODE_LOST);
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_NODE_SUSPECTED);
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_BACKEND_LOST);
    } while (event.type != COP_EVENT_DRAINED);
    CHECK_IS(commnodes_on(network, event.text), 0);
    return left;
}

/* All back-ends answer. */
static void check_sums(struct cop_stream *stream)
{
    CU_ASSERT(tree_sync(stream) >= 0);
    tree_take_all(stream);
    for (int k = 1; k <= 5; k++)
        tree_check_sum(stream, k, BACKENDS);
    CHECK_IS(tree_sync(stream), 0);
}

/* Host after host is drained, until the front-end has all back-ends. The commnodes
 * have ended, although they have started processes that go on. */
TEST(hosts_are_drained)
{
    struct cop_network *network =
        launch_hosts((struct cop_launch)COP_LAUNCH_INIT);
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    pid_t commnodes[NODES_MAX];
    int left;

    CU_ASSERT_EQUAL(nodes_all(commnodes), COMMNODES);
    tree_check_sum(stream, 1, BACKENDS);
    CHECK_IS(cop_network_drain(network, "nowhere"), -ENOENT);
    CHECK_IS(cop_network_drain(network, NULL), -EINVAL);
    CHECK_IS(cop_network_drain(network, "a"), -EINVAL);
    CHECK_IS(cop_network_drain(network, "b"), 2);
    CHECK_IS(cop_network_drain(network, "b"), -EALREADY);
    CHECK_IS(await_drained(network), 2);
    CHECK_IS(commnodes_on(network, "b"), 0);
    CHECK_IS(cop_network_drain(network, "b"), -EALREADY);
    check_sums(stream);
    CHECK_IS(cop_network_drain(network, "d"), 2);
    CHECK_IS(cop_network_drain(network, "c"), 2);
    left = await_drained(network); /* one of them, and a part of the other */
    CHECK_IS(left + await_drained(network), 4);
    CHECK_IS(commnodes_on(network, "c") + commnodes_on(network, "d"), 0);
    check_sums(stream);
    tree_end(network);
}

/* An administrator drains a host from outside, if the tool allows that. */
TEST(an_observer_drains_a_host)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char session[] = "/tmp/coppice-test.XXXXXX";
    struct cop_error error = {""};
    struct cop_network *network;
    struct cop_stream *stream;
    int fd = mkstemp(session);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    launch.session_path = session;
    launch.allow_injection = true; /* is something else */
    network = launch_hosts(launch);
    CHECK_IS(cop_session_drain(session, "b", TREE_PATIENCE_MS, &error), -EPERM);
    tree_check_says(error.text, "launch.allow_administration");
    tree_end(network);
    launch.allow_administration = true;
    network = launch_hosts(launch);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    CHECK_IS(cop_session_drain(session, "z", TREE_PATIENCE_MS, &error),
             -ENOENT);
    tree_check_says(error.text, "host z is not known");
    CHECK_IS(cop_session_drain(session, "a", TREE_PATIENCE_MS, &error),
             -EINVAL);
    tree_check_says(error.text, "host a has the front-end only");
    CHECK_IS(cop_session_drain(session, "", TREE_PATIENCE_MS, &error), -EINVAL);
    CHECK_OK(cop_session_drain(session, "d", TREE_PATIENCE_MS, &error));
    CHECK_IS(cop_session_drain(session, "d", TREE_PATIENCE_MS, &error),
             -EALREADY);
    CHECK_IS(await_drained(network), 2);
    CHECK_IS(commnodes_on(network, "d"), 0);
    check_sums(stream);
    tree_end(network);
    unlink(session);
}

/* The same of a tree that was started over ssh: the commnodes that end have started
 * others, each with an ssh of its own. */
TEST(a_host_that_started_others_is_drained)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;

    tree_by_ssh(&launch, "localhost:0 => n1:0 n2:0; n1:0 => n3:0 n4:0;"
                         "n2:0 => n5:0 n6:0; n3:0 => n1:1 n2:1;"
                         "n4:0 => n3:1 n4:1; n5:0 => n5:1 n6:1;"
                         "n6:0 => n1:2 n2:2;");
    network = tree_launch_as(launch, NULL, NULL);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    tree_check_sum(stream, 1, BACKENDS);
    CHECK_IS(cop_network_drain(network, "n1"), 1);
    CHECK_IS(await_drained(network), 1);
    check_sums(stream);
    CHECK_IS(cop_network_drain(network, "n3"), 1);
    CHECK_IS(await_drained(network), 1);
    check_sums(stream);
    tree_end(network);
}
