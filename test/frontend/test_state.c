/* test_state.c - streams after the death of commnodes: the whole state of a
 * stream that recovers (PROTOCOL 9.2), and the reported loss of one that does
 * not (9.4, 10.6). */
#include <coppice/status.h>

#include "test/frontend/tree.h"

/* The count of numbers that each back-end sends, and the rate per second. */
#define NUMBERS 40
#define RATE    100

/* The number of echoes; a commnode dies after half of them. */
#define ECHOES 20

/* The state has each number of each member once, and nothing else. */
static void check_state(struct cop_network *network,
                        const struct cop_packet *packet)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    size_t members = cop_communicator_size(all), found = 0, m;
    const int32_t *numbers;
    uint32_t count, i;

    CHECK_OK(cop_packet_unpack(packet, "%ad", &numbers, &count));
    CU_ASSERT_EQUAL(count, members * NUMBERS);
    for (i = 0; i < count; i++)
        for (m = 0; m < members; m++) {
            int32_t first = member_number(cop_communicator_rank(all, m), 0);

            found += numbers[i] >= first && numbers[i] < first + NUMBERS;
        }
    CU_ASSERT_EQUAL(found, count);
    for (i = 1; i < count; i++)
        CU_ASSERT(numbers[i - 1] < numbers[i]);
}

/* PROTOCOL 9.2: every commnode is killed while back-ends send. The state in the
 * front-end has every number, whatever the application has received. */
TEST(the_state_has_all_that_was_sent)
{
    static const char *const shapes[] = {"2x2x2", "4x4"};
    struct cop_packet *packet;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct cop_network *network = tree_launch(shapes[i]);
        struct cop_stream *stream =
            tree_open_as(network, COP_GUARANTEE_COMPENSATION, "int_union", 0);
        const char *reason = "";

        CU_ASSERT_EQUAL(cop_stream_guarantee(stream, &reason),
                        COP_GUARANTEE_COMPENSATION);
        CU_ASSERT_PTR_NULL(reason);
        CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, RATE));
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        cop_packet_free(packet);
        CU_ASSERT(tree_kill_all(network) >= 4);
        CHECK_IS(tree_sync(stream), 0);
        CHECK_OK(cop_stream_state(stream, &packet, TREE_PATIENCE_MS));
        check_state(network, packet);
        cop_packet_free(packet);
        /* a second request gives the same: requests take nothing out */
        CHECK_OK(cop_stream_state(stream, &packet, TREE_PATIENCE_MS));
        check_state(network, packet);
        cop_packet_free(packet);
        tree_end(network);
    }
}

/* PROTOCOL 9.2: an error says that the filter cannot give its state. */
TEST(a_stream_without_a_state_says_so)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_packet *packet = NULL;

    CHECK_IS(cop_stream_state(stream, &packet, TREE_PATIENCE_MS), -EOPNOTSUPP);
    CU_ASSERT_PTR_NULL(packet);
    tree_end(network);
}

/* PROTOCOL 5.5: downstream packets are replayed, or the stream says why not. */
TEST(a_stream_says_whether_it_is_replayable)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *plain = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *stateful;
    const char *reason = "";

    CU_ASSERT(cop_stream_replayable(plain, &reason));
    CU_ASSERT_PTR_NULL(reason);
    options.down_filter = "int_union";
    stateful = tree_open_with(network, &options);
    CU_ASSERT_FALSE(cop_stream_replayable(stateful, &reason));
    CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
    tree_check_says(reason, "one-to-one");
    CHECK_IS(tree_sync(stateful), -EOPNOTSUPP);
    tree_end(network);
}

/* PROTOCOL 9.4, 2.4, 10.6: a sum is not idempotent, and the stream says so when
 * it is opened. When a commnode dies, each sum of ones is the number of its
 * contributors; the sync returns 1, and an event names the links; the next sync
 * returns 0. */
