/* motion.h - whether threads have moved since they were last looked at.
 *
 * A stack that is the same twice does not prove that its thread has stood still:
 * a loop may be at one place twice. So the kernel is asked how often the thread
 * went to sleep, and for how long it ran. Inside of a call of MPI, where a
 * thread that waits polls, neither counts, nor where it is in there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/tree/frame.h"
#include "stat/walk/kinds.h"
#include "stat/walk/names.h"

struct motion; /* opaque */

/* Make one that has seen no thread yet. Returns 0 or -ENOMEM. */
int motion_new(struct motion **out);

/* Free `motion`. NULL is fine. */
void motion_free(struct motion *motion);

/* A sample begins: threads that were not there in the one before are
 * forgotten. */
void motion_sample(struct motion *motion);

/* Note how far the threads of process `pid` have come, at most `threads_max` of
 * them. They are about to be looked at.
 *
 * stopped  whether any was stopped when they were looked at last
 *
 * Returns 0 or -ENOMEM. */
int motion_look(struct motion *motion,
                pid_t pid,
                size_t threads_max,
                bool stopped);

/* What of a stack counts, see traces_add_thread(). */
struct motion_part {
    size_t decisive;
    bool ran;
};

/* Find what of the stack of thread `tid`, whose process was last looked at,
 * counts. `frames` are as walk_process() gives them, and `kinds` and `names`
 * are those of the walker. Returns 0 or -ENOMEM. */
int motion_part(struct motion_part *out,
                struct motion *motion,
                struct kinds *kinds,
                const struct names *names,
                pid_t tid,
                const struct frame *frames,
                size_t count);
