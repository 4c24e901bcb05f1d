/* aside.h - work in a process of its own that is left behind when it is stuck.
 *
 * The process tells by touch.h what it touches. It is stuck if it has waited in
 * the kernel, for one such thing, for ASIDE_STUCK_MS. Then it is killed, which
 * also lets go what it has stopped, and what it has touched is not touched again
 * by the process that takes its place. If the kernel does not let it be killed,
 * it is left behind.
 *
 * A file system may come back. For each stuck thing another process waits for it,
 * and when it answers, it may be touched again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/packet.h>

#include "stat/walk/channel.h"

/* How long a process waits for one thing before it counts as stuck. */
#define ASIDE_STUCK_MS 1000

/* How often to call aside_check() while the process works. */
#define ASIDE_LOOK_MS 50

/* Most processes that may be lost, one after another. */
#define ASIDE_LOSSES_MAX 64

/* Whether the file system of `path` answers, as another process finds; that is
 * remembered for a while. */
bool aside_answers(const char *path);

struct aside; /* opaque */

/* The work: serves `channel` until that is closed. `restarted`: another process
 * was lost before. */
typedef void (*aside_fn)(struct channel *channel, bool restarted, void *arg);

/* Start a process that calls `fn`. It has no descriptors but the standard ones
 * and its channel, and ends with the calling thread. Returns 0 or a negative
 * errno. */
int aside_new(struct aside **out, aside_fn fn, void *arg);

/* End the process: at its next receive, or after a second. NULL is fine. */
void aside_free(struct aside *aside);

/* For poll(): readable when a packet has arrived, or the process has ended. */
int aside_fd(const struct aside *aside);

/* Whether the process works: look after it. */
bool aside_is_busy(const struct aside *aside);

/* Send to the process. Returns 0, -EPIPE if it is lost or stuck, or -ENOMEM. */
int aside_send(struct aside *aside,
               const struct cop_packet *packet,
               int32_t number);

/* Receive from the process, without waiting; as channel_receive(). -EPIPE: it is
 * lost. */
int aside_receive(struct aside *aside,
                  struct cop_packet **packet,
                  int32_t *number);

/* Let the process count as stuck after `stuck_ms`, if that is less than
 * ASIDE_STUCK_MS. */
void aside_limit(struct aside *aside, uint32_t stuck_ms);

/* Returns 0, or -EPIPE if the process is stuck. */
int aside_check(struct aside *aside);

/* Start another process in place of one that is stuck. What was sent to it, and
 * was not answered, must be sent again. Returns 0, or a negative errno: -ECHILD if
 * it was not stuck, but has ended; if too many were lost; or if it is not known
 * what was looked at. */
int aside_restart(struct aside *aside);
