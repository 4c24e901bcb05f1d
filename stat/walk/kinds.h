/* kinds.h - kinds of functions, as far as waiting is concerned, by address. */
#pragma once

#include "stat/tree/frame.h"
#include "stat/walk/names.h"

enum kind {
    KIND_PROGRAM,
    KIND_MPI,    /* a call of MPI */
    KIND_THREAD, /* a pthread_ function */
    KIND_SPIN,   /* a function of OpenMP that spins for a lock or barrier */
    KIND_START,  /* where the C library starts threads, or a note */
    KIND_OWN,    /* the first function of a runtime's own thread */
};

struct kinds; /* the kinds found so far; opaque */

/* Make an empty collection. Returns 0 or -ENOMEM. */
int kinds_new(struct kinds **out);

/* Free `kinds`. NULL is fine. */
void kinds_free(struct kinds *kinds);

/* Find the kind of the function of `frame`, a frame without a name yet, a note,
 * or a Python frame.
 *
 * symbol  becomes its symbol, which lives as long as `kinds`; "" if it has none
 *
 * Returns 0 or -ENOMEM. */
int kinds_find(enum kind *out,
               const char **symbol,
               struct kinds *kinds,
               const struct names *names,
               const struct frame *frame);
