/* stop.h - hold all threads of a process for a moment. */
#ifndef STAT_WALK_STOP_H
#define STAT_WALK_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/walk/quiet.h"

/* Threads that were asked to stop and did not in time. They cannot be let go
 * before they have stopped: so they are watched until then. */
struct stragglers; /* opaque */

/* Make a list of none. Returns 0 or -ENOMEM. */
int stragglers_new(struct stragglers **out);

/* Free `stragglers`; those that have not stopped yet are let go when this
 * process ends. NULL is fine. */
void stragglers_free(struct stragglers *stragglers);

/* Let those go that have stopped meanwhile, or have ended. Returns how many are
 * left: call again soon if there are some. */
size_t stragglers_release(struct stragglers *stragglers);

struct stop; /* opaque */

/* Seize and interrupt every thread of `pid`, those that it makes meanwhile
 * included, and wait until they have stopped, at most for `limit_ns` from when
 * the first one was, and for `patience_ns` if all others are stuck in the
 * kernel: those that have not had a processor yet may still stop. Stragglers
 * that are stuck still are not waited for.
 *
 * stragglers   kept, borrowed; gets those that do not stop in time
 * threads_max  of more threads the others are left alone
 * sparing      threads that sleep in a call which a stop would end are let be
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

/* How thread number `index`, which is STOP_QUIET, sleeps. */
const struct quiet *stop_quiet(const struct stop *stop, size_t index);

/* Hold those of the threads that were let be that `wanted` has, by index, and
 * threads that they have made since. The first ones keep their numbers.
 * Returns 0 or a negative errno. */
int stop_rest(struct stop *stop, const bool *wanted);

/* Let all threads go on as they were. NULL is fine. */
void stop_free(struct stop *stop);

/* When the first thread was stopped, in nanoseconds of CLOCK_MONOTONIC; 0: none
 * was. */
uint64_t stop_begin_ns(const struct stop *stop);

/* How many threads there are that were looked at, and how many others. */
size_t stop_count(const struct stop *stop);
size_t stop_left_out(const struct stop *stop);

/* Thread number `index`. */
pid_t stop_tid(const struct stop *stop, size_t index);

/* How a thread is. */
enum stop_state {
    STOP_ASKED, /* it has not stopped in time */
    STOP_HELD,
    STOP_GONE,  /* it has ended */
    STOP_QUIET, /* it sleeps in a call that a stop would end: let be */
};

/* How thread number `index` is. */
enum stop_state stop_state(const struct stop *stop, size_t index);

/* Whether any has not ended. */
bool stop_is_alive(const struct stop *stop);

/* The signal by which the process was stopped before, such as SIGSTOP, and
 * stays so; 0: it was not. */
int stop_signal(const struct stop *stop);

#endif
