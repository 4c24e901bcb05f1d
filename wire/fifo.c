/* fifo.c - frames that wait, in order. */
#include "wire/fifo.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 8

/* An empty ring above this gives its memory back. */
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

static int fifo_append(struct fifo *fifo, struct queued queued)
{
    if (fifo->count == fifo->room && fifo_grow(fifo) < 0) {
        frame_fini(&queued.frame);
        return -ENOMEM;
    }
    fifo->ring[(fifo->head + fifo->count) & (fifo->room - 1)] = queued;
    fifo->count++;
    fifo->bytes += frame_len(&queued.frame);
    return 0;
}

int fifo_push(struct fifo *fifo, struct frame *frame, uint32_t credit)
{
    struct queued queued = {.frame = *frame, .credit = credit};

    frame->payload = NULL;
    return fifo_append(fifo, queued);
}

int fifo_push_settled(struct fifo *fifo, struct mark settled)
{
    return fifo_append(fifo, (struct queued){.settled = settled});
}

struct queued *fifo_at(const struct fifo *fifo, uint32_t index)
{
    assert(index < fifo->count);
    return &fifo->ring[(fifo->head + index) & (fifo->room - 1)];
}

struct queued fifo_pop(struct fifo *fifo)
{
    struct queued queued;

    assert(fifo->count > 0);
    queued = fifo->ring[fifo->head];
    fifo->head = (fifo->head + 1) & (fifo->room - 1);
    fifo->count--;
    fifo->bytes -= frame_len(&queued.frame);
    if (fifo->count == 0)
        fifo->head = 0; /* the same place again: it is in the cache */
    if (fifo->count == 0 && fifo->room > ROOM_KEPT) {
        free(fifo->ring);
        fifo->ring = NULL;
        fifo->room = 0;
    }
    return queued;
}
