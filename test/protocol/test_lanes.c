/* test_lanes.c - packets by link. */
#include "protocol/stream/lanes.h"

#include "test/check.h"
#include "wire/packet.h"

/* Add a packet of this wave to the lane, with a credit of `credit` bytes. */
static void put(struct lanes *lanes,
                struct lane *lane,
                uint64_t wave,
                uint8_t flags,
                uint32_t credit)
{
    struct frame frame = {.type = FRAME_DATA, .flags = flags, .wave = wave};

    CHECK_OK(payload_new(&frame.payload, 8));
    CHECK_OK(lanes_put(lanes, lane, &frame, credit));
}

/* The lane of `link`, with the last packet of wave 1. */
static struct lane *make_lane(struct lanes *lanes, uint32_t link, uint32_t rank)
{
    struct lane *lane = lanes_at(lanes, link, rank);

    CU_ASSERT_PTR_NOT_NULL_FATAL(lane);
    put(lanes, lane, 1, FRAME_LAST, 0);
    return lane;
}

/* Move all packets to the set, and free them. */
static void move_all(struct lanes *lanes)
{
    lanes_begin(lanes);
    for (uint32_t i = 0; i < lanes->count; i++)
        while (lanes->list[i]->fifo.count > 0)
            CHECK_OK(lanes_move(lanes, lanes->list[i]));
    for (size_t i = 0; i < lanes->set.count; i++)
        frame_fini(&lanes->set.frames[i]);
}

/* PROTOCOL 4.3a: lanes are in order of rank, and what a lost child has left is
 * ahead of what its rank sends on a later link, also one of the same number. */
TEST(lanes_are_in_order_of_rank)
{
    static const uint32_t ranks[] = {10, 11, 11, 12};
    static const uint32_t links[] = {1, WAVE_NO_LINK, 2, 0};
    struct lanes lanes = {0};

    make_lane(&lanes, 0, 12);
    make_lane(&lanes, 2, 11);
    make_lane(&lanes, 1, 10);
    lanes_unlink(&lanes, 2);
    CU_ASSERT_PTR_NULL(lanes_find(&lanes, 2));
    make_lane(&lanes, 2, 11);
    move_all(&lanes);
    CU_ASSERT_EQUAL_FATAL(lanes.set.count, 4);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(lanes.set.inlets[i], ranks[i]);
        CU_ASSERT_EQUAL(lanes.set.links[i], links[i]);
    }
    CU_ASSERT_EQUAL(lanes.bytes, 0);
    lanes_fini(&lanes);
}

/* A lane without a link is freed when its packets are used, or at once if it has
 * none. */
TEST(a_lane_without_a_link_ends_with_its_packets)
{
    struct lanes lanes = {0};

    make_lane(&lanes, 0, 10);
    CU_ASSERT_PTR_NOT_NULL(lanes_at(&lanes, 1, 11));
    lanes_unlink(&lanes, 0);
    lanes_unlink(&lanes, 1);
    CU_ASSERT_EQUAL(lanes.count, 1);
    move_all(&lanes);
    lanes_sweep(&lanes);
    CU_ASSERT_EQUAL(lanes.count, 0);
    CU_ASSERT_EQUAL(lanes.ended, 0);
    lanes_fini(&lanes);
}

/* Waves wait for the lowest level of those expected; of equal ones the last. A
 * child that has not said from where it counts is behind all levels. */
