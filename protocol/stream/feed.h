/* feed.h - one stream's packets on their way down, through one node.
 *
 * A store of numbered frames with one cursor per child: frame cursor + 1 is
 * sent next, once it is stored (PROTOCOL 10.4). The store is queue, retention
 * and replay in one: a frame leaves it when it is stable, or, on a stream that
 * is not replayable, when it was sent to every child.
 *
 *      base            stable     cursor of child 2     cursor of child 1
 *        |               |               |                      |
 *       [.][.][.][.][.][.][7][8][9][10][11][12][13][14][15][16][17]
 */
#pragma once

#include <stdbool.h>

#include "wire/fifo.h"

/* Caller's storage; all zero: empty, and the next number is 1. */
struct feed {
    struct fifo store; /* numbers base + 1, base + 2, ... */
    uint64_t base;
    uint32_t holes;  /* numbers without a packet (PROTOCOL 10.7) */
    uint64_t stable; /* PROTOCOL 10.2 */
};

/* Free the stored frames. */
void feed_fini(struct feed *feed);

/* The last number that was ever stored: the node's position (PROTOCOL 10.3), as
 * feed_push() accepts only the next number. */
uint64_t feed_last(const struct feed *feed);

/* Begin again after `number`, with nothing stored. */
void feed_restart(struct feed *feed, uint64_t number);

/* Append the frame numbered feed_last() + 1; its payload reference is taken,
 * also on error. `credit`: as in fifo_push(). Returns 0, -EPROTO for another
 * number, or -ENOMEM. */
int feed_push(struct feed *feed, struct frame *frame, uint32_t credit);

/* Whether a number after `from` is one without a packet (PROTOCOL 10.7). */
bool feed_skips(const struct feed *feed, uint64_t from);

/* Frame `number`, or NULL if it is not here. Borrowed until the next change. */
struct queued *feed_at(const struct feed *feed, uint64_t number);

/* Drop the frames up to `number`. */
void feed_drop(struct feed *feed, uint64_t number);

/* Bytes of the stored frames after `from` up to `upto`. */
uint64_t feed_bytes(const struct feed *feed, uint64_t from, uint64_t upto);
