/* evidence.h - what one look at a thread says about the progress of its task. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stat/tree/frame.h"

/* How much a thread says about its task. Only the threads of the highest weight
 * in a task decide whether it moves. */
enum weight {
    WEIGHT_OWN,     /* a runtime has started it for itself */
    WEIGHT_NATIVE,  /* it has no Python frames */
    WEIGHT_LIBRARY, /* it has Python frames, all of libraries */
    WEIGHT_PROGRAM, /* it has Python frames of the program's own files */
};

struct evidence {
    size_t decisive; /* how many frames, from the outermost on, are its place:
                        the others, such as the inside of a call of MPI, may
                        differ each time */
    bool ran;        /* since the previous sample: it has moved, though it may
                        be at the same place again */
    bool polled;     /* it woke up, but sleeps in a call with a time-out: at the
                        same place again, it has not moved */
    enum weight weight;
    /* It polls, and was met outside of its call: its place is this stack of an
     * earlier sample; borrowed. NULL: it is where it is. */
    const struct frame *frames;
    size_t count;
};
