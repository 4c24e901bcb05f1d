/* kids.c - the children of one bare node. */
#include "config.h"

#include "bench/kids.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 30000

/* The unit of reading and writing in a stream: it and the sum fit in the
 * second-level cache. */
#define CHUNK_LEN      (UINT32_C(1) << 17)
#define CHUNK_DOUBLES  (CHUNK_LEN / sizeof(double))
#define CHUNK_MESSAGES (CHUNK_LEN / sizeof(struct kids_message))

extern char **environ;

struct kids {
    uint32_t count;
    pid_t *pids;  /* 0: not started */
    int *fds;     /* -1: not connected; in the order of connection */
    char *sum;    /* CHUNK_LEN bytes, aligned for vectors */
    char *buffer; /* KIDS_ARRAY_LEN bytes, aligned as well */
};

/* ---- one link ----------------------------------------------------------- */

int kids_read_all(int fd, void *data, uint32_t len)
{
    char *at = data;

    while (len > 0) {
        ssize_t n = recv(fd, at, len, MSG_WAITALL);

        if (n == 0)
            return -ECONNRESET;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        at += n;
        len -= (uint32_t)n;
    }
    return 0;
}

int kids_write_all(int fd, const void *data, uint32_t len)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        len -= (uint32_t)n;
    }
    return 0;
}

static int set_nodelay(int fd)
{
    int on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        return -errno;
    return 0;
}

int kids_connect(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return -errno;
    r = connect(fd, (struct sockaddr *)&address, sizeof(address));
    r = r < 0 ? -errno : set_nodelay(fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

/* ---- starting and ending ------------------------------------------------ */

int kids_listen(int *out, uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    *port = ntohs(address.sin_port);
    *out = fd;
    return 0;
}

/* Start one child. It shares our memory until its exec, so it can report why
 * that failed. */
static int spawn_program(pid_t *out, const char *program, char *const argv[])
{
    volatile int failed = 0;
    pid_t pid = vfork();

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        execve(program, argv, environ);
        failed = errno;
        _exit(127);
    }
    if (failed) {
        waitpid(pid, NULL, 0);
        return -failed;
    }
    *out = pid;
    return 0;
}

static int spawn_all(struct kids *kids,
                     const char *program,
                     const char *below,
                     int port)
{
    char port_text[8];
    char ordinal[12];
    char *argv[] = {(char *)program, port_text, (char *)below, ordinal, NULL};

    snprintf(port_text, sizeof(port_text), "%d", port);
    for (uint32_t i = 0; i < kids->count; i++) {
        int r;

        snprintf(ordinal, sizeof(ordinal), "%u", i);
        r = spawn_program(&kids->pids[i], program, argv);
        if (r < 0) {
            warnx("%s: cannot start: %s", program, strerror(-r));
            return r;
        }
    }
    return 0;
}

int kids_accept(int listener, int *out)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    int fd;
    int r;

    r = poll(&wait, 1, CONNECT_TIMEOUT_MS);
    if (r < 0)
        return -errno;
    if (r == 0)
        return -ETIMEDOUT;
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -errno;
    *out = fd;
    return set_nodelay(fd);
}

static int accept_all(struct kids *kids, int listener)
{
    for (uint32_t i = 0; i < kids->count; i++) {
        int r = kids_accept(listener, &kids->fds[i]);

        if (r < 0) {
            warnx("bare tree: waiting for child %u of %u: %s", i + 1,
                  kids->count, strerror(-r));
            return r;
        }
    }
    return 0;
}

static int take_tokens(struct kids *kids, uint32_t *leaves)
{
    uint32_t sum = 0;
    uint32_t one;

    for (uint32_t i = 0; i < kids->count; i++) {
        int r = kids_read_all(kids->fds[i], &one, sizeof(one));

        if (r < 0) {
            warnx("bare tree: no token from a child: %s", strerror(-r));
            return r;
        }
        sum += one;
    }
    *leaves = sum;
    return 0;
}

