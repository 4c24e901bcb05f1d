/* whole.h - the expected packets of an exact stream (PROTOCOL 16).
 *
 * Each packet of a back-end has a unique value, a 64-bit hash. The front-end's
 * sum of a wave must equal the sum of all values sent in this wave. Only the
 * values of members that were given up may be missing, and from the first wave
 * without such a member on, all of its values are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ranks.h"

/* A packet sent. */
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
    uint64_t *waves; /* taken waves, in order */
    size_t wave_count;
    size_t wave_room;
    uint32_t *gone; /* ranks given up, in order ... */
    size_t gone_count;
    size_t gone_room;
    size_t settled;      /* ... this many are in no later wave */
    struct ranks parted; /* ranks that left with everything accepted */
    uint64_t sum;        /* of the last wave, which may be incomplete */
};

/* The value in packet number `serial` of `rank`. */
uint64_t whole_value(uint32_t rank, uint32_t serial);

/* Record that `rank` has sent `value` in `wave`. Returns NULL, or the error. */
const char *whole_send(struct whole *whole,
                       uint32_t rank,
                       uint64_t wave,
                       uint64_t value);

/* Record that the front-end took a packet of `wave` with that sum. Returns
 * NULL, or the error. */
const char *whole_take(struct whole *whole, uint64_t wave, uint64_t sum);

/* Record that `rank` was given up. */
void whole_lose(struct whole *whole, uint32_t rank);

/* Record that `rank` has left, and that all waves in which it has sent are
 * accepted: from now on none of its values may be missing. */
void whole_part(struct whole *whole, uint32_t rank);

/* All waves below `upto` have been taken: check that each wave in which a
 * member of `living` has sent, or one that has left, is among them. Returns NULL, or the error. */
const char *whole_check(struct whole *whole,
                        const struct ranks *living,
                        uint64_t upto);

/* Whether packet number `serial` of `rank` was sent, and its wave taken. */
bool whole_has(const struct whole *whole, uint32_t rank, uint32_t serial);

/* Free the storage. */
void whole_fini(struct whole *whole);
