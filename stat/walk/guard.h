/* guard.h - who ends a daemon that is stopped while it holds a process.
 *
 * What a daemon holds goes on when the daemon dies: the kernel sees to that.
 * But one that is itself stopped, by SIGSTOP or a terminal's ^Z, holds it for
 * as long as that lasts. So a second process, in a session of its own, ends the
 * daemon when it holds a process for far too long. */
#pragma once

#include <stdint.h>

/* So much longer than allowed a process may be held: a machine that is short
 * of processor time is no reason to lose a daemon. */
#define GUARD_GRACE_MS 2000

struct guard; /* opaque */

/* Start the guard of this process, which ends with the thread that calls.
 * Returns 0 or a negative errno. */
int guard_new(struct guard **out);

/* End it. NULL is fine. */
void guard_free(struct guard *guard);

/* From now on processes are held, now and then; guard_idle() ends it. */
void guard_watch(struct guard *guard);
void guard_idle(struct guard *guard);

/* A process is held from now on, and is to be let go within `max_ms`. Costs no
 * system call. NULL is fine, also below. */
void guard_arm(struct guard *guard, uint64_t max_ms);

/* It was let go. */
void guard_disarm(struct guard *guard);
