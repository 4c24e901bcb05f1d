/* test_wave.c - which packets are released together, and when. */
#include "protocol/stream/wave.h"

#include "test/check.h"
#include "wire/packet.h"
#include "wire/ranks.h"

/* The credit to return for a packet: an empty answer took none. */
#define CREDIT(frame)                                                          \
    ((frame)->flags & FRAME_EMPTY ? 0 : (uint32_t)frame_len(frame))

static struct wave *make_wave(enum cop_sync sync)
{
    struct wave *wave = NULL;

    CHECK_OK(wave_new(&wave, sync, 100));
    return wave;
}

/* PAIR(name, sync) { ... } is a test of a `wave` with two children, of the ranks
 * 10 and 11, of links 0 and 1. */
#define PAIR(name, sync)                                                       \
    static void pair_##name(struct wave *wave);                                \
    TEST(name)                                                                 \
    {                                                                          \
        struct wave *wave = make_wave(sync);                                   \
                                                                               \
        CHECK_OK(wave_join(wave, 0, 10, 0));                                   \
        CHECK_OK(wave_join(wave, 1, 11, 0));                                   \
        pair_##name(wave);                                                     \
        wave_free(wave);                                                       \
    }                                                                          \
    static void pair_##name(struct wave *wave)

/* Child `rank` of `link` sends a packet with number `sequence` and these flags,
 * of `count` back-ends. */
static void put_frame(struct wave *wave,
                      uint32_t link,
                      uint32_t rank,
                      uint64_t sequence,
                      uint8_t flags,
                      uint32_t count)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = flags,
        .origin = rank,
        .count = count,
        .sequence = sequence,
    };

    CHECK_OK(wave_put(wave, link, rank, &frame, CREDIT(&frame), 0));
}

/* The last packet of its wave, of one back-end. */
static void put_from(struct wave *wave,
                     uint32_t link,
                     uint32_t rank,
                     uint64_t sequence)
{
    put_frame(wave, link, rank, sequence, FRAME_LAST, 1);
}

/* Likewise from a child whose rank is 10 more than its link. */
static void put_packet(struct wave *wave, uint32_t link, uint64_t sequence)
{
    put_from(wave, link, link + 10, sequence);
}

/* Likewise at a time. */
static void put_at(struct wave *wave,
                   uint32_t link,
                   uint64_t sequence,
                   uint64_t now_ms)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = FRAME_LAST,
        .origin = link + 10,
        .count = 1,
        .sequence = sequence,
    };

    CHECK_OK(wave_put(wave, link, link + 10, &frame, CREDIT(&frame), now_ms));
}

/* Check that the next set has this number and this many packets. */
static void check_set(struct wave *wave, uint64_t sequence, size_t count)
{
    struct wave_set set;

    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.sequence, sequence);
    CU_ASSERT_EQUAL(set.count, count);
    CU_ASSERT_EQUAL(set.contributors, count);
}

static void check_none(struct wave *wave)
{
    struct wave_set set;

    CHECK_IS(wave_take(wave, 0, false, &set), 0);
}

/* PROTOCOL 4.3: a wave waits for every child that counts; n-th meets n-th. */
PAIR(a_wave_waits_for_all, COP_WAIT_FOR_ALL)
{
    put_packet(wave, 0, 1);
    put_packet(wave, 0, 2);
    check_none(wave);
    put_packet(wave, 1, 1);
    check_set(wave, 1, 2);
    check_none(wave);
    put_packet(wave, 1, 2);
    check_set(wave, 2, 2);
    CU_ASSERT_EQUAL(wave_level(wave), 2);
}

/* PROTOCOL 4.1: only the packet with the flag LAST answers its wave. */
TEST(the_last_packet_answers)
{
    struct wave *wave = make_wave(COP_WAIT_FOR_ALL);
    struct wave_set set;

    CHECK_OK(wave_join(wave, 0, 10, 0));
    put_frame(wave, 0, 10, 1, 0, 5);
    check_none(wave);
    put_frame(wave, 0, 10, 1, FRAME_LAST, 5);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 2);
    CU_ASSERT_EQUAL(set.contributors, 5); /* one node made both */
    wave_free(wave);
}

