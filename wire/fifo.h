/* fifo.h - frames that wait, in order.
 *
 * A ring that grows by doubling and gives its memory back when it is empty
 * and large, so that a burst does not stay for life. */
#ifndef WIRE_FIFO_H
#define WIRE_FIFO_H

#include "wire/frame.h"

/* Caller's storage; all zero is the empty queue. */
struct fifo {
    struct frame *ring;
    uint32_t room; /* a power of two, or 0 */
    uint32_t head;
    uint32_t count;
    uint64_t bytes; /* frame_len() of all */
};

/* Free all frames that wait, and the ring. */
void fifo_fini(struct fifo *fifo);

/* Append `frame`, whose payload reference is taken, also on error.
 * Returns 0 or -ENOMEM. */
int fifo_push(struct fifo *fifo, struct frame *frame);

/* The oldest frame, or NULL; borrowed until the next push or pop. */
static inline struct frame *fifo_peek(const struct fifo *fifo)
{
    return fifo->count ? &fifo->ring[fifo->head] : NULL;
}

/* Number `index` from the oldest; it must be there. Borrowed as above. */
struct frame *fifo_at(const struct fifo *fifo, uint32_t index);

/* Take the oldest frame, which must be there; it is the caller's. */
struct frame fifo_pop(struct fifo *fifo);

#endif
