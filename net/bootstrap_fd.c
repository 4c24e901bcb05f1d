/* bootstrap_fd.c - reading a bootstrap from a descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/bootstrap.h"
#include "net/driver.h"

/* Read exactly `len` bytes before `deadline_ms`. */
static int read_all(int fd,
                    unsigned char *out,
                    size_t len,
                    uint64_t deadline_ms)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    uint64_t now_ms;
    ssize_t n;
    int r;

    while (len > 0) {
        now_ms = driver_now_ms();
        if (now_ms >= deadline_ms)
            return -ETIMEDOUT;
        r = poll(&poller, 1, (int)(deadline_ms - now_ms));
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r <= 0)
            continue;
        n = read(fd, out, len); /* a socket, or the pipe of an sshd */
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return -EPIPE;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (n > 0) {
            out += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int bootstrap_receive(int fd,
                      uint32_t timeout_ms,
                      unsigned char **out,
                      size_t *len)
{
    uint64_t deadline_ms = driver_now_ms() + timeout_ms;
    unsigned char start[BOOTSTRAP_START_LEN];
    unsigned char *bytes;
    ssize_t all_len;
    int r;

    r = read_all(fd, start, sizeof(start), deadline_ms);
    if (r < 0)
        return r;
    all_len = bootstrap_announced_len(start);
    if (all_len < 0)
        return (int)all_len;
    bytes = malloc((size_t)all_len);
    if (!bytes)
        return -ENOMEM;
    memcpy(bytes, start, sizeof(start));
    r = read_all(fd, bytes + sizeof(start), (size_t)all_len - sizeof(start),
                 deadline_ms);
    if (r < 0) {
        sodium_memzero(bytes, (size_t)all_len);
        free(bytes);
        return r;
    }
    *out = bytes;
    *len = (size_t)all_len;
    return 0;
}

/* The descriptor that the environment names, made close-on-exec. */
static int inherited_fd(struct cop_error *error)
{
    const char *text = getenv(BOOTSTRAP_VARIABLE);
    char *end;
    long fd;

    if (!text)
        return cop_error_set(
            error, -ENOTCONN,
            "this program was not started by a network (there is no "
            "%s), and no session file was given: launch it with "
            "cop_network_launch(), or join with a session file",
            BOOTSTRAP_VARIABLE);
    errno = 0;
    fd = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno || fd < 0 || fd > INT32_MAX ||
        fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
        unsetenv(BOOTSTRAP_VARIABLE);
        return cop_error_set(error, -EBADMSG,
                             "%s does not name an open descriptor: the process "
                             "that started this program has closed it",
                             BOOTSTRAP_VARIABLE);
    }
    unsetenv(BOOTSTRAP_VARIABLE);
    return (int)fd;
}

int bootstrap_inherit(struct bootstrap **out,
                      uint32_t timeout_ms,
                      struct cop_error *error)
{
    unsigned char *bytes;
    size_t len;
    int fd;
    int r;

    fd = inherited_fd(error);
    if (fd < 0)
        return fd;
    r = bootstrap_receive(fd, timeout_ms, &bytes, &len);
    if (r == 0) {
        r = bootstrap_decode(out, bytes, len);
        sodium_memzero(bytes, len);
        free(bytes);
    }
    if (r < 0) {
        close(fd);
        return cop_error_set(
            error, r, "cannot read the bootstrap of this node: %s",
            r == -EPIPE ? "the process that started it is gone" : strerror(-r));
    }
    (*out)->fd = fd;
    return 0;
}

void bootstrap_accepted(struct bootstrap *bootstrap)
{
    if (bootstrap->fd < 0)
        return;
    /* May fail: the process that started us may have ended. */
    (void)!send(bootstrap->fd, "A", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(bootstrap->fd);
    bootstrap->fd = -1;
}
