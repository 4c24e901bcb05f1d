/* feed.c - one stream's packets on their way down, through one node. */
#include "protocol/stream/feed.h"

#include <errno.h>
#include <string.h>

#include "wire/limits.h"

void feed_fini(struct feed *feed)
{
    fifo_fini(&feed->store);
    memset(feed, 0, sizeof(*feed));
}

uint64_t feed_last(const struct feed *feed)
{
    return feed->base + feed->store.count;
}

void feed_restart(struct feed *feed, uint64_t number)
{
    fifo_fini(&feed->store);
    feed->base = number;
    feed->holes = 0;
}

int feed_push(struct feed *feed, struct frame *frame, uint32_t credit)
{
    if (frame->number != feed_last(feed) + 1) {
        frame_fini(frame);
        return -EPROTO;
    }
    feed->holes += frame->type == FRAME_SKIP;
    return fifo_push(&feed->store, frame, credit);
}

bool feed_skips(const struct feed *feed, uint64_t from)
{
    uint64_t number = from < feed->base ? feed->base : from;
    const struct queued *stored;

    if (feed->holes == 0)
        return false;
    while ((stored = feed_at(feed, ++number)))
        if (stored->frame.type == FRAME_SKIP)
            return true;
    return false;
}

struct queued *feed_at(const struct feed *feed, uint64_t number)
{
    if (number <= feed->base || number > feed_last(feed))
        return NULL;
    return fifo_at(&feed->store, (uint32_t)(number - feed->base - 1));
}

void feed_drop(struct feed *feed, uint64_t number)
{
    while (feed->base < number && feed->store.count > 0) {
        struct frame frame = fifo_pop(&feed->store).frame;

        feed->base++;
        feed->holes -= frame.type == FRAME_SKIP;
        frame_fini(&frame);
    }
}

uint64_t feed_bytes(const struct feed *feed, uint64_t from, uint64_t upto)
{
    uint64_t bytes = 0, number;

    if (from < feed->base)
        from = feed->base;
    for (number = from + 1; number <= upto; number++) {
        const struct queued *stored = feed_at(feed, number);

        if (!stored)
            break;
        bytes += frame_len(&stored->frame);
        if (stored->frame.type == FRAME_SKIP &&
            (stored->frame.flags & FRAME_ASK))
            bytes += CLAIM_BYTES;
    }
    return bytes;
}
