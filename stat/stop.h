/* stop.h - hold all threads of a process for a moment. */
#ifndef STAT_STOP_H
#define STAT_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

struct stop; /* opaque */

/* Seize and interrupt every thread of `pid`, those that it makes meanwhile
 * included, and wait up to `timeout_ms` until they have stopped.
 *
 * Returns 0, also when some threads did not stop in time, or as
 * walk_process() with a sentence in `error`: then nothing is held. */
int stop_new(struct stop **out,
             pid_t pid,
             uint32_t timeout_ms,
             struct cop_error *error);

/* Let all threads go on as they were. One that did not stop in time is let go
 * when this process ends. NULL is fine. */
void stop_free(struct stop *stop);

/* How many threads there are. */
size_t stop_count(const struct stop *stop);

/* Thread number `index`. */
pid_t stop_tid(const struct stop *stop, size_t index);

/* Whether it stands still; if not, it is stuck in the kernel. */
bool stop_holds(const struct stop *stop, size_t index);

#endif
