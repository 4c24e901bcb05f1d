/* tcp.c - sockets of links. */
#include "net/tcp.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/helm.h"

int tcp_prepare(int fd, uint32_t failure_timeout_ms)
{
    int user_timeout_ms = INT_MAX; /* the largest value of the option */
    int on = 1;

    if (failure_timeout_ms < INT_MAX / 3)
        user_timeout_ms = 3 * (int)failure_timeout_ms;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, /* PROTOCOL 6.1 */
                   &user_timeout_ms, sizeof(user_timeout_ms)) < 0)
        return -errno;
    return 0;
}

int tcp_set_low_water(int fd, int len)
{
    return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &len, sizeof(len)) < 0
               ? -errno
               : 0;
}

uint32_t tcp_heard_ago_ms(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
    return info.tcpi_last_data_recv;
}

void tcp_reset(int fd)
{
    struct sockaddr none = {.sa_family = AF_UNSPEC};

    /* This call makes the kernel reset the connection. */
    if (connect(fd, &none, sizeof(none)) < 0)
        shutdown(fd, SHUT_RDWR);
}

ssize_t tcp_read(
    int fd, void *first, size_t first_len, void *rest, size_t rest_len)
{
    struct iovec parts[2] = {{first, first_len}, {rest, rest_len}};

    return first_len > 0 ? readv(fd, parts, 2) : recv(fd, rest, rest_len, 0);
}

void tcp_wait_closed(int fd, uint64_t until_ms)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    unsigned char dropped[4096];
    uint64_t now_ms = helm_clock_us() / 1000;
    ssize_t n = 1;

    while (now_ms < until_ms && n != 0) {
        if (poll(&waited, 1, (int)(until_ms - now_ms)) < 0 && errno != EINTR)
            return;
        n = recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return;
        now_ms = helm_clock_us() / 1000;
    }
}

const char *tcp_error(int error)
{
    const char *text = strerrordesc_np(error);

    return text ? text : strerror(error);
}
