/* relay.h - write bytes to a descriptor that may have no reader.
 *
 * A separate thread writes, so that relay_put() never blocks. O_NONBLOCK cannot
 * replace the thread: the flag belongs to the open file, which other processes,
 * such as the user's shell, share. */
#pragma once

#include <stddef.h>

/* Most bytes that a relay queues; more are dropped. */
#define RELAY_LEN 65536

struct relay; /* opaque */

/* Make a relay to `fd` (borrowed until relay_free()). Returns 0, -ENOMEM, or
 * -EAGAIN if no thread can be started. */
int relay_new(struct relay **out, int fd);

/* Queue `len` bytes. Never blocks. Bytes that do not fit are dropped and
 * counted; a line with the count is written in their place. */
void relay_put(struct relay *relay, const char *bytes, size_t len);

/* Write what is queued, for at most a second, and free. NULL is fine. */
void relay_free(struct relay *relay);

/* Free only the memory: in a forked child, which does not have the thread. NULL
 * is fine. */
void relay_abandon(struct relay *relay);
