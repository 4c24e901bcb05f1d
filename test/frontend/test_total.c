/* test_total.c - streams of totals with real processes (PROTOCOL 17). */
#include "test/frontend/tree.h"

/* The count of numbers that each back-end sends. */
#define NUMBERS 40

static struct cop_stream *open_total(struct cop_network *network,
                                     enum cop_sync sync,
                                     const char *filter)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;

    options.guarantee = COP_GUARANTEE_TOTAL;
    options.sync = sync;
    options.wave_timeout_ms = sync == COP_TIME_OUT ? 20 : 0;
    options.up_filter = filter;
    return tree_open_with(network, &options);
}

/* The sum of all numbers that a member sends. */
static int64_t part_of(uint32_t rank)
{
    int64_t part = 0;

    for (int i = 0; i < NUMBERS; i++)
        part += member_number(rank, i);
    return part;
}

static int64_t truth(struct cop_network *network)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    int64_t total = 0;

    for (size_t m = 0; m < cop_communicator_size(all); m++)
        total += part_of(cop_communicator_rank(all, m));
    return total;
}

/* The current total; checks that it is exact. */
static int64_t total_of(struct cop_stream *stream)
{
    struct cop_packet *packet = NULL;
    const int32_t *numbers;
    int64_t total = -1;
    uint32_t count;

    CHECK_IS(cop_stream_state(stream, &packet, TREE_PATIENCE_MS), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
    CHECK_OK(cop_packet_unpack(packet, "%ad", &numbers, &count));
    CU_ASSERT_EQUAL_FATAL(count, 1);
    total = numbers[0];
    cop_packet_free(packet);
    return total;
}

/* The part of a back-end that leaves stays in the total; the part of one that
 * is killed does not. */
TEST(who_leaves_counts_and_who_dies_does_not)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = open_total(network, COP_DO_NOT_WAIT, "sum");
    struct cop_stream *single;
    struct cop_event event;
    uint32_t leaver = tree_rank(network, 0), victim = tree_rank(network, 3);
    int64_t all = truth(network);

    CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, 1000));
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(total_of(stream), all);
    CHECK_OK(kill(tree_pid(network, victim), SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(total_of(stream), all - part_of(victim));
    single = tree_open_one(network, leaver);
    CHECK_OK(cop_stream_send(single, TAG_LEAVE, ""));
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CU_ASSERT_EQUAL(event.rank, leaver);
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(total_of(stream), all - part_of(victim));
    tree_end(network);
}

/* A back-end leaves behind a stopped commnode: not in time. It goes on to leave
 * by another parent, and its part stays in the total. */
TEST(who_leaves_late_counts)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = open_total(network, COP_DO_NOT_WAIT, "sum");
    struct cop_stream *single = tree_open_one(network, tree_rank(network, 0));
    struct cop_event event;
    int64_t all = truth(network);

    CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, 1000));
    CHECK_IS(tree_sync(stream), 0);
    CHECK_OK(cop_stream_send(single, TAG_QUIT, ""));
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(total_of(stream), all);
    tree_end(network);
}

/* While the front-end has no links, the total is unknown, which differs from a
 * total of nothing. It is known again once the back-ends are back. */
TEST(without_links_the_total_is_not_known)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet = NULL;
    struct cop_event event;
    pid_t pids[2];

    launch.times.heartbeat_ms = 200;
    launch.times.failure_timeout_ms = 3000;
    network = tree_launch_as(launch, "flat:2", NULL);
    stream = open_total(network, COP_DO_NOT_WAIT, "sum");
    CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, 1000));
    CHECK_IS(tree_sync(stream), 0);
    for (size_t i = 0; i < 2; i++)
        pids[i] = tree_pid(network, tree_rank(network, i));
    for (size_t i = 0; i < 2; i++)
        tree_stop(pids[i]);
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(tree_await(network, COP_EVENT_NODE_SUSPECTED, &event));
    CHECK_IS(cop_stream_state(stream, &packet, TREE_PATIENCE_MS), 1);
    CU_ASSERT_PTR_NULL(packet);
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(kill(pids[i], SIGCONT));
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(total_of(stream), truth(network));
    tree_end(network);
}

/* Without any packet there is no total yet. */
TEST(nothing_has_no_total)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = open_total(network, COP_WAIT_FOR_ALL, "avg");
    struct cop_packet *packet = NULL;

    CHECK_IS(tree_sync(stream), 0);
    CHECK_IS(cop_stream_state(stream, &packet, TREE_PATIENCE_MS), -ENODATA);
    CU_ASSERT_PTR_NULL(packet);
    tree_end(network);
}
