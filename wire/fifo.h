/* fifo.h - frames that wait, in order, and what their owner notes of each.
 *
 * A ring that grows by doubling and gives its memory back when it is empty
 * and large, so that a burst does not stay for life. */
#pragma once

#include "wire/frame.h"

/* The marker of a sync: its number on its stream, and the epoch it begins. */
struct mark {
    uint64_t number;
    uint32_t epoch;
};

/* What has one place in a queue: a frame; or, on the way up, the point at which
 * a claim is to say that `settled` is settled. */
struct queued {
    struct frame frame; /* of type 0: there is none, but `settled` */
    union {
        struct {
            uint32_t credit; /* bytes that are still to be returned for it */
            uint32_t run;    /* waves behind its own that it answers, too */
        };
        struct mark settled;
    };
};

/* Caller's storage; all zero is the empty queue. */
struct fifo {
    struct queued *ring;
    uint32_t room; /* a power of two, or 0 */
    uint32_t head;
    uint32_t count;
    uint64_t bytes; /* frame_len() of all */
};

/* Free all frames that wait, and the ring. */
void fifo_fini(struct fifo *fifo);

/* Append `frame`, whose payload reference is taken, also on error. `credit`:
 * bytes to be returned for it. Returns 0 or -ENOMEM. */
int fifo_push(struct fifo *fifo, struct frame *frame, uint32_t credit);

/* Append a place that has no frame. Returns 0 or -ENOMEM. */
int fifo_push_settled(struct fifo *fifo, struct mark settled);

/* The oldest frame, or NULL; borrowed until the next push or pop. */
static inline struct frame *fifo_peek(const struct fifo *fifo)
{
    return fifo->count ? &fifo->ring[fifo->head].frame : NULL;
}

/* Number `index` from the oldest; it must be there. Borrowed as above. */
struct queued *fifo_at(const struct fifo *fifo, uint32_t index);

/* Take the oldest, which must be there; its frame is the caller's. */
struct queued fifo_pop(struct fifo *fifo);
