/* stacks.h - the addresses on the stacks of one process. They are taken while
 * it is stopped, and become frames when it runs again. */
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

/* Before the process is stopped, note which threads run, and the state of the
 * others if the options ask for it. Returns 0 or -ENOMEM. */
int stacks_look(struct stacks *stacks);

/* Take the addresses on the stacks of all threads that `stop` holds or spares,
 * in a session to which `unwind` is attached. Hold a spared thread if its stack
 * cannot be taken otherwise. Give up at `deadline_ns` of CLOCK_MONOTONIC.
 * Returns 0 or a negative errno. */
int stacks_take(struct stacks *stacks,
                struct stop *stop,
                const struct modules *modules,
                struct unwind *unwind,
                uint64_t deadline_ns);

/* Take the same from a core file. Returns 0, -EIO if its threads cannot be
 * read, or -ENOMEM. */
int stacks_take_core(struct stacks *stacks, const struct modules *modules);

/* Turn the addresses into frames, and call `fn` for each stack. Names of
 * threads, and the state of those that did not stop, are read now. `*passed`
 * becomes how many stacks there were. Returns 0 or what `fn` returned. */
int stacks_pass(struct stacks *stacks,
                struct names *names,
                struct kinds *kinds,
                struct modules *modules,
                size_t *passed,
                walk_fn fn,
                void *arg);