/* PROTOCOL 4.2: an empty answer is an answer, and is left out of the set. */
PAIR(an_empty_answer_counts, COP_WAIT_FOR_ALL)
{
    struct wave_set set;

    put_packet(wave, 0, 1);
    put_frame(wave, 1, 11, 1, FRAME_LAST | FRAME_EMPTY, 3);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 1);
    CU_ASSERT_EQUAL(set.contributors, 4);
}

/* Child 10, with `count` back-ends, answers waves `first` to `last` empty. */
static void put_empty(struct wave *wave,
                      uint64_t first,
                      uint64_t last,
                      uint32_t count)
{
    for (uint64_t n = first; n <= last; n++)
        put_frame(wave, 0, 10, n, FRAME_LAST | FRAME_EMPTY, count);
}

/* PROTOCOL 4.2: empty answers need no credit: those that wait for another child
 * take little, however many they are, and each still answers its wave. */
PAIR(empty_answers_wait_in_little_room, COP_WAIT_FOR_ALL)
{
    enum {
        MANY = 10000
    };
    struct wave_set set;

    put_empty(wave, 1, MANY, 3);
    put_empty(wave, MANY + 1, MANY + 2, 2);
    put_packet(wave, 0, MANY + 3);
    put_empty(wave, MANY + 4, 2 * MANY, 2);
    CU_ASSERT(wave_bytes(wave) < 10 * FRAME_HEADER_LEN);
    for (uint64_t n = 1; n <= 2 * MANY; n++) {
        put_packet(wave, 1, n);
        CHECK_IS(wave_take(wave, 0, false, &set), 1);
        CU_ASSERT_EQUAL(set.sequence, n);
        CU_ASSERT_EQUAL(set.count, n == MANY + 3 ? 2 : 1);
        CU_ASSERT_EQUAL(set.contributors, n <= MANY       ? 4
                                          : n == MANY + 3 ? 2
                                                          : 3);
        CHECK_IS(wave_take(wave, 0, false, &set), 0);
    }
    CU_ASSERT_EQUAL(wave_bytes(wave), 0);
}

/* PROTOCOL 4.4: what a lost child had delivered keeps its place, and nobody
 * waits for what it had not; its link may be another's at once. */
PAIR(a_lost_child_is_not_waited_for, COP_WAIT_FOR_ALL)
{
    put_packet(wave, 0, 1);
    put_packet(wave, 0, 2);
    put_packet(wave, 0, 3);
    put_packet(wave, 1, 1);
    put_packet(wave, 1, 2);
    check_set(wave, 1, 2);
    wave_leave(wave, 1);
    check_set(wave, 2, 2);
    check_set(wave, 3, 1);
    check_none(wave);
}

/* PROTOCOL 4.3b: the waves that a child has named last in an epoch are known
 * when all children have gone on to the next. */
PAIR(the_last_wave_of_an_epoch_is_named, COP_WAIT_FOR_ALL)
{
    uint64_t epoch = UINT64_C(1) << PACKET_WAVE_BITS;

    put_packet(wave, 0, 1);
    CHECK_OK(wave_join(wave, 0, 10, 3));
    wave_answer(wave, 0, epoch);
    CU_ASSERT_EQUAL(wave_ended(wave), 0); /* the other may send it */
    wave_answer(wave, 1, epoch);
    CU_ASSERT_EQUAL(wave_ended(wave), 0); /* wave 1 comes first */
    check_set(wave, 1, 1);
    CU_ASSERT_EQUAL(wave_ended(wave), 3);
    wave_skip(wave, 3);
    CU_ASSERT_EQUAL(wave_ended(wave), 0);
}

/* PROTOCOL 4.5: a child counts from the wave that it was told; its packets of
 * earlier waves are late, and released alone, at once. */
