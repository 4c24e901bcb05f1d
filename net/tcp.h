/* tcp.h - sockets of links. */
#ifndef NET_TCP_H
#define NET_TCP_H

#include <stdint.h>

/* Set a TCP socket up for links (PROTOCOL 6.1): nothing waits to be sent, and
 * what is not acknowledged for three times `failure_timeout_ms` ends it. Of a
 * socket that listens, those that it accepts inherit that.
 *
 * Returns 0 or a negative errno. */
int tcp_prepare(int fd, uint32_t failure_timeout_ms);

/* Break the connection, as a fault of the network would: both ends see a reset.
 */
void tcp_reset(int fd);

/* The words for errno `error`: those of the C library, not translated, which
 * would cost an orphan a hundredth of its recovery. */
const char *tcp_error(int error);

#endif
