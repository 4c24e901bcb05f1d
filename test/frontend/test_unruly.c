/* test_unruly.c - misbehaving filters and applications on streams with a
 * guarantee (PROTOCOL 16, 17). */

#include "test/frontend/tree.h"

#define MEMBERS 4 /* of a tree "2x2": ranks 3 to 6 */

/* Nobody was made to send again. */
static void check_no_redo(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(network, &event, 0) == 0) {
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_REDO);
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_STREAM_FAILED);
    }
}

/* The sum of the `index`-th hashes of all back-ends, except `absent` itself or
 * those below commnode `absent`. */
static uint64_t hashes(uint32_t index, uint32_t absent)
{
    uint64_t sum = 0;

    for (uint32_t rank = 3; rank < 3 + MEMBERS; rank++)
        if (rank != absent && (rank - 1) / 2 != absent)
            sum += member_hash(rank, index);
    return sum;
}

/* Check that the next packet is `number`. */
static void check_number(struct cop_stream *stream, uint64_t number)
{
    struct cop_packet *packet;
    uint64_t found = 0;

    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%uld", &found));
    CU_ASSERT_EQUAL(found, number);
    cop_packet_free(packet);
}

#define NOBODY UINT32_MAX
#define WAVES  50

/* Each filter emits twice, in back-ends, commnodes and front-end: a wave has
 * everything emitted once, even if a commnode dies in the middle. */
TEST(a_filter_that_emits_twice)
{
    struct cop_network *network;
    struct cop_stream *stream;
    pid_t commnodes[NODES_MAX];

    tree_own_filters();
    network = tree_launch("2x2");
    stream = tree_open_as(network, COP_GUARANTEE_WAVES, "unruly", 0);
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    CHECK_OK(cop_stream_set_parameters(stream, "%d %ud", 2, NOBODY));
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", 4 * WAVES));
    for (uint32_t i = 0; i < 4 * WAVES; i++) {
        if (i == WAVES)
            CHECK_OK(kill(commnodes[0], SIGKILL));
        check_number(stream, 1);
        check_number(stream, hashes(i, NOBODY) - 1);
    }
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}

/* A filter emits nothing: its waves are accepted without content, and back-ends
 * forget them. When it emits again, the following waves arrive. */
TEST(a_filter_that_emits_nothing)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;

    tree_own_filters();
    network = tree_launch("2x2");
    stream = tree_open_as(network, COP_GUARANTEE_WAVES, "unruly", 1);
    CHECK_OK(cop_stream_set_parameters(stream, "%d %ud", 0, NOBODY));
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", WAVES));
    CHECK_IS(tree_sync(stream), 0);
    CHECK_IS(cop_stream_receive(stream, &packet, 0), -EAGAIN);
    CHECK_OK(cop_stream_set_parameters(stream, "%d %ud", 1, NOBODY));
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", WAVES));
    for (uint32_t i = WAVES; i < 2 * WAVES; i++)
        check_number(stream, hashes(i, NOBODY));
    check_no_redo(network);
    tree_end(network);
}

/* The number of COP_EVENT_FILTER_ERROR events about `rank`. */
static int errors_of(struct cop_network *network, uint32_t rank)
{
    struct cop_event event = COP_EVENT_INIT;
    int count = 0;

    while (cop_network_event(network, &event, 0) == 0) {
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_REDO);
        if (event.type != COP_EVENT_FILTER_ERROR)
            continue;
        CU_ASSERT_EQUAL(event.rank, rank);
        count++;
    }
    return count;
}

/* The filter fails in one node: back-end 3, commnode 1 or the front-end. The
 * event names the node, and waves arrive without its input. No packet is sent
 * again, as it would fail again. */
TEST(a_filter_that_fails)
{
    static const uint32_t ranks[] = {3, 1, 0};

    tree_own_filters();
    for (size_t i = 0; i < 3; i++) {
        struct cop_network *network = tree_launch("2x2");
        struct cop_stream *stream =
            tree_open_as(network, COP_GUARANTEE_WAVES, "unruly", 1);
        uint32_t wave = 0;

        CHECK_OK(cop_stream_set_parameters(stream, "%d %ud", 1, ranks[i]));
        CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", WAVES));
        for (; ranks[i] != 0 && wave < WAVES; wave++)
            check_number(stream, hashes(wave, ranks[i]));
        CHECK_IS(tree_sync(stream), 0);
        CHECK_OK(cop_stream_set_parameters(stream, "%d %ud", 1, NOBODY));
        CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", WAVES));
        for (wave = WAVES; wave < 2 * WAVES; wave++)
            check_number(stream, hashes(wave, NOBODY));
        CU_ASSERT_EQUAL(errors_of(network, ranks[i]), WAVES);
        tree_end(network);
    }
}

