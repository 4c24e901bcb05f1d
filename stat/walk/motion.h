/* motion.h - whether threads have moved since the previous sample.
 *
 * Two equal stacks do not prove that a thread stood still: a loop may be at the
 * same place twice. So the kernel is asked how often the thread went to sleep,
 * and how long it ran. Inside a call of MPI, where a waiting thread polls,
 * neither counts, nor does the place inside the call. A thread that wakes up,
 * and sleeps at the same place again in a call with a time-out, polls too, unless
 * it uses much time. If it is met between two such sleeps, it is still in the loop
 * in which it polls (loop.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/tree/frame.h"
#include "stat/walk/evidence.h"
#include "stat/walk/kinds.h"
#include "stat/walk/names.h"

struct motion; /* opaque */

/* Make an empty one. Returns 0 or -ENOMEM. */
int motion_new(struct motion **out);

/* Free `motion`. NULL is fine. */
void motion_free(struct motion *motion);

/* Begin a sample: forget threads that were not in the previous one. */
void motion_sample(struct motion *motion);

/* Note the activity of the threads of process `pid`, at most `threads_max` of
 * them, just before they are walked.
 *
 * stopped  whether any of them was stopped in the previous walk
 *
 * Returns 0 or -ENOMEM. */
int motion_look(struct motion *motion,
                pid_t pid,
                size_t threads_max,
                bool stopped);

/* Find what the stack of thread `tid` says about progress. The last
 * motion_look() was for its process. `frames` are as walk_process() gives them,
 * and `kinds` and `names` are those of the walker. What `out` borrows is valid
 * until the next motion_sample(). Returns 0 or -ENOMEM. */
int motion_evidence(struct evidence *out,
                    struct motion *motion,
                    struct kinds *kinds,
                    struct names *names,
                    pid_t tid,
                    const struct frame *frames,
                    size_t count);
