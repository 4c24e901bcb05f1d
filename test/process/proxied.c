/* proxied.c - preloaded by test_cuts into the nodes of a network: their
 * connections go through test/process/proxy.
 *
 * COPPICE_TEST_PROXY is the proxy's socket. Without it nothing changes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "test/process/proxy.h"

/* The project compiles with hidden visibility. */
#define SHOWN __attribute__((visibility("default")))

/* Ask the proxy, which learns this process's pid. Returns the answer, or -1. */
static int ask(char what, uint16_t port)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct proxy_question question = {what, port};
    const char *path = getenv(PROXY_VARIABLE);
    uint16_t answer = 0;
    int r = -1, fd;

    fd = path ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return -1;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (syscall(SYS_connect, fd, &address, sizeof(address)) == 0 &&
        send(fd, &question, sizeof(question), MSG_NOSIGNAL) ==
            (ssize_t)sizeof(question) &&
        recv(fd, &answer, sizeof(answer), 0) == (ssize_t)sizeof(answer))
        r = answer;
    close(fd);
    return r;
}

/* Replaces listen() of the C library: tells the proxy the node's only port. */
SHOWN int listen(int fd, int backlog)
{
    struct sockaddr_storage own = {0};
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&own;
    socklen_t len = sizeof(own);
    int r = (int)syscall(SYS_listen, fd, backlog);

    if (r == 0 && getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
        own.ss_family == AF_INET)
        ask(PROXY_LISTENS, ntohs(in4->sin_port));
    return r;
}

/* Replaces connect() of the C library: connects to a port of the proxy. */
SHOWN int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_in to = {0};
    int port;

    if (address->sa_family != AF_INET || !getenv(PROXY_VARIABLE))
        return (int)syscall(SYS_connect, fd, address, len);
    to = *(const struct sockaddr_in *)(const void *)address;
    port = ask(PROXY_CALLS, ntohs(to.sin_port));
    if (port <= 0) {
        errno = ECONNREFUSED;
        return -1;
    }
    to.sin_port = htons((uint16_t)port);
    return (int)syscall(SYS_connect, fd, &to, sizeof(to));
}
