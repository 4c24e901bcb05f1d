/* guard.h - kills a daemon that is stopped while it holds a process.
 *
 * The kernel lets a held process go when the daemon dies. But a daemon that is
 * itself stopped, by SIGSTOP or a terminal's ^Z, holds the process until it
 * continues. So a second process, in its own session, kills the daemon when it
 * has held a process for far too long. */
#pragma once

#include <stdint.h>

/* The guard waits this much longer than allowed: a machine that is short of
 * processor time is no reason to kill a daemon. */
#define GUARD_GRACE_MS 2000

struct guard; /* opaque */

/* Start the guard of this process. It ends with the calling thread. Returns 0
 * or a negative errno. */
int guard_new(struct guard **out);

/* End the guard. NULL is fine. */
void guard_free(struct guard *guard);

/* Processes are held now and then from guard_watch() until guard_idle(). */
void guard_watch(struct guard *guard);
void guard_idle(struct guard *guard);

/* Tell the guard that a process is held, and will be let go within `max_ms`.
 * Makes no system call. NULL is fine, also below. */
void guard_arm(struct guard *guard, uint64_t max_ms);

/* Tell the guard that the process was let go. */
void guard_disarm(struct guard *guard);
