/* fifo.h - queues of frames, with notes of their owner on each frame.
 *
 * A ring that doubles when it is full, and frees its memory when it is empty
 * and large, so that a burst does not hold memory for ever. */
#pragma once

#include <assert.h>

#include "wire/frame.h"

/* The marker of a sync: its number on its stream, and the epoch it begins. */
struct mark {
    uint64_t number;
    uint32_t epoch;
};

/* One element of a queue: a frame, or, in a queue to the parent, the place
 * where a claim of `settled` must be sent. */
struct queued {
    struct frame frame; /* of type 0: no frame, but `settled` */
    union {
        struct {
            uint32_t credit; /* bytes that are still to be returned for it */
            union {
                uint32_t run; /* further waves that it answers, after its own */
                uint32_t link; /* filtered alone: the sender's */
            };
            union {
                uint64_t since_ms; /* when it came, for COP_TIME_OUT */
                struct {
                    uint32_t rank; /* filtered alone: the sender's */
                    bool late;     /* filtered alone: it arrived LATE */
                };
            };
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

/* Free all queued frames, and the ring. */
void fifo_fini(struct fifo *fifo);

/* Append `frame`, whose payload reference is taken, also on error. `credit`:
 * bytes to be returned for it. Returns 0 or -ENOMEM. */
int fifo_push(struct fifo *fifo, struct frame *frame, uint32_t credit);

/* Append `settled`, without a frame. Returns 0 or -ENOMEM. */
int fifo_push_settled(struct fifo *fifo, struct mark settled);

/* The oldest frame, or NULL; borrowed until the next push or pop. */
static inline struct frame *fifo_peek(const struct fifo *fifo)
{
    return fifo->count ? &fifo->ring[fifo->head].frame : NULL;
}

/* Element `index`, from the oldest; it must exist. Borrowed as above. */
static inline struct queued *fifo_at(const struct fifo *fifo, uint32_t index)
{
    assert(index < fifo->count);
    return &fifo->ring[(fifo->head + index) & (fifo->room - 1)];
}

/* Remove the oldest element, which must exist; its frame is the caller's. */
struct queued fifo_pop(struct fifo *fifo);

/* Likewise the newest. */
struct queued fifo_pop_last(struct fifo *fifo);
