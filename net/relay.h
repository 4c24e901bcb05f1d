/* relay.h - bytes on their way to a descriptor that may not be read.
 *
 * A thread of its own writes, so that relay_put() never blocks. O_NONBLOCK is
 * no way around the thread: the flag belongs to the open file, which other
 * processes, such as the user's shell, share. */
#pragma once

#include <stddef.h>

/* What a relay holds; what does not fit is dropped. */
#define RELAY_LEN 65536

struct relay; /* opaque */

/* Make a relay to `fd` (borrowed until relay_free()). Returns 0, -ENOMEM, or
 * -EAGAIN if no thread can be started. */
int relay_new(struct relay **out, int fd);

/* Queue `len` bytes. Never blocks. Bytes that do not fit are dropped and
 * counted; a line with the count is written where they are missing. */
void relay_put(struct relay *relay, const char *bytes, size_t len);

/* Write what is queued, for a second at most, and free. NULL is fine. */
void relay_free(struct relay *relay);

/* Free the memory and nothing else: in a child that was forked, which does not
 * have the thread. NULL is fine. */
void relay_abandon(struct relay *relay);