TEST(a_child_counts_from_its_wave_on)
{
    struct wave *wave = make_wave(COP_WAIT_FOR_ALL);
    struct wave_set set;

    CHECK_OK(wave_join(wave, 0, 10, 0));
    put_packet(wave, 1, 1);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_TRUE(set.late);
    CU_ASSERT_FALSE(set.late_lane);
    CHECK_OK(wave_join(wave, 1, 11, 2));
    put_packet(wave, 0, 1);
    check_set(wave, 1, 1);
    put_packet(wave, 1, 2);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_TRUE(set.late);
    put_packet(wave, 0, 2);
    check_set(wave, 2, 1);
    put_packet(wave, 0, 3);
    check_none(wave);
    put_packet(wave, 1, 3);
    check_set(wave, 3, 2);
    wave_free(wave);
}

/* PROTOCOL 4.5: a number answers all lower ones; LATE never answers. */
PAIR(a_number_answers_lower_ones, COP_WAIT_FOR_ALL)
{
    struct wave_set set;

    put_packet(wave, 0, 1);
    put_frame(wave, 1, 11, 9, FRAME_LATE, 1);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_TRUE(set.late_lane);
    check_none(wave);
    put_packet(wave, 1, 5);
    check_set(wave, 1, 1);
    check_none(wave);
    wave_answer(wave, 0, 5);
    check_set(wave, 5, 1);
}

/* PROTOCOL 4.1: after a sync unequal numbers of packets pair again. */
PAIR(an_epoch_pairs_again, COP_WAIT_FOR_ALL)
{
    uint64_t epoch = UINT64_C(1) << PACKET_WAVE_BITS;

    put_packet(wave, 0, 1);
    put_packet(wave, 0, 2);
    put_packet(wave, 1, 1);
    wave_answer(wave, 1, epoch);
    put_packet(wave, 1, epoch + 1);
    check_set(wave, 1, 2);
    check_set(wave, 2, 1);
    CU_ASSERT_FALSE(wave_holds(wave, epoch));
    check_none(wave);
    wave_answer(wave, 0, epoch);
    CU_ASSERT_EQUAL(wave_level(wave), epoch);
    put_packet(wave, 0, epoch + 1);
    check_set(wave, epoch + 1, 2);
}

/* PROTOCOL 4.6: do_not_wait gives each packet alone, in order of arrival. */
PAIR(do_not_wait_does_not_wait, COP_DO_NOT_WAIT)
{
    for (uint32_t i = 1; i <= 50; i++)
        put_packet(wave, i % 2, i);
    for (uint32_t i = 1; i <= 50; i++)
        check_set(wave, i, 1);
    check_none(wave);
}

/* PROTOCOL 4.6: time_out releases at its time, when all are in, or in haste. */
PAIR(time_out_releases_in_time, COP_TIME_OUT)
{
    struct wave_set set;

    CU_ASSERT_EQUAL(wave_deadline_ms(wave), UINT64_MAX);
    put_packet(wave, 0, 1);
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), 100);
    CHECK_IS(wave_take(wave, 99, false, &set), 0);
    CHECK_IS(wave_take(wave, 100, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 1);
    put_packet(wave, 0, 2);
    put_packet(wave, 1, 1);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 2);
    put_packet(wave, 1, 2);
    CHECK_IS(wave_take(wave, 0, true, &set), 1);
    CU_ASSERT_EQUAL(set.count, 1);
}

/* PROTOCOL 4.6: a child has one wave in a set, and what came behind it has its
 * own time-out. */
PAIR(a_timed_set_has_each_child_once, COP_TIME_OUT)
{
    struct wave_set set;

    put_at(wave, 0, 1, 0);
    put_at(wave, 0, 2, 10);
    put_at(wave, 1, 1, 20);
    CHECK_IS(wave_take(wave, 20, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 2);
    CU_ASSERT_EQUAL(set.contributors, 2);
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), 110);
    CHECK_IS(wave_take(wave, 109, false, &set), 0);
    CHECK_IS(wave_take(wave, 110, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 1);
    CU_ASSERT_EQUAL(set.sequence, 2);
}

