/* answers.h - the expected packets of a stream of whole waves (PROTOCOL 16) or
 * of a stream of waves only (4.3b).
 *
 * Each packet of a back-end has its rank and a serial number, so each packet
 * that the front-end takes names those that it is made of. It must have nothing
 * but what its contributors sent in its wave.
 *
 * On a stream of whole waves the waves come in order. Only the packets of
 * members that were given up may be missing, and from the first wave without
 * such a member on, all of its packets are. On a stream of waves only, each
 * wave must be the one behind the last, or begin an epoch. A wave of which
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

/* Caller's storage; all zero, but for `exact` and `room`, is empty. */
struct answers {
    bool exact;    /* or of waves only */
    uint32_t room; /* above every rank, if the filter is a sum, which then keeps
                      the ranks apart; else 0 */
    struct answers_sent *sent;
    size_t sent_count;
    size_t sent_room;
    uint64_t wave; /* the last one taken */
    uint64_t
        *ends; /* waves only: the last one taken of each epoch, if any ... */
    size_t end_count;
    size_t end_room;
    uint64_t
        due; /* a lossy sync has covered what was sent in lower waves ... */
    uint64_t covered; /* ... and the last sync has, of those that lived then */
    bool jumps;       /* waves only: the next one may be any ... */
    bool lost;        /* ... and waves before the next sync may be lost */
    uint32_t *gone;   /* exact: ranks given up, in order ... */
    size_t gone_count;
    size_t gone_room;
    size_t settled;      /* ... this many are in no later wave */
    struct ranks parted; /* ranks that left with everything accepted */
};

/* Pack packet number `serial` of `rank`; `weight` bytes of ballast are added on
 * a stream of whole waves whose filter is no sum. */
struct payload *answers_pack(const struct answers *answers,
                             uint32_t rank,
                             uint32_t serial,
                             uint32_t weight);

/* Record a packet that its sender's machine accepted in `wave`. Returns NULL,
 * or the error. */
const char *answers_send(struct answers *answers,
                         uint64_t wave,
                         const struct frame *frame,
                         bool is_early);

/* Record what the front-end took. Returns NULL, or the error. */
const char *answers_take(struct answers *answers, const struct frame *frame);

/* Record that `rank` was given up. */
void answers_lose(struct answers *answers, uint32_t rank);

/* Record that `rank` has left, and that all waves in which it has sent are
 * accepted: from now on none of its packets may be missing. */
void answers_part(struct answers *answers, uint32_t rank);

/* Whether packet number `serial` of `rank` was taken. */
bool answers_has(const struct answers *answers, uint32_t rank, uint32_t serial);

/* A sync has returned, which covers the waves below `upto`. Check that on a
 * stream of whole waves each packet of `living`, or of one that has left, was
 * taken. On a stream of waves only, check that each wave that all of `living`
 * have answered was taken, perhaps as a lost one, and if the sync was not
 * lossy, that everything that they had sent since the last lossy sync was
 * taken. Returns NULL, or the error. */
const char *answers_check(struct answers *answers,
                          const struct ranks *living,
                          uint64_t upto,
                          bool lossy);

/* Another front-end takes over. A stream of waves only may go on with any wave
 * (PROTOCOL 23.5, 23.10). */
void answers_taken_over(struct answers *answers);

/* Free the storage. */
void answers_fini(struct answers *answers);
