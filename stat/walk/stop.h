/* stop.h - hold all threads of a process for a moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/walk/quiet.h"

/* Threads that were asked to stop and did not do so in time. A thread can only
 * be released when it has stopped, so these are watched until they have. */
struct stragglers; /* opaque */

/* Make a list of none. Returns 0 or -ENOMEM. */
int stragglers_new(struct stragglers **out);

/* Free `stragglers`; the kernel releases threads that have not stopped yet when
 * this process ends. NULL is fine. */
void stragglers_free(struct stragglers *stragglers);

/* Release the threads that have stopped or ended meanwhile. Returns how many
 * are left: if there are some, call again soon. */
size_t stragglers_release(struct stragglers *stragglers);

struct stop; /* opaque */

/* Seize and interrupt every thread of `pid`, also those that it makes meanwhile,
 * and wait until they have stopped.
 *
 * stragglers   borrowed until stop_free(); gets the threads that do not stop in
 *              time. Threads that were in it before are not waited for
 * patience_ns  how long to wait when all threads that still run are stuck in
 *              the kernel; some may only lack a processor
 * limit_ns     how long to wait at the most, from the first stop on
 * threads_max  how many threads are looked at; the others are left alone
 * sparing      threads that sleep in a system call which a stop would
 *              interrupt are not stopped; they get STOP_QUIET
 *
 * Returns 0, also when some threads did not stop in time, or as
 * walk_process() with a sentence in `error`: then nothing is held. */
int stop_new(struct stop **out,
             struct stragglers *stragglers,
             pid_t pid,
             uint64_t patience_ns,
             uint64_t limit_ns,
             size_t threads_max,
             bool sparing,
             struct cop_error *error);

/* Where thread number `index`, which is STOP_QUIET, sleeps. */
const struct quiet *stop_quiet(const struct stop *stop, size_t index);

/* Stop the STOP_QUIET threads for which `wanted[index]` is true, too, and the
 * threads that they have made since. Indexes stay as they are. Returns 0 or a
 * negative errno. */
int stop_rest(struct stop *stop, const bool *wanted);

/* Release all threads. NULL is fine. */
void stop_free(struct stop *stop);

/* When the first thread was stopped, in nanoseconds of CLOCK_MONOTONIC; 0: none
 * was. */
uint64_t stop_begin_ns(const struct stop *stop);

/* How many threads were looked at, and how many were left alone. */
size_t stop_count(const struct stop *stop);
size_t stop_left_out(const struct stop *stop);

/* Thread number `index`. */
pid_t stop_tid(const struct stop *stop, size_t index);

/* How a thread is. */
enum stop_state {
    STOP_ASKED, /* it did not stop in time */
    STOP_HELD,
    STOP_GONE,  /* it has ended */
    STOP_QUIET, /* not stopped: it sleeps in a call (see `sparing`) */
};

/* How thread number `index` is. */
enum stop_state stop_state(const struct stop *stop, size_t index);

/* Whether a thread is left that has not ended. */
bool stop_is_alive(const struct stop *stop);

/* The signal, such as SIGSTOP, that had stopped the process before stop_new().
 * The process stays stopped after stop_free(). 0: it had not been stopped. */
int stop_signal(const struct stop *stop);
