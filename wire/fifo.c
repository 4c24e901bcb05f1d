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
    uint32_t i;

    for (i = 0; i < fifo->count; i++)
        frame_fini(fifo_at(fifo, i));
    free(fifo->ring);
    memset(fifo, 0, sizeof(*fifo));
}

static int fifo_grow(struct fifo *fifo)
{
    uint32_t room = fifo->room ? fifo->room * 2 : ROOM_FIRST;
    struct frame *ring;
    uint32_t i;

    if (room < fifo->room)
        return -ENOMEM;
    ring = malloc(room * sizeof(*ring));
    if (!ring)
        return -ENOMEM;
    for (i = 0; i < fifo->count; i++)
        ring[i] = *fifo_at(fifo, i);
    free(fifo->ring);
    fifo->ring = ring;
    fifo->room = room;
    fifo->head = 0;
    return 0;
}

int fifo_push(struct fifo *fifo, struct frame *frame)
{
    if (fifo->count == fifo->room && fifo_grow(fifo) < 0) {
        frame_fini(frame);
        return -ENOMEM;
    }
    fifo->ring[(fifo->head + fifo->count) & (fifo->room - 1)] = *frame;
    fifo->count++;
    fifo->bytes += frame_len(frame);
    frame->payload = NULL;
    return 0;
}

struct frame *fifo_at(const struct fifo *fifo, uint32_t index)
{
    assert(index < fifo->count);
    return &fifo->ring[(fifo->head + index) & (fifo->room - 1)];
}

struct frame fifo_pop(struct fifo *fifo)
{
    struct frame frame;

    assert(fifo->count > 0);
    frame = fifo->ring[fifo->head];
    fifo->head = (fifo->head + 1) & (fifo->room - 1);
    fifo->count--;
    fifo->bytes -= frame_len(&frame);
    if (fifo->count == 0)
        fifo->head = 0; /* the same place again: it is in the cache */
    if (fifo->count == 0 && fifo->room > ROOM_KEPT) {
        free(fifo->ring);
        fifo->ring = NULL;
        fifo->room = 0;
    }
    return frame;
}
