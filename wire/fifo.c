/* fifo.c - queues of frames. */
#include "wire/fifo.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 8

/* An empty ring with more room than this frees its memory. */
#define ROOM_KEPT 256

void fifo_fini(struct fifo *fifo)
{
    for (uint32_t i = 0; i < fifo->count; i++)
        frame_fini(&fifo_at(fifo, i)->frame);
    free(fifo->ring);
    memset(fifo, 0, sizeof(*fifo));
}

static int fifo_grow(struct fifo *fifo)
{
    uint32_t room = fifo->room ? fifo->room * 2 : ROOM_FIRST;
    struct queued *ring;

    if (room < fifo->room)
        return -ENOMEM;
    ring = malloc(room * sizeof(*ring));
    if (!ring)
        return -ENOMEM;
    for (uint32_t i = 0; i < fifo->count; i++)
        ring[i] = *fifo_at(fifo, i);
    free(fifo->ring);
    fifo->ring = ring;
    fifo->room = room;
    fifo->head = 0;
    return 0;
}

/* A new last element; NULL: out of memory. */
static inline struct queued *fifo_place(struct fifo *fifo)
{
    if (fifo->count == fifo->room && fifo_grow(fifo) < 0)
        return NULL;
    return &fifo->ring[(fifo->head + fifo->count++) & (fifo->room - 1)];
}

int fifo_push(struct fifo *fifo, struct frame *frame, uint32_t credit)
{
    struct queued *last = fifo_place(fifo);

    if (!last) {
        frame_fini(frame);
        return -ENOMEM;
    }
    last->frame = *frame;
    last->credit = credit;
    last->run = 0;
    fifo->bytes += frame_len(frame);
    frame->payload = NULL;
    return 0;
}

int fifo_push_settled(struct fifo *fifo, struct mark settled)
{
    struct queued *last = fifo_place(fifo);

    if (!last)
        return -ENOMEM;
    *last = (struct queued){.settled = settled};
    fifo->bytes += frame_len(&last->frame);
    return 0;
}

/* The ring is empty and large: free it. */
static void give_back(struct fifo *fifo)
{
    free(fifo->ring);
    fifo->ring = NULL;
    fifo->room = 0;
}

struct queued fifo_pop(struct fifo *fifo)
{
    const struct queued *at = &fifo->ring[fifo->head];
    struct queued last;

    assert(fifo->count > 0);
    fifo->bytes -= frame_len(&at->frame);
    fifo->head = (fifo->head + 1) & (fifo->room - 1);
    if (--fifo->count > 0)
        return *at;
    fifo->head = 0; /* reuse the first place, which is in the cache */
    if (fifo->room <= ROOM_KEPT)
        return *at;
    last = *at;
    give_back(fifo);
    return last;
}

struct queued fifo_pop_last(struct fifo *fifo)
{
    struct queued last = *fifo_at(fifo, fifo->count - 1);

    fifo->bytes -= frame_len(&last.frame);
    fifo->count--;
    if (fifo->count == 0 && fifo->room > ROOM_KEPT)
        give_back(fifo);
    return last;
}