/* PROTOCOL 4.6: a wave of several packets is in one set. */
PAIR(a_timed_set_has_whole_waves, COP_TIME_OUT)
{
    struct wave_set set;

    put_frame(wave, 0, 10, 1, 0, 1);
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), UINT64_MAX);
    CHECK_IS(wave_take(wave, 100, true, &set), 0);
    put_packet(wave, 0, 1);
    CHECK_IS(wave_take(wave, 100, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 2);
    CU_ASSERT_EQUAL(set.contributors, 1);
}

/* PROTOCOL 4.6: while an older epoch waits for the rest of a wave, a later one
 * has no deadline. */
PAIR(a_later_epoch_has_no_deadline, COP_TIME_OUT)
{
    struct wave_set set;

    put_frame(wave, 0, 10, 1, 0, 1);
    put_packet(wave, 1, UINT64_C(1) << PACKET_WAVE_BITS | 1);
    CHECK_IS(wave_take(wave, 100, false, &set), 0);
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), UINT64_MAX);
    put_packet(wave, 0, 1);
    CHECK_IS(wave_take(wave, 100, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 2);
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), 100);
}

/* PROTOCOL 4.6: what a lost child left is released at once and alone, since its
 * members may send by another child. */
PAIR(what_a_child_left_is_a_timed_set, COP_TIME_OUT)
{
    struct wave_set set;

    put_packet(wave, 0, 1);
    put_packet(wave, 0, 2);
    put_packet(wave, 1, 1);
    wave_leave(wave, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_IS(wave_take(wave, 0, false, &set), 1);
        CU_ASSERT_EQUAL(set.count, 1);
        CU_ASSERT_EQUAL(set.inlets[0], 10);
    }
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.inlets[0], 11);
}

/* The number of wave `n` of `epoch`. */
static uint64_t in_epoch(uint64_t epoch, uint64_t n)
{
    return (epoch << PACKET_WAVE_BITS) + n;
}

/* Check that time_out releases this set at the time-out. */
static void check_timed(struct wave *wave,
                        uint64_t sequence,
                        size_t count,
                        bool late)
{
    struct wave_set set;

    CHECK_IS(wave_take(wave, 100, false, &set), 1);
    CU_ASSERT_EQUAL(set.sequence, sequence);
    CU_ASSERT_EQUAL(set.count, count);
    CU_ASSERT_EQUAL(set.late, late);
    CU_ASSERT_FALSE(set.late_lane);
    for (size_t i = 0; i < set.count; i++)
        CU_ASSERT_EQUAL((set.frames[i].flags & FRAME_LATE) != 0, late);
}

/* PROTOCOL 4.6, 10.6: a set has packets of one epoch, the oldest first. */
PAIR(a_timed_set_does_not_mix_epochs, COP_TIME_OUT)
{
    put_packet(wave, 0, in_epoch(1, 1));
    put_packet(wave, 0, in_epoch(2, 1));
    put_packet(wave, 1, in_epoch(2, 1));
    CU_ASSERT_TRUE(wave_holds(wave, in_epoch(2, 0)));
    check_timed(wave, in_epoch(1, 1), 1, false);
    CU_ASSERT_FALSE(wave_holds(wave, in_epoch(2, 0)));
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), 100);
    check_timed(wave, in_epoch(2, 1), 2, false);
    CU_ASSERT_EQUAL(wave_deadline_ms(wave), UINT64_MAX);
}

/* PROTOCOL 4.6, 10.6: a packet of an epoch whose successor has begun here
 * keeps its number, which a settled claim waits for, and is late. */
PAIR(what_comes_after_the_next_epoch_began_is_late, COP_TIME_OUT)
{
    put_packet(wave, 0, in_epoch(2, 7));
    check_timed(wave, in_epoch(2, 7), 1, false);
    put_packet(wave, 0, in_epoch(2, 8));
    put_packet(wave, 1, in_epoch(1, 3));
    CU_ASSERT_TRUE(wave_holds(wave, in_epoch(2, 0)));
    check_timed(wave, in_epoch(1, 3), 1, true);
    check_timed(wave, in_epoch(2, 8), 1, false);
    put_packet(wave, 1, in_epoch(2, 1));
    check_timed(wave, in_epoch(2, 9), 1, false);
}

