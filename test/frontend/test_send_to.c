/* test_send_to.c - packets for some members of a stream (PROTOCOL 10.7). */
#include "test/frontend/tree.h"

static struct cop_packet *packet_of(int number)
{
    struct cop_packet *packet;

    CHECK_OK(cop_packet_new(&packet, TAG_ECHO, "%d", number));
    return packet;
}

static int send_to(struct cop_stream *stream,
                   const uint32_t *ranks,
                   size_t count,
                   int number)
{
    struct cop_packet *packet = packet_of(number);
    int r = cop_stream_send_to(stream, ranks, count, packet);

    cop_packet_free(packet);
    return r;
}

/* Take the answers to `number` of the `count` members, in any order. */
static void take_from(struct cop_stream *stream,
                      const uint32_t *ranks,
                      size_t count,
                      int number)
{
    struct cop_packet *packet;
    uint32_t origins[8] = {0};
    int got;

    for (size_t i = 0; i < count; i++) {
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        CHECK_OK(cop_packet_unpack(packet, "%d", &got));
        CU_ASSERT_EQUAL(got, number);
        origins[i] = cop_packet_origin(packet);
        cop_packet_free(packet);
    }
    for (size_t i = 0; i < count; i++) {
        size_t times = 0;

        for (size_t k = 0; k < count; k++)
            times += origins[k] == ranks[i];
        CU_ASSERT_EQUAL(times, 1);
    }
}

/* Each of them answers, and no other: before and after the death of every
 * commnode. */
TEST_OF_TREES(those_answer_and_no_others)
{
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    size_t members = cop_stream_size(each);
    uint32_t ranks[3];
    int number = 0;

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < members; i++) {
            ranks[0] = tree_rank(network, i);
            ranks[1] = tree_rank(network, (i + 1) % members);
            ranks[2] = ranks[0]; /* twice is once */
            CHECK_OK(send_to(each, ranks, 1, ++number));
            take_from(each, ranks, 1, number);
            CHECK_OK(send_to(each, ranks, 3, ++number));
            take_from(each, ranks, 2, number);
        }
        CHECK_IS(tree_sync(each), 0);
        CU_ASSERT_EQUAL(tree_take_all(each), 0);
        if (round == 0)
            tree_kill_all(network);
    }
}

/* Packets for single members and for all are counted by a sync. */
TEST_OF_TREES(a_sync_waits_for_their_answers)
{
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    size_t members = cop_stream_size(each);
    uint32_t rank;
    int sum = 0;

    for (int k = 1; k <= 200; k++) {
        rank = tree_rank(network, (size_t)k % members);
        if (k % 10 == 0) {
            CHECK_OK(cop_stream_send(each, TAG_ECHO, "%d", k));
            sum += k * (int)members;
        } else {
            CHECK_OK(send_to(each, &rank, 1, k));
            sum += k;
        }
    }
    CHECK_IS(tree_sync(each), 0);
    CU_ASSERT_EQUAL(tree_take_all(each), sum);
}

/* Which ranks, streams and nodes are wrong. */
TEST(what_cannot_be_sent)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    uint32_t wrong[] = {0, 1, 2, 99, UINT32_MAX};
    uint32_t pair[] = {tree_rank(network, 0), tree_rank(network, 1)};
    struct cop_event event;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_IS(send_to(each, &wrong[i], 1, 1), -EINVAL);
    }
    CHECK_IS(send_to(each, pair, 0, 1), -EINVAL);
    CHECK_IS(send_to(each, NULL, 0, 1), -EINVAL);
    CHECK_IS(send_to(sum, pair, 1, 1), -EINVAL);
    CHECK_OK(kill(tree_pid(network, pair[0]), SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CHECK_IS(send_to(each, pair, 1, 1), -ENODEV);
    CHECK_OK(send_to(each, pair, 2, 7));
    take_from(each, &pair[1], 1, 7);
    tree_end(network);
}
