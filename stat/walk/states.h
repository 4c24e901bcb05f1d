/* states.h - what the threads of a process did before it was stopped. */
#pragma once

#include <sys/types.h>

#include "stat/walk/walk.h"

struct states; /* opaque */

/* Note which threads of `pid` run, and the state of the others if the options
 * ask for it. Returns 0 or -ENOMEM; free `*out` even then. */
int states_look(struct states **out,
                pid_t pid,
                const struct walk_options *options);

/* Free `states`. NULL is fine. */
void states_free(struct states *states);

/* The note on thread `tid`, such as "[running]"; NULL: there is none. Borrowed
 * from `states`, which may be NULL. */
const char *states_note(const struct states *states, pid_t tid);
