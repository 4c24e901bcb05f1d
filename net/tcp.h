/* tcp.h - sockets of links. */
#pragma once

#include <stdint.h>

/* Set a TCP socket up for links (PROTOCOL 6.1): nothing waits to be sent, and
 * what is not acknowledged for three times `failure_timeout_ms` ends it. Of a
 * socket that listens, those that it accepts inherit that.
 *
 * Returns 0 or a negative errno. */
int tcp_prepare(int fd, uint32_t failure_timeout_ms);

/* Have the socket be readable only with `len` bytes or more, or at its end. A
 * read takes what there is. Returns 0 or a negative errno. */
int tcp_set_low_water(int fd, int len);

/* How long ago the last bytes came, to a tick of the system's clock; 0 if the
 * system does not say. */
uint32_t tcp_heard_ago_ms(int fd);

/* Break the connection as a network fault would: both ends see a reset. */
void tcp_reset(int fd);

/* The words for errno `error`: those of the C library, not translated, which
 * would cost an orphan a hundredth of its recovery. */
const char *tcp_error(int error);