/* A packet that cannot be joined is not in the total; an event reports it. */
TEST(a_packet_that_makes_no_total)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_event event;
    struct cop_stream *stream;
    struct cop_packet *packet;
    int total = 0;

    stream = tree_open_as(network, COP_GUARANTEE_TOTAL, "sum", 0);
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 5));
    CHECK_OK(cop_stream_send(stream, TAG_TEXT, ""));
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 7));
    CHECK_IS(tree_sync(stream), 0);
    CHECK_OK(tree_await(network, COP_EVENT_FILTER_ERROR, &event));
    CU_ASSERT_EQUAL(event.stream_id, cop_stream_id(stream));
    CHECK_OK(cop_stream_state(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%d", &total));
    cop_packet_free(packet);
    CU_ASSERT_EQUAL(total, MEMBERS * 12);
    tree_end(network);
}

/* What a member has sent for TAG_FILL, and how much of that it keeps. */
struct kept {
    uint64_t sent;
    uint64_t packets;
    uint64_t bytes;
};

static struct kept ask_kept(struct cop_network *network, uint32_t rank)
{
    struct cop_stream *stream = tree_open_one(network, rank);
    struct kept kept = {0};
    struct cop_packet *packet;
    const uint64_t *values;
    uint32_t count = 0;

    CHECK_OK(cop_stream_send(stream, TAG_KEPT, ""));
    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%auld", &values, &count));
    CU_ASSERT_EQUAL_FATAL(count, 3);
    kept = (struct kept){values[0], values[1], values[2]};
    cop_packet_free(packet);
    cop_stream_close(stream);
    return kept;
}

/* The first number of each wave is the sum of the hashes of members from
 * `first_rank` on that have sent that many packets. Returns the wave count. */
static uint32_t check_filled(struct cop_stream *stream,
                             const struct kept kept[3 + MEMBERS],
                             uint32_t first_rank)
{
    struct cop_packet *packet;
    const uint64_t *values;
    uint32_t index = 0, count;

    while (cop_stream_receive(stream, &packet, 0) == 0) {
        uint64_t want = 0;

        for (uint32_t rank = first_rank; rank < 3 + MEMBERS; rank++)
            if (kept[rank].sent > index)
                want += member_hash(rank, index);
        CHECK_OK(cop_packet_unpack(packet, "%auld", &values, &count));
        CU_ASSERT_EQUAL(values[0], want);
        cop_packet_free(packet);
        index++;
    }
    return index;
}

#define NUMBERS 128                 /* in a packet of TAG_FILL */
#define BYTES   (8 * NUMBERS + 256) /* the maximum, with its header */

/* One back-end never receives, so it never sends. The others keep `keep` bytes
 * and at most one packet more; then they have no room. The sync names the
 * branch of the stuck back-end; packets of the front-end are bounded too. When
 * that back-end dies, all waves arrive without it. */
static void check_stuck(size_t keep)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream =
        tree_open_as(network, COP_GUARANTEE_WAVES, "sum", keep);
    struct cop_stream *one = tree_open_one(network, 3);
    pid_t victim = tree_pid(network, 3);
    struct kept kept[3 + MEMBERS] = {{0}};
    struct cop_error error = {""};
    struct cop_packet *packet;
    uint64_t most = 0;

    CHECK_OK(cop_stream_send(one, TAG_STUCK, ""));
    CHECK_OK(cop_stream_send(stream, TAG_FILL, "%d %d %d", 1000, NUMBERS, 0));
    for (uint32_t rank = 4; rank < 3 + MEMBERS; rank++) {
        kept[rank] = ask_kept(network, rank);
        CU_ASSERT(kept[rank].sent > 0 && kept[rank].sent < 1000);
        CU_ASSERT_EQUAL(kept[rank].packets, kept[rank].sent);
        CU_ASSERT(kept[rank].bytes >= keep);
        CU_ASSERT(kept[rank].bytes <= keep + BYTES);
        most = kept[rank].sent > most ? kept[rank].sent : most;
    }
    CHECK_IS(cop_stream_receive(stream, &packet, 0), -EAGAIN);
    CHECK_IS(cop_stream_sync(stream, 100, &error), -ETIMEDOUT);
    tree_check_says(error.text, "rank 3 on");
    CHECK_OK(kill(victim, SIGKILL));
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(check_filled(stream, kept, 4), most);
    tree_end(network);
}

TEST(a_backend_that_never_receives)
{
    check_stuck(64 << 10);
}

/* Each packet is larger than `keep`: a back-end keeps one of them. */
TEST(a_packet_larger_than_keep)
{
    check_stuck(1);
}

/* The front-end does not receive: back-ends run out of room long before they
 * have sent everything. Complete waves wait. When the front-end receives again,
 * each wave is right. */
TEST(a_frontend_that_stops_receiving)
{
    enum {
        COUNT = 4096,
        LARGE = 8192,
        BOUND = 1024
    }; /* packets of 64 KiB */
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream =
        tree_open_as(network, COP_GUARANTEE_WAVES, "sum", 0);
    struct kept kept[3 + MEMBERS] = {{0}};
    uint64_t most = 0;

    CHECK_OK(cop_stream_send(stream, TAG_FILL, "%d %d %d", COUNT, LARGE, 1000));
    for (uint32_t rank = 3; rank < 3 + MEMBERS; rank++) {
        kept[rank] = ask_kept(network, rank);
        CU_ASSERT(kept[rank].sent > 0 && kept[rank].sent < BOUND);
        most = kept[rank].sent > most ? kept[rank].sent : most;
    }
    CHECK_IS(tree_sync(stream), 0);
    CU_ASSERT_EQUAL(check_filled(stream, kept, 3), most);
    check_no_redo(network);
    tree_end(network);
}

/* Packets of a stream with a total are not received, and none waits for a
 * receive: back-ends send more than all windows hold. */
TEST(a_total_that_nobody_asks_for)
{
    struct cop_network *network = tree_launch("2x2");
    uint64_t want = 0;
    struct cop_stream *stream;
    struct cop_packet *packet;
    const uint64_t *values;
    uint32_t count;

    stream = tree_open_as(network, COP_GUARANTEE_TOTAL, "sum", 0);
    CHECK_OK(
        cop_stream_send(stream, TAG_FILL, "%d %d %d", 400, 8192, COP_FOREVER));
    CHECK_IS(tree_sync(stream), 0);
    for (uint32_t i = 0; i < 400; i++)
        want += hashes(i, NOBODY);
    CHECK_OK(cop_stream_state(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%auld", &values, &count));
    CU_ASSERT_EQUAL(values[0], want);
    cop_packet_free(packet);
    tree_end(network);
}
