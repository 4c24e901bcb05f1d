/* loop.h - the loop in which a thread polls.
 *
 * A thread that sleeps for a time again and again is met outside of that call at
 * times: elsewhere in the function that has called it, or below that function. As
 * long as it uses almost no processor time, and its callers are the same, it is
 * still in its loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/tree/frame.h"
#include "stat/walk/kinds.h"
#include "stat/walk/names.h"

/* Where one thread is. All zero: not known. */
struct loop {
    struct frame *frames; /* the stack when it was first seen there; owned */
    size_t count;
    size_t outside; /* how many of them are outside the call */
    uint64_t call; /* a hash of those in a sleep; 0: it was not seen to sleep */
    uint64_t leaf; /* a hash of the innermost frame then */
    size_t depth;  /* how many were outside the call then */
};

/* Forget where the thread is. */
void loop_fini(struct loop *loop);

/* Note where the thread is now. Returns 1 if it is still in its loop, or else 0 or
 * -ENOMEM; then it is where `frames` say.
 *
 * all      how many frames there are; those from `count` on are notes
 * outside  how many of the frames are outside the call
 * sleeps   it sleeps for a short time, in the call
 * idle     it has used almost no processor time since */
int loop_follow(struct loop *loop,
                struct kinds *kinds,
                const struct names *names,
                const struct frame *frames,
                size_t all,
                size_t count,
                size_t outside,
                bool sleeps,
                bool idle);
