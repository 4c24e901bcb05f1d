/* claim.h - a child's claim to its parent about a set of members of a stream.
 *
 * Every member of the set has every packet up to `received`. Whatever the
 * members sent before they settled `settled` was sent up this link before the
 * claim (PROTOCOL 10.1). A claim about a set never becomes false. */
#pragma once

#include "wire/fifo.h"
#include "wire/ranks.h"

/* LOSSY (PROTOCOL 10.6); all zero: nothing was lost. */
struct losing {
    uint32_t lossy;      /* 1 + the last epoch that may have lost something */
    struct ranks losers; /* the nodes that lost their parents, and set that */
};

/* Caller's storage; all zero: no members. */
struct claim {
    struct ranks members;
    bool counts;           /* of a stream of whole waves: with `counting` */
    struct ranks counting; /* members for whose packets waves wait (16.9) */
    uint64_t received;
    struct mark settled; /* its number is at most `received` */
    uint64_t read;       /* by the node itself, when it made the claim */
    struct losing loss;
    bool recoverable; /* the filters below can give their state (9.4) */
    bool replayable;  /* the downstream filters below are one to one (5.5) */
    bool drained;     /* no members, and nothing of former ones waits (10.1b) */
    char *error;      /* why a filter could not be loaded below; or NULL */
    uint32_t error_rank;
};

/* Free the content of `claim`, which then has no members. */
void claim_fini(struct claim *claim);

/* Raise `loss` to `other`, if that is as high or higher; equal ones have the
 * losers of both. Returns 0 or -ENOMEM. */
int loss_raise(struct losing *loss, const struct losing *other);

/* Pack `claim` on `stream` into a frame, whose payload is the caller's.
 * Returns 0 or -ENOMEM. */
int claim_encode(const struct claim *claim, uint32_t stream, struct frame *out);

/* Read a claim from the network. `out` is untouched on error.
 * Returns 0, -EBADMSG or -ENOMEM. */
int claim_decode(const struct frame *frame, struct claim *out);