TEST(a_sum_tells_the_truth)
{
    struct cop_network *network = tree_launch("2x2x2");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_event event;
    uint32_t contributors = 0, most = 0;
    const char *reason = NULL;
    pid_t commnodes[NODES_MAX];
    struct cop_packet *packet;
    char link[32];
    int sum;

    CU_ASSERT_EQUAL(cop_stream_guarantee(stream, &reason), COP_GUARANTEE_NONE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
    CU_ASSERT(*reason != '\0');
    tree_check_sum(stream, 1, 8);
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 6);
    /* after that sync a packet passes the commnode that dies later */
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 1));
    CU_ASSERT_EQUAL(tree_receive(stream, &contributors), 8);
    for (int i = 0; i < ECHOES; i++) {
        CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 1));
        if (i == ECHOES / 2)
            CHECK_OK(kill(commnodes[0], SIGKILL)); /* a first-level node */
    }
    CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
    snprintf(link, sizeof(link), "%u-%u", event.rank, event.lost_parent);
    CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
    CHECK_IS(tree_sync(stream), 1);
    CHECK_OK(tree_await(network, COP_EVENT_STREAM_LOSSY, &event));
    CU_ASSERT_EQUAL(event.stream_id, cop_stream_id(stream));
    tree_check_says(event.text, link);
    while (cop_stream_receive(stream, &packet, 0) == 0) {
        CHECK_OK(cop_packet_unpack(packet, "%d", &sum));
        CU_ASSERT_EQUAL((uint32_t)sum, cop_packet_contributors(packet));
        CU_ASSERT(sum >= 1 && sum <= 8);
        most += (uint32_t)sum;
        cop_packet_free(packet);
    }
    CU_ASSERT(most <= 8 * ECHOES);
    CU_ASSERT(most >= 4 * ECHOES); /* half of the tree has lost nothing */
    tree_check_sum(stream, 1, 8);
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}

/* ---- what the front-end knows of its nodes ---- */

static struct cop_status_node node_of(struct cop_network *network,
                                      uint32_t rank)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;

    CHECK_OK(cop_network_node(network, rank, &node));
    CU_ASSERT_EQUAL(node.rank, rank);
    return node;
}

/* The front-end knows each node of a binary tree without a message: first as
 * launched; after the death of a commnode, its children below other parents, and
 * it as lost. */
static void check_nodes(const char *shape, uint32_t count)
{
    struct cop_network *network = tree_launch(shape);
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    pid_t commnodes[NODES_MAX];
    int adopted = 0, lost = 0;
    uint32_t rank;
    char label[32], says[64];

    for (rank = 0; cop_network_node(network, rank, &node) == 0; rank++) {
        CU_ASSERT_EQUAL(node.parent, rank ? (rank - 1) / 2 : COP_RANK_NONE);
        CU_ASSERT_EQUAL(node.state, COP_STATE_UP);
        CU_ASSERT_EQUAL(node.role, rank == 0          ? COP_FRONTEND
                                   : rank < count / 2 ? COP_COMMNODE
                                                      : COP_BACKEND);
        CU_ASSERT_STRING_EQUAL(node.host, "localhost");
        CU_ASSERT_STRING_EQUAL(node.reason, "");
        *label = '\0';
        if (node.role == COP_BACKEND)
            snprintf(label, sizeof(label), "pid %d",
                     (int)tree_pid(network, rank));
        CU_ASSERT_STRING_EQUAL(node.label, label);
    }
    CU_ASSERT_EQUAL(rank, count);
    CHECK_IS(cop_network_node(network, UINT32_MAX, &node), -ENOENT);
    node.size = sizeof(node) + 1;
    CHECK_IS(cop_network_node(network, 0, &node), -EINVAL);
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), count / 2 - 1);
    CHECK_OK(kill(commnodes[0], SIGKILL)); /* a first-level node */
    while (adopted < 2 || lost < 1) {
        struct cop_event event = COP_EVENT_INIT;

        CHECK_OK(cop_network_event(network, &event, TREE_PATIENCE_MS));
        if (event.type == COP_EVENT_NODE_ADOPTED) {
            adopted++;
            node = node_of(network, event.rank);
            CU_ASSERT_EQUAL(node.parent, event.parent);
            snprintf(says, sizeof(says),
                     "%u (localhost%s%s) was adopted by %u"
                     " after |",
                     node.rank, *node.label ? ", " : "", node.label,
                     node.parent);
            tree_check_says(event.text, says);
        } else if (event.type == COP_EVENT_NODE_LOST) {
            lost++;
            node = node_of(network, event.rank);
            CU_ASSERT_EQUAL(node.state, COP_STATE_LOST);
            CU_ASSERT_EQUAL(node.role, COP_COMMNODE);
            snprintf(says, sizeof(says),
                     "%u (localhost) was lost: ", node.rank);
            tree_check_says(event.text, says);
            CU_ASSERT_EQUAL(node.parent, 0);
        }
    }
    tree_end(network);
}

/* The orphans are commnodes, or back-ends. */
TEST(the_tree_is_known)
{
    check_nodes("2x2x2", 15);
    check_nodes("2x2", 7);
}
