/* tally.h - the waves of a stream of whole waves at one internal node (PROTOCOL
 * 16).
 *
 * As in wave.h, packets come from children, each in a numbered wave, and a
 * wave is released when every child that counts has answered. Here a number is
 * (generation, epoch, n), each answer has a check, and a packet that comes too
 * late is dropped. The last answer of an epoch, OVER, stays and accounts for
 * its members in every later wave of the epoch (16.10).
 *
 *      child 1  [7][8][9]           wave 7: both have answered: released.
 *      child 2  [7][OVER 8]   --->  wave 8: child 1's packet, and the check of
 *                                   OVER; wave 9: the same */
#pragma once

#include "protocol/stream/wave.h"
#include "wire/packet.h"

struct tally; /* opaque */

/* The beginning of the epoch after that of `wave`. */
static inline uint64_t wave_epoch_after(uint64_t wave)
{
    return ((wave >> PACKET_WAVE_BITS) + 1) << PACKET_WAVE_BITS;
}

/* Results of tally_next(). */
enum tally_next {
    TALLY_NOTHING,
    TALLY_WAVE, /* a wave is released: the whole set */
    TALLY_OVER, /* all children have ended the epoch: number and check */
    TALLY_SKIP, /* all children have skipped to `number` */
};

/* What is released; see struct wave_set. Its credit: tally_credit(). */
struct tally_set {
    struct wave_number number;
    uint64_t check; /* the sum of the inputs' */
    bool ask;       /* an input has FRAME_ASK */
    struct wave_set set;
};

/* Make the waves of one stream. Returns 0 or -ENOMEM. */
int tally_new(struct tally **out);

/* Free `tally` and its packets. NULL is fine. */
void tally_free(struct tally *tally);

/* The child of `link`, of this rank, counts from the wave after `level`; if it
 * counts already, only its level rises. Returns 0 or -ENOMEM. */
int tally_join(struct tally *tally,
               uint32_t link,
               uint32_t rank,
               struct wave_number level);

/* Set whether the child has members, so that waves wait for it. Without members
 * it does not count until it joins again. Returns 0 or -ENOMEM. */
int tally_expect(struct tally *tally, uint32_t link, uint32_t rank, bool has);

/* Whether the child of `link` counts. */
bool tally_counts(const struct tally *tally, uint32_t link);

/* `link` has ended. Its complete waves keep their place. */
void tally_unlink(struct tally *tally, uint32_t link);

/* A packet from the child of `link`; its payload reference is taken, also on
 * error. If it is too old, or the child does not count, it is dropped.
 * `credit`: bytes to be returned for it. Returns 0 or -ENOMEM. */
int tally_put(struct tally *tally,
              uint32_t link,
              uint32_t rank,
              struct frame *frame,
              uint32_t credit);

/* Generation `generation` continues after wave `final`: drop older packets. */
void tally_enter(struct tally *tally, uint32_t generation, uint64_t final);

/* Commnode: release the next wave. Returns enum tally_next or -ENOMEM. */
int tally_next(struct tally *tally, struct tally_set *out);

/* Front-end: the check of the next wave so far. */
uint64_t tally_sum(struct tally *tally);

/* Front-end: whether every child with members has named its first wave, and has
 * answered the next wave. */
bool tally_is_answered(struct tally *tally);

/* Front-end: take the next wave, even if members have not answered. `*over`: it
 * ends the epoch. Returns 0 or -ENOMEM. */
int tally_accept(struct tally *tally, struct tally_set *out, bool *over);

/* Front-end: continue after the present epoch. */
void tally_end_epoch(struct tally *tally);

/* Front-end: no member is left, so what waits may have to wait for ever for a
 * wave before it: return the credit of all of it (PROTOCOL 16.4). */
void tally_lend(struct tally *tally);

/* Drop all packets. */
void tally_drop(struct tally *tally);

/* The number up to which all waves are over: released, or skipped by all. */
struct wave_number tally_level(const struct tally *tally);

/* Whether credit is due to any child; take the credit of `link`; the credit of
 * all links was taken. */
bool tally_owes(const struct tally *tally);
uint64_t tally_credit(struct tally *tally, uint32_t link);
void tally_paid(struct tally *tally);

/* Whether nothing can be released before a certain child has answered, and no
 * credit is due. */
bool tally_is_waiting(const struct tally *tally);

/* Credit that is still held for packets from `link`. */
uint64_t tally_held(const struct tally *tally, uint32_t link);

/* Bytes of the incomplete wave from `link`. */
uint64_t tally_parts(const struct tally *tally, uint32_t link);

/* Bytes of packets that wait; OVER does not count. */
uint64_t tally_bytes(const struct tally *tally);