void kids_end(struct kids *kids, bool force)
{
    if (!kids)
        return;
    for (uint32_t i = 0; force && kids->pids && i < kids->count; i++)
        if (kids->pids[i] > 0)
            kill(kids->pids[i], SIGKILL);
    for (uint32_t i = 0; kids->fds && i < kids->count; i++)
        if (kids->fds[i] >= 0)
            close(kids->fds[i]);
    for (uint32_t i = 0; kids->pids && i < kids->count; i++)
        while (kids->pids[i] > 0 && waitpid(kids->pids[i], NULL, 0) < 0 &&
               errno == EINTR)
            continue;
    free(kids->pids);
    free(kids->fds);
    free(kids->sum);
    free(kids->buffer);
    free(kids);
}

static struct kids *kids_new(uint32_t count)
{
    struct kids *kids = calloc(1, sizeof(*kids));

    if (!kids)
        return NULL;
    kids->count = count;
    kids->pids = calloc(count, sizeof(*kids->pids));
    kids->fds = calloc(count, sizeof(*kids->fds));
    kids->sum = aligned_alloc(64, CHUNK_LEN);
    kids->buffer = aligned_alloc(64, KIDS_ARRAY_LEN);
    if (!kids->pids || !kids->fds || !kids->sum || !kids->buffer) {
        kids->count = 0;
        kids_end(kids, false);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        kids->fds[i] = -1;
    return kids;
}

int kids_start(struct kids **out,
               const char *program,
               uint32_t count,
               const char *below,
               uint32_t *leaves)
{
    struct kids *kids = NULL;
    int listener = -1;
    uint16_t port = 0;
    int r;

    r = kids_listen(&listener, &port);
    if (r < 0) {
        warnx("bare tree: cannot listen on 127.0.0.1: %s", strerror(-r));
        goto out;
    }
    r = -ENOMEM;
    kids = kids_new(count);
    if (!kids)
        goto out;
    r = spawn_all(kids, program, below, port);
    if (r < 0)
        goto out;
    r = accept_all(kids, listener);
    if (r < 0)
        goto out;
    r = take_tokens(kids, leaves);
    if (r < 0)
        goto out;
    *out = kids;
    kids = NULL; /* now the caller's */
out:
    kids_end(kids, true);
    if (listener >= 0)
        close(listener);
    return r;
}

int kids_set_timeout(struct kids *kids, unsigned seconds)
{
    struct timeval limit = {.tv_sec = seconds};

    for (uint32_t i = 0; i < kids->count; i++)
        if (setsockopt(kids->fds[i], SOL_SOCKET, SO_RCVTIMEO, &limit,
                       sizeof(limit)) < 0)
            return -errno;
    return 0;
}

int kids_fd(const struct kids *kids, uint32_t index)
{
    return kids->fds[index];
}

pid_t kids_pid(const struct kids *kids, uint32_t index)
{
    return kids->pids[index];
}

/* ---- the tree's operations ---------------------------------------------- */

int kids_command(struct kids *kids, const struct kids_command *command)
{
    for (uint32_t i = 0; i < kids->count; i++) {
        int r = kids_write_all(kids->fds[i], command, sizeof(*command));

        if (r < 0)
            return r;
    }
    return 0;
}

int kids_ping(struct kids *kids, int32_t *sum)
{
    int32_t total = 0;
    int32_t one;

    for (uint32_t i = 0; i < kids->count; i++) {
        int r = kids_read_all(kids->fds[i], &one, sizeof(one));

        if (r < 0)
            return r;
        total += one;
    }
    *sum = total;
    return 0;
}

/* Read one chunk of messages from each child; their sums are in kids->sum. The
 * length of each message is checked. */
static int read_waves(struct kids *kids, uint32_t messages)
{
    struct kids_message *sum = (struct kids_message *)kids->sum;
    const struct kids_message *in = (struct kids_message *)kids->buffer;
    uint32_t len = messages * (uint32_t)sizeof(*in);

    for (uint32_t i = 0; i < kids->count; i++) {
        int r = kids_read_all(kids->fds[i], i ? kids->buffer : kids->sum, len);

        if (r < 0)
            return r;
        for (uint32_t k = 0; i && k < messages; k++) {
            if (in[k].len != sizeof(in[k].value))
                return -EBADMSG;
            sum[k].value =
                (int32_t)((uint32_t)sum[k].value + (uint32_t)in[k].value);
        }
    }
    return 0;
}

int kids_ints(struct kids *kids, uint32_t count, int up, uint32_t leaves)
{
    const struct kids_message *sum = (struct kids_message *)kids->sum;
    uint32_t wave = 0;

    while (wave < count) {
        uint32_t n = count - wave;
        int r;

        if (n > CHUNK_MESSAGES)
            n = CHUNK_MESSAGES;
        r = read_waves(kids, n);
        if (r < 0)
            return r;
        if (up >= 0)
            r = kids_write_all(up, sum, n * (uint32_t)sizeof(*sum));
        for (uint32_t k = 0; up < 0 && k < n; k++)
            if ((uint32_t)sum[k].value != (wave + k) * leaves)
                r = -EBADMSG;
        if (r < 0)
            return r;
        wave += n;
    }
    return 0;
}

/* The sum of one chunk of every child's array, in kids->sum. */
static int read_chunks(struct kids *kids)
{
    double *sum = (double *)(void *)kids->sum;
    const double *in = (const double *)(void *)kids->buffer;

    for (uint32_t i = 0; i < kids->count; i++) {
        int r = kids_read_all(kids->fds[i], i ? kids->buffer : kids->sum,
                              CHUNK_LEN);

        if (r < 0)
            return r;
        for (size_t k = 0; i && k < CHUNK_DOUBLES; k++)
            sum[k] += in[k];
    }
    return 0;
}

int kids_sum(struct kids *kids, uint32_t count, int up, uint32_t leaves)
{
    const double *sum = (const double *)(void *)kids->sum;

    for (uint32_t wave = 0; wave < count; wave++) {
        for (uint32_t at = 0; at < KIDS_ARRAY_LEN; at += CHUNK_LEN) {
            int r = read_chunks(kids);

            if (r == 0 && up >= 0)
                r = kids_write_all(up, sum, CHUNK_LEN);
            if (r < 0)
                return r;
            if (up < 0 && at == 0 && sum[0] != (double)wave * leaves)
                return -EBADMSG;
            if (up < 0 && sum[CHUNK_DOUBLES - 1] != leaves)
                return -EBADMSG;
        }
    }
    return 0;
}

int kids_arrays(struct kids *kids, uint32_t count)
{
    const double *in = (const double *)(void *)kids->buffer;

    for (uint32_t wave = 0; wave < count; wave++) {
        for (uint32_t i = 0; i < kids->count; i++) {
            int r = kids_read_all(kids->fds[i], kids->buffer, KIDS_ARRAY_LEN);

            if (r < 0)
                return r;
            if (in[0] != wave || in[KIDS_ARRAY_LEN / sizeof(*in) - 1] != 1)
                return -EBADMSG;
        }
    }
    return 0;
}

/* ---- a leaf's part ------------------------------------------------------ */

int kids_send_ints(int up, uint32_t count)
{
    struct kids_message *out = malloc(CHUNK_LEN);
    uint32_t wave = 0;
    int r = out ? 0 : -ENOMEM;

    while (r == 0 && wave < count) {
        uint32_t n = count - wave;

        if (n > CHUNK_MESSAGES)
            n = CHUNK_MESSAGES;
        for (uint32_t k = 0; k < n; k++) {
            out[k].len = sizeof(out[k].value);
            out[k].value = (int32_t)(wave + k);
        }
        r = kids_write_all(up, out, n * (uint32_t)sizeof(*out));
        wave += n;
    }
    free(out);
    return r;
}

int kids_send_arrays(int up, uint32_t count)
{
    double *array = malloc(KIDS_ARRAY_LEN);
    int r = array ? 0 : -ENOMEM;

    for (size_t k = 0; array && k < KIDS_ARRAY_LEN / sizeof(*array); k++)
        array[k] = 1;
    for (uint32_t wave = 0; r == 0 && wave < count; wave++) {
        array[0] = wave;
        r = kids_write_all(up, array, KIDS_ARRAY_LEN);
    }
    free(array);
    return r;
}
