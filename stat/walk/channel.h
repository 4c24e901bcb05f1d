/* channel.h - packets over a socket between two processes of one program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coppice/packet.h>

struct channel; /* one end; opaque */

/* Make the end that has the descriptor `fd`, which is taken. Returns 0 or
 * -ENOMEM. */
int channel_new(struct channel **out, int fd);

/* Free `channel`, and close its descriptor. NULL is fine. */
void channel_free(struct channel *channel);

/* The descriptor, for poll(); borrowed. */
int channel_fd(const struct channel *channel);

/* Send a packet, and a number with it. What arrives meanwhile is kept, so two
 * ends may send to each other at once.
 *
 * packet   NULL: only the number
 * wait_ms  return -EAGAIN after so long without progress; call again with the
 *          same arguments to go on. -1: never
 *
 * Returns 0, -EAGAIN, -EPIPE if the other end is closed, or -ENOMEM. */
int channel_send(struct channel *channel,
                 const struct cop_packet *packet,
                 int32_t number,
                 int wait_ms);

/* Receive the next packet, which is the caller's, or NULL.
 *
 * wait_ms  as above, for a whole packet
 *
 * Returns 0, -EAGAIN if none has arrived, -EPIPE if the other end is closed,
 * -EBADMSG or -ENOMEM. */
int channel_receive(struct channel *channel,
                    struct cop_packet **packet,
                    int32_t *number,
                    int wait_ms);
