/* stacks.h - the addresses on the stacks of one process, until they are placed.
 * Taken while it is stopped, passed on when it runs again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/walk/kinds.h"
#include "stat/walk/names.h"
#include "stat/walk/stop.h"
#include "stat/walk/unwind.h"
#include "stat/walk/walk.h"

struct stacks; /* opaque */

/* Make a collection for process `pid`. Returns 0 or -ENOMEM. */
int stacks_new(struct stacks **out,
               pid_t pid,
               const struct walk_options *options);

/* Free `stacks`. NULL is fine. */
void stacks_free(struct stacks *stacks);

/* Before it is stopped: note which threads run, and the state of the others
 * where that is wanted.
 * Returns 0 or -ENOMEM. */
int stacks_look(struct stacks *stacks);

/* Take the addresses of all threads that `stop` holds or lets be, of a session
 * to which `unwind` is attached; hold those that it lets be if that does not
 * work otherwise; no more from `deadline_ns` of CLOCK_MONOTONIC on.
 * Returns 0 or a negative errno. */
int stacks_take(struct stacks *stacks,
                struct stop *stop,
                const struct modules *modules,
                struct unwind *unwind,
                uint64_t deadline_ns);

/* The same of a core file. Returns 0, -EIO if its threads cannot be read, or
 * -ENOMEM. */
int stacks_take_core(struct stacks *stacks, const struct modules *modules);

/* Place the frames, and call `fn` for each stack; what stands still at most
 * threads is asked of the kernel now. `*passed` becomes how many there were.
 * Returns 0 or what `fn` did. */
int stacks_pass(struct stacks *stacks,
                struct names *names,
                struct kinds *kinds,
                struct modules *modules,
                size_t *passed,
                walk_fn fn,
                void *arg);
