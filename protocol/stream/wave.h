/* wave.h - one stream's waves at one node (PROTOCOL 4).
 *
 * Packets come from children, each in a numbered wave; a vector of packets goes
 * to the filter when every child that counts has answered. A child counts from
 * a given wave on; a number received from it answers all lower ones. Children
 * are known by the small number of their link.
 *
 *      child 1  [7][8][9]          wave 7: both have answered:
 *      child 2  [7]          --->  released; 8 waits for child 2
 *
 * Numbers are (epoch, wave) as in packet.h and compare as one number. */
#pragma once

#include <coppice/coppice.h>

#include "wire/frame.h"

/* The link of a packet whose sender has left. */
#define WAVE_NO_LINK UINT32_MAX

struct wave; /* opaque */

/* The number of a wave; compared as one number. */
struct wave_number {
    uint32_t generation; /* of a stream of whole waves (PROTOCOL 16.2) */
    uint64_t wave;       /* epoch and n, as in packet.h */
};

static inline int number_compare(struct wave_number a, struct wave_number b)
{
    if (a.generation != b.generation)
        return a.generation < b.generation ? -1 : 1;
    return a.wave < b.wave ? -1 : a.wave > b.wave;
}

/* Packets that are released together. The arrays belong to the wave and are
 * valid until the next wave_take(); the frames are the caller's. */
struct wave_set {
    uint64_t sequence;     /* of the wave; 0: against the stream's direction */
    uint32_t contributors; /* back-ends in it */
    bool late;             /* its wave was released: filtered alone (4.5) */
    bool late_lane;        /* it arrived LATE: its credit is of that lane */
    bool newcomer;         /* late only because its sender has just joined */
    bool compensating;     /* of a compensation (9.2) */
    struct frame *frames;  /* those with values, in order of the children's
                              ranks; empty answers are left out */
    uint32_t *inlets;      /* the rank that sent each frame */
    uint32_t *links;       /* its link then, or WAVE_NO_LINK; for a call of a
                              stream of totals the key of its slot (17.2) */
    uint32_t *credits;     /* and the bytes to be returned for it */
    size_t count;
};

/* Make the waves of one stream. Returns 0 or -ENOMEM. */
int wave_new(struct wave **out, enum cop_sync sync, uint32_t timeout_ms);

/* Free `wave` and its packets. NULL is fine. */
void wave_free(struct wave *wave);

/* The child of `link`, of this rank, counts from the wave after `level`; its
 * packets of earlier waves are late. If it counts already, only its level
 * rises. Returns 0 or -ENOMEM. */
int wave_join(struct wave *wave, uint32_t link, uint32_t rank, uint64_t level);

/* The child has answered every wave up to `level`. */
void wave_answer(struct wave *wave, uint32_t link, uint64_t level);

/* The child no longer counts. Its packets keep their place; the link's number
 * may be used for another child (PROTOCOL 4.4). */
void wave_leave(struct wave *wave, uint32_t link);

/* A packet from the child of `link`, of this rank; its payload reference is
 * taken, also on error. `credit`: bytes to be returned for it. Returns 0 or
 * -ENOMEM. */
int wave_put(struct wave *wave,
             uint32_t link,
             uint32_t rank,
             struct frame *frame,
             uint32_t credit,
             uint64_t now_ms);

/* Release the next set, if there is one. `hurry`: do not wait for a time-out (a
 * sync is pending). Returns 1, 0 if there is none, or -ENOMEM. */
int wave_take(struct wave *wave,
              uint64_t now_ms,
              bool hurry,
              struct wave_set *out);

/* The number up to which all waves are over. It rises without a release when
 * every child that counts has skipped: then the node sends RESUME. */
uint64_t wave_level(const struct wave *wave);

/* The last wave of an epoch that every child which counts has ended, if one of
 * them has named it and nothing of it has come. 0: none. */
uint64_t wave_ended(const struct wave *wave);

/* No packet of a wave up to `level` is on time any more. */
void wave_skip(struct wave *wave, uint64_t level);

/* Whether any child counts. */
bool wave_is_counted(const struct wave *wave);

/* Whether a packet of a wave up to `level` waits. */
bool wave_holds(const struct wave *wave, uint64_t level);

/* When wave_take() is due again; UINT64_MAX: not before the next packet. */
uint64_t wave_deadline_ms(const struct wave *wave);

/* Whether wave_lend() may return credit: not while each wave of each child was
 * one packet. */
bool wave_has_parts(const struct wave *wave);

/* Take the credit of the packets from the child of `link` that belong to its
 * next wave, if that is not complete yet. It is returned while they wait: a
 * wave larger than the window would never become complete (PROTOCOL 3.4). */
uint64_t wave_lend(struct wave *wave, uint32_t link);

/* Bytes of the incomplete wave from `link`. */
uint64_t wave_parts(const struct wave *wave, uint32_t link);

/* `link` has ended: its packets that are filtered alone no longer belong to a
 * link. */
void wave_unlink(struct wave *wave, uint32_t link);

/* Mark the waiting packets from `link` as FRAME_VOID: they keep their places,
 * but must not be used. */
void wave_void(struct wave *wave, uint32_t link);

/* The credit due for the waiting packets from `link`. */
uint64_t wave_owed(const struct wave *wave, uint32_t link);

/* Whether a packet waits that is filtered alone. */
bool wave_has_alone(const struct wave *wave);

/* Bytes of waiting packets. */
uint64_t wave_bytes(const struct wave *wave);
