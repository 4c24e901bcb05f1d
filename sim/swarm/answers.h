/* answers.h - the expected answers of a stream of waves only (PROTOCOL 4.3b).
 *
 * Each packet of a back-end has its rank and a serial number. Each packet that
 * the front-end takes must be the wave behind the last one, or begin an epoch,
 * and have nothing but what its contributors sent in this wave. A wave of which
 * nothing is left has no values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sim.h"

/* A packet sent. */
struct answers_sent {
    uint64_t wave;
    uint64_t value;
    bool is_early; /* of a joiner, in the first epoch in which it sends: before
                      its first marker it may be late, which is no loss */
    bool is_taken;
};

/* Caller's storage; all zero is empty. */
struct answers {
    struct answers_sent *sent;
    size_t sent_count;
    size_t sent_room;
    uint64_t wave;  /* the last one taken */
    uint64_t *ends; /* the last one taken of each epoch, if any was */
    size_t end_count;
    size_t end_room;
    uint64_t
        due; /* a lossy sync has covered what was sent in lower waves ... */
    uint64_t covered; /* ... and the last sync has, of those that lived then */
};

/* Pack packet number `serial` of `rank` for the filter "concat", or, with
 * `room` above every rank, for "sum", which then keeps the ranks apart. */
struct payload *answers_pack(uint32_t rank, uint32_t serial, uint32_t room);

/* Record a packet that its sender's machine accepted in `wave`. */
void answers_send(struct answers *answers,
                  uint64_t wave,
                  const struct frame *frame,
                  bool is_early);

/* Record what the front-end took. Returns NULL, or the error. */
const char *answers_take(struct answers *answers, const struct frame *frame);

/* A sync has returned, which covers the waves below `upto`. Check that each wave
 * that all of `living` have answered was taken, perhaps as a lost one, and if the
 * sync was not lossy, that everything that they had sent since the last lossy
 * sync was taken. Returns NULL, or the error. */
const char *answers_check(struct answers *answers,
                          const struct ranks *living,
                          uint64_t upto,
                          bool lossy);

/* Free the storage. */
void answers_fini(struct answers *answers);
