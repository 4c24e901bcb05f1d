/* tcp.h - sockets of links. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Read once: fill `first`, if `first_len` is not 0, and then `rest`. Returns how
 * many bytes, 0 at end-of-file, or -1 and errno. */
ssize_t tcp_read(
    int fd, void *first, size_t first_len, void *rest, size_t rest_len);

/* Wait until the other end has closed the connection, or until `until_ms` of the
 * monotonic clock; what it still sends is dropped. Makes system calls only. */
void tcp_wait_closed(int fd, uint64_t until_ms);

/* The message for errno `error`: the C library's, not translated, because
 * translating would cost an orphan a hundredth of its recovery time. */
const char *tcp_error(int error);
