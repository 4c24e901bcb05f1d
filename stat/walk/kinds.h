/* kinds.h - what functions are, as far as waiting goes, by address. */
#pragma once

#include "stat/tree/frame.h"
#include "stat/walk/names.h"

enum kind {
    KIND_PROGRAM,
    KIND_MPI,    /* a call of MPI */
    KIND_THREAD, /* one of pthread_ */
    KIND_SPIN,   /* one of OpenMP that spins for a lock, or at a barrier */
    KIND_START,  /* where the C library starts threads; a note */
    KIND_OWN,    /* where a runtime's own thread begins */
};

struct kinds; /* what was found so far; opaque */

/* Make one that knows nothing yet. Returns 0 or -ENOMEM. */
int kinds_new(struct kinds **out);

/* Free `kinds`. NULL is fine. */
void kinds_free(struct kinds *kinds);

/* Find what the function of `frame` is, which has no name yet, is a note, or one
 * of Python's.
 *
 * symbol  becomes its symbol, which lives as long as `kinds`; "" if it has none
 *
 * Returns 0 or -ENOMEM. */
int kinds_find(enum kind *out,
               const char **symbol,
               struct kinds *kinds,
               const struct names *names,
               const struct frame *frame);
