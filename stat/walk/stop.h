/* stop.h - hold all threads of a process for a moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/walk/quiet.h"

/* Threads that did not stop in time when asked. A thread can only be released
 * once it has stopped, so these are watched until they have. */
struct stragglers; /* opaque */

/* Make an empty list. Returns 0 or -ENOMEM. */
int stragglers_new(struct stragglers **out);

/* Free `stragglers`; the kernel releases threads that have not stopped yet when
 * this process ends. NULL is fine. */
void stragglers_free(struct stragglers *stragglers);

/* Release the threads that have stopped or ended since the last call. Returns
 * how many are left: if any, call again soon. */
size_t stragglers_release(struct stragglers *stragglers);

struct stop; /* opaque */

/* Which threads are not stopped, and get STOP_QUIET. */
enum stop_spares {
    STOP_SPARES_NONE,
    STOP_SPARES_CALLS,    /* those in a system call that a stop would end */
    STOP_SPARES_SLEEPERS, /* those that sleep in any system call */
};

/* Seize and interrupt every thread of `pid`, also those created during the
 * call, and wait until they have stopped.
 *
 * stragglers   borrowed until stop_free(); gets the threads that do not stop in
 *              time. Threads that were in it before are not waited for
 * patience_ns  how long to wait when all threads that still run are stuck in
 *              the kernel; some may only lack a processor
 * limit_ns     how long to wait at most, from the first stop on
 * threads_max  how many threads to stop at most; the others are left alone
 * spares       which threads are not stopped
 *
 * Returns 0, also if some threads did not stop in time, or an error of
 * walk_process() with a sentence in `error`: then no thread is held. */
int stop_new(struct stop **out,
             struct stragglers *stragglers,
             pid_t pid,
             uint64_t patience_ns,
             uint64_t limit_ns,
             size_t threads_max,
             enum stop_spares spares,
             struct cop_error *error);

/* Where thread number `index`, which is STOP_QUIET, sleeps. */
const struct quiet *stop_quiet(const struct stop *stop, size_t index);

/* Also stop the STOP_QUIET threads for which `wanted[index]` is true, and the
 * threads that they have created since. Indexes do not change. Returns 0 or a
 * negative errno. */
int stop_rest(struct stop *stop, const bool *wanted);

/* Release all threads. NULL is fine. */
void stop_free(struct stop *stop);

/* When the first thread was stopped, in nanoseconds of CLOCK_MONOTONIC; 0: none
 * was stopped. */
uint64_t stop_begin_ns(const struct stop *stop);

/* How many threads were seized or spared, and how many were left alone. */
size_t stop_count(const struct stop *stop);
size_t stop_left_out(const struct stop *stop);

/* Thread number `index`. */
pid_t stop_tid(const struct stop *stop, size_t index);

/* The state of a thread. */
enum stop_state {
    STOP_ASKED, /* it did not stop in time */
    STOP_HELD,
    STOP_GONE,  /* it has ended */
    STOP_QUIET, /* not stopped: it sleeps in a call */
};

/* The state of thread number `index`. */
enum stop_state stop_state(const struct stop *stop, size_t index);

/* Whether any thread has not ended. */
bool stop_is_alive(const struct stop *stop);

/* The signal, such as SIGSTOP, that had stopped the process before stop_new().
 * The process stays stopped after stop_free(). 0: it had not been stopped. */
int stop_signal(const struct stop *stop);