/* PROTOCOL 5.6: what goes against the direction is in no wave. */
PAIR(against_the_direction_is_alone, COP_WAIT_FOR_ALL)
{
    struct wave_set set;

    put_packet(wave, 0, 0);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.sequence, 0);
    CU_ASSERT_FALSE(set.late);
    check_none(wave);
}

/* PROTOCOL 3.4: what waits for the rest of its wave is lent its credit, once,
 * also when it becomes the next wave only after another was released. */
PAIR(an_incomplete_wave_is_lent_credit, COP_WAIT_FOR_ALL)
{
    put_packet(wave, 0, 1);
    CU_ASSERT_EQUAL(wave_lend(wave, 0), 0);
    for (int i = 0; i < 3; i++)
        put_frame(wave, 0, 10, 2, 0, 1);
    CU_ASSERT_EQUAL(wave_lend(wave, 0), 0);
    put_packet(wave, 1, 1);
    check_set(wave, 1, 2);
    CU_ASSERT_EQUAL(wave_lend(wave, 0), 3 * FRAME_HEADER_LEN);
    CU_ASSERT_EQUAL(wave_lend(wave, 0), 0);
    CU_ASSERT_EQUAL(wave_lend(wave, 1), 0);
}

/* Of a wave of very many packets each is looked at once, not each time that one
 * comes: that would be for minutes. */
PAIR(many_parts_are_lent_one_by_one, COP_WAIT_FOR_ALL)
{
    struct wave_set set;
    int i;

    for (i = 0; i < 400000; i++) {
        put_frame(wave, 0, 10, 1, 0, 0);
        if (wave_lend(wave, 0) != FRAME_HEADER_LEN)
            break;
    }
    CU_ASSERT_EQUAL(i, 400000);
    put_packet(wave, 0, 1);
    CU_ASSERT_EQUAL(wave_lend(wave, 0), 0);
    put_packet(wave, 1, 1);
    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL(set.count, 400002);
    CU_ASSERT_EQUAL(wave_bytes(wave), 0);
}

/* Check that the next set has packets of exactly these ranks, in this order. */
static void check_order(struct wave *wave, const uint32_t *ranks, size_t count)
{
    struct wave_set set;

    CHECK_IS(wave_take(wave, 0, false, &set), 1);
    CU_ASSERT_EQUAL_FATAL(set.count, count);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(set.inlets[i], ranks[i]);
}

/* PROTOCOL 4.3a: a set is in order of rank, not of link, also if a child is
 * lost and others come, one of them with its link. */
TEST(a_set_is_in_the_order_of_ranks)
{
    struct wave *wave = make_wave(COP_WAIT_FOR_ALL);

    CHECK_OK(wave_join(wave, 0, 12, 0));
    CHECK_OK(wave_join(wave, 1, 10, 0));
    CHECK_OK(wave_join(wave, 2, 11, 0));
    for (uint64_t k = 1; k <= 2; k++) {
        put_from(wave, 0, 12, k);
        put_from(wave, 1, 10, k);
        put_from(wave, 2, 11, k);
    }
    check_order(wave, (uint32_t[]){10, 11, 12}, 3);
    wave_leave(wave, 2);
    wave_leave(wave, 0);
    CHECK_OK(wave_join(wave, 0, 9, 1));
    CHECK_OK(wave_join(wave, 5, 13, 1));
    put_from(wave, 5, 13, 2);
    put_from(wave, 0, 9, 2);
    check_order(wave, (uint32_t[]){9, 10, 11, 12, 13}, 5);
    put_from(wave, 5, 13, 3);
    put_from(wave, 1, 10, 3);
    put_from(wave, 0, 9, 3);
    check_order(wave, (uint32_t[]){9, 10, 13}, 3);
    check_none(wave);
    wave_free(wave);
}
