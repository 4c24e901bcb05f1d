/* test_fifo.c - queues of frames, and the feed built on them. */
#include "wire/fifo.h"

#include <errno.h>

#include "protocol/stream/feed.h"
#include "test/check.h"

static struct frame number(uint64_t sequence)
{
    struct frame frame = {.type = FRAME_DATA, .sequence = sequence};

    CHECK_OK(payload_new(&frame.payload, 8));
    return frame;
}

/* Frames leave in the order in which they entered, even if the ring grows. */
TEST(order_is_kept)
{
    struct fifo fifo = {0};
    uint64_t in = 0, out = 0;

    for (int round = 1; round < 400; round++) {
        for (int i = 0; i < round % 37; i++) {
            struct frame frame = number(in++);

            CHECK_OK(fifo_push(&fifo, &frame, 0));
        }
        for (int i = 0; i < round % 31 && fifo.count > 0; i++) {
            struct frame frame = fifo_pop(&fifo).frame;

            CU_ASSERT_EQUAL(frame.sequence, out++);
            frame_fini(&frame);
        }
        CU_ASSERT_EQUAL(fifo.count, in - out);
        CU_ASSERT_EQUAL(fifo.bytes, (in - out) * (FRAME_HEADER_LEN + 8));
        if (fifo.count > 0)
            CU_ASSERT_EQUAL(fifo_at(&fifo, fifo.count - 1)->frame.sequence,
                            in - 1);
    }
    fifo_fini(&fifo);
    CU_ASSERT_PTR_NULL(fifo_peek(&fifo));
}

/* The newest frame can be removed, too. */
TEST(the_newest_is_removed)
{
    struct fifo fifo = {0};
    struct frame frame;

    for (uint64_t i = 1; i <= 3; i++) {
        frame = number(i);
        CHECK_OK(fifo_push(&fifo, &frame, 0));
    }
    frame = fifo_pop_last(&fifo).frame;
    CU_ASSERT_EQUAL(frame.sequence, 3);
    frame_fini(&frame);
    CU_ASSERT_EQUAL(fifo.count, 2);
    CU_ASSERT_EQUAL(fifo.bytes, 2 * (FRAME_HEADER_LEN + 8));
    CU_ASSERT_EQUAL(fifo_peek(&fifo)->sequence, 1);
    fifo_fini(&fifo);
}

/* After a burst the ring's memory is freed, from either end. */
TEST(an_empty_large_ring_is_freed)
{
    struct fifo fifo = {0};

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 1000; i++) {
            struct frame frame = {.sequence = 1};

            CHECK_OK(fifo_push(&fifo, &frame, 0));
        }
        while (fifo.count > 0)
            if (round == 0)
                fifo_pop(&fifo);
            else
                fifo_pop_last(&fifo);
        CU_ASSERT_PTR_NULL(fifo.ring);
    }
}

/* A feed accepts only the next number, so it has no gaps (PROTOCOL 10.3). */
TEST(a_feed_takes_the_next_number)
{
    struct feed feed = {0};
    struct frame frame = number(1);

    CHECK_OK(feed_push(&feed, &frame, 0));
    frame = number(3);
    CHECK_IS(feed_push(&feed, &frame, 0), -EPROTO);
    frame = number(2);
    CHECK_OK(feed_push(&feed, &frame, 0));
    CU_ASSERT_EQUAL(feed_last(&feed), 2);
    CU_ASSERT_EQUAL(feed_at(&feed, 2)->frame.sequence, 2);
    CU_ASSERT_PTR_NULL(feed_at(&feed, 3));
    CU_ASSERT_PTR_NULL(feed_at(&feed, 0));
    feed_fini(&feed);
}

/* Dropped frames are gone; the later ones keep their numbers. */
TEST(a_feed_drops_from_the_front)
{
    struct feed feed = {0};

    for (uint64_t i = 1; i <= 10; i++) {
        struct frame frame = number(i);

        CHECK_OK(feed_push(&feed, &frame, 0));
    }
    feed_drop(&feed, 4);
    CU_ASSERT_PTR_NULL(feed_at(&feed, 4));
    CU_ASSERT_EQUAL(feed_at(&feed, 5)->frame.sequence, 5);
    CU_ASSERT_EQUAL(feed_bytes(&feed, 0, 6), 2 * (FRAME_HEADER_LEN + 8));
    CU_ASSERT_EQUAL(feed_bytes(&feed, 9, 99), FRAME_HEADER_LEN + 8);
    feed_drop(&feed, 99);
    CU_ASSERT_EQUAL(feed_last(&feed), 10);
    feed_restart(&feed, 50);
    CU_ASSERT_EQUAL(feed_last(&feed), 50);
    feed_fini(&feed);
}
