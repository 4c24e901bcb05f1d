/* tcp.h - sockets of links. */
#pragma once

#include <stdint.h>

/* Set up a TCP socket for links (PROTOCOL 6.1): small writes are not delayed,
 * and data unacknowledged for three times `failure_timeout_ms` breaks the
 * connection. Sockets accepted by a listening socket inherit the settings.
 *
 * Returns 0 or a negative errno. */
int tcp_prepare(int fd, uint32_t failure_timeout_ms);

/* Make the socket readable only with `len` bytes or more, or at end-of-file. A
 * read still takes fewer bytes. Returns 0 or a negative errno. */
int tcp_set_low_water(int fd, int len);

/* How long ago the last bytes arrived, precise to a tick of the kernel's clock;
 * 0 if unknown. */
uint32_t tcp_heard_ago_ms(int fd);

/* Break the connection as a network fault would: both ends see a reset. */
void tcp_reset(int fd);

/* The message for errno `error`: the C library's, not translated, because
 * translating would cost an orphan a hundredth of its recovery time. */
const char *tcp_error(int error);