TEST(the_slowest_is_an_expected_lane)
{
    struct lanes lanes = {0};
    struct lane *lane[3];

    CU_ASSERT_PTR_NULL(lanes_slowest(&lanes, (struct wave_number){0}));
    for (uint32_t i = 0; i < 3; i++) {
        lane[i] = make_lane(&lanes, i, 10 + i);
        lane[i]->level.wave = 5;
        lane[i]->counts = true;
        CU_ASSERT_PTR_NULL(lanes_slowest(&lanes, (struct wave_number){0}));
    }
    for (uint32_t i = 0; i < 3; i++)
        lanes_expect(&lanes, lane[i], i < 2);
    CU_ASSERT_EQUAL(lanes.expected, 2);
    CU_ASSERT_PTR_EQUAL(lanes_slowest(&lanes, (struct wave_number){0}),
                        lane[1]);
    lane[1]->level.generation = 1;
    CU_ASSERT_PTR_EQUAL(lanes_slowest(&lanes, (struct wave_number){0}),
                        lane[0]);
    lane[1]->counts = false;
    CU_ASSERT_PTR_EQUAL(lanes_slowest(&lanes, (struct wave_number){0}),
                        lane[1]);
    lanes_unlink(&lanes, 1);
    CU_ASSERT_PTR_EQUAL(lanes_slowest(&lanes, (struct wave_number){0}),
                        lane[0]);
    lanes_unlink(&lanes, 0);
    CU_ASSERT_PTR_NULL(lanes_slowest(&lanes, (struct wave_number){0}));
    CU_ASSERT_EQUAL(lanes.expected, 0);
    lanes_fini(&lanes);
}

/* Parts are counted until the last packet of their wave comes, and can be
 * dropped before. Each credit is returned once: lent, dropped or with the set. */
TEST(parts_are_of_an_incomplete_wave)
{
    uint64_t len = FRAME_HEADER_LEN + 8;
    struct lanes lanes = {0};
    struct lane *lane = make_lane(&lanes, 0, 10);

    CU_ASSERT_TRUE(lane_is_whole(lane));
    put(&lanes, lane, 2, 0, 1);
    put(&lanes, lane, 2, 0, 2);
    CU_ASSERT_EQUAL(lane->part_bytes, 2 * len);
    CU_ASSERT_EQUAL(lane_lend(lane, false), 0); /* another wave is the next */
    CU_ASSERT_EQUAL(lane_credit(lane), 3);
    CU_ASSERT_EQUAL(lanes_drop_parts(&lanes, lane), 3);
    CU_ASSERT_EQUAL(lane->part_bytes, 0);
    CU_ASSERT_EQUAL(lanes.bytes, len);
    move_all(&lanes);
    CU_ASSERT_FALSE(lane_is_whole(lane));
    put(&lanes, lane, 3, 0, 4);
    CU_ASSERT_EQUAL(lane_lend(lane, false), 4);
    put(&lanes, lane, 3, 0, 8);
    CU_ASSERT_EQUAL(lanes_drop_parts(&lanes, lane), 8);
    put(&lanes, lane, 4, 0, 16);
    CU_ASSERT_EQUAL(lane_lend(lane, false), 16);
    CU_ASSERT_EQUAL(lane_lend(lane, false), 0);
    put(&lanes, lane, 4, FRAME_LAST, 32);
    CU_ASSERT_TRUE(lane_is_whole(lane));
    CU_ASSERT_EQUAL(lane->part_bytes, 0);
    move_all(&lanes);
    CU_ASSERT_EQUAL(lanes.set.count, 2);
    CU_ASSERT_EQUAL(lanes.set.credits[0], 0);
    CU_ASSERT_EQUAL(lanes.set.credits[1], 32);
    CU_ASSERT_EQUAL(lane->lent, 0);
    CU_ASSERT_EQUAL(lanes.bytes, 0);
    put(&lanes, lane, 5, FRAME_LAST, 64);
    put(&lanes, lane, 6, FRAME_LAST, 128);
    CU_ASSERT_EQUAL(lane_lend(lane, false), 0);
    CU_ASSERT_EQUAL(lane_lend(lane, true), 64 + 128);
    CU_ASSERT_EQUAL(lane_credit(lane), 0);
    lanes_fini(&lanes);
}

/* PROTOCOL 16.10: OVER does not count as a packet that waits. */
TEST(the_end_of_an_epoch_has_no_bytes)
{
    struct lanes lanes = {0};
    struct lane *lane = make_lane(&lanes, 0, 10);

    put(&lanes, lane, 2, FRAME_OVER | FRAME_EMPTY | FRAME_LAST, 0);
    CU_ASSERT_EQUAL(lanes.bytes, FRAME_HEADER_LEN + 8);
    move_all(&lanes);
    CU_ASSERT_EQUAL(lanes.set.count, 1); /* empty ones are dropped */
    CU_ASSERT_EQUAL(lanes.bytes, 0);
    lanes_fini(&lanes);
}
