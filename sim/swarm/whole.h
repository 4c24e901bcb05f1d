/* whole.h - what should arrive on an exact stream (PROTOCOL 16), from the truth.
 *
 * Each packet that a back-end sends has a value of its own, a 64-bit hash. The
 * front-end's sum of a wave must be that of all that was sent in this wave;
 * only of members that were given up may something lack, and from the first
 * wave without one of them on all that it sent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/ranks.h"

/* A packet that was sent. */
struct whole_sent {
    uint32_t rank;
    uint64_t wave;
    uint64_t value;
};

/* Caller's storage; all zero is empty. */
struct whole {
    struct whole_sent *sent;
    size_t sent_count;
    size_t sent_room;
    uint64_t *waves; /* that were taken, in order */
    size_t wave_count;
    size_t wave_room;
    uint32_t *gone; /* given up, in order ... */
    size_t gone_count;
    size_t gone_room;
    size_t settled; /* ... so many of them are in no later wave */
    uint64_t sum;   /* of the last wave, of which more may come */
};

/* The value of what `rank` sends as its packet number `serial`. */
uint64_t whole_value(uint32_t rank, uint32_t serial);

/* `rank` has sent `value` in `wave`. Returns NULL, or what is wrong. */
const char *whole_send(struct whole *whole,
                       uint32_t rank,
                       uint64_t wave,
                       uint64_t value);

/* The front-end took a packet of `wave`, with that sum of values. Returns NULL,
 * or what is wrong. */
const char *whole_take(struct whole *whole, uint64_t wave, uint64_t sum);

/* `rank` was given up. */
void whole_lose(struct whole *whole, uint32_t rank);

/* All waves below `upto` have been taken: whether each in which a member of
 * `living` has sent is there. Returns NULL, or what is wrong. */
const char *whole_check(struct whole *whole,
                        const struct ranks *living,
                        uint64_t upto);

/* Free the storage. */
void whole_fini(struct whole *whole);
