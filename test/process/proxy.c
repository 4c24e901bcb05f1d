/* proxy.c - a proxy between the processes of one host, which can cut, delay and
 * reset their connections.
 *
 *   proxy SOCKET
 *
 * Every connection that test/process/proxied.c redirects here is a link between
 * two processes, caller and listener. Commands are lines of the standard input.
 * They name a process by its pid; 0 is the front-end, which listens without
 * proxied.c:
 *
 *   drop PID      no bytes pass from it or to it
 *   deaf PID      no bytes pass to it
 *   delay PID MS  bytes from it and to it arrive later
 *   rate PID N    bytes from it pass at N per millisecond on each link
 *   heal PID      undo all of these
 *   reset PID PID reset the links between the two
 *
 * The answer to each is a line "ok N": N is the number of links concerned or,
 * for heal, the number of bytes that had been held back. As TCP retransmits
 * what a cable loses, data, ends and resets are not dropped but held back until
 * the link is healed. Unlike with a cable, a process that connects while the
 * link is cut gets a connection, on which nothing arrives. The proxy ends when
 * its standard input does. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "test/process/proxy.h"

#define HOSTS_MAX 256
#define LINKS_MAX 512
#define CHUNK_LEN 16384
#define CHUNKS    64 /* the most chunks in flight in one direction */

struct host {
    pid_t pid;
    uint16_t port; /* of its listening socket; 0: unknown */
    bool hears;
    bool speaks;
    int delay_ms;
    int rate; /* bytes per millisecond; 0: no limit */
};

struct chunk {
    uint64_t due_ms;
    size_t len; /* 0: the end */
    size_t sent;
    char *bytes;
};

/* One direction of a link. */
struct way {
    struct host *from;
    struct host *to;
    struct chunk chunks[CHUNKS];
    size_t first;
    size_t count;
    bool ended;       /* end of file was read, and is in `chunks` */
    bool is_told;     /* end of file was passed on */
    uint64_t free_us; /* when all bytes in flight have passed at this rate */
};

struct link {
    bool used;
    int listens; /* until the caller connects; then -1 */
    uint16_t port;
    int fds[2]; /* caller, listener; -1: not yet */
    struct way ways[2];
};

static struct host hosts[HOSTS_MAX];
static size_t host_count;
static struct link links[LINKS_MAX];
static size_t link_count; /* entries ever used */

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t now_ms(void)
{
    return now_us() / 1000;
}

/* ---- hosts ---- */

static struct host *host_of(pid_t pid)
{
    for (size_t i = 0; i < host_count; i++)
        if (hosts[i].pid == pid)
            return &hosts[i];
    if (host_count == HOSTS_MAX)
        errx(1, "more than %d processes", HOSTS_MAX);
    hosts[host_count] =
        (struct host){.pid = pid, .hears = true, .speaks = true};
    return &hosts[host_count++];
}

static struct host *host_at(uint16_t port)
{
    for (size_t i = 0; i < host_count; i++)
        if (hosts[i].port == port)
            return &hosts[i];
    return host_of(0);
}

static bool is_open(const struct way *way)
{
    return way->from->speaks && way->to->hears;
}

/* ---- links ---- */

static void link_close(struct link *link, bool by_reset)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};

    for (int i = 0; i < 2; i++) {
        struct way *way = &link->ways[i];

        while (way->count > 0) {
            free(way->chunks[way->first].bytes);
            way->first = (way->first + 1) % CHUNKS;
            way->count--;
        }
        if (link->fds[i] < 0)
            continue;
        if (by_reset)
            setsockopt(link->fds[i], SOL_SOCKET, SO_LINGER, &linger,
                       sizeof(linger));
        close(link->fds[i]);
    }
    if (link->listens >= 0)
        close(link->listens);
    link->used = false;
}

/* Connect to `port` of this host, which never takes long. Returns a descriptor,
 * or -1 if no process listens on that port. */
static int call(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        err(1, "socket");
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

/* Listen for one caller. Returns the port. */
static uint16_t offer(struct link *link)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    socklen_t len = sizeof(own);

    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    link->listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->listens < 0 ||
        bind(link->listens, (struct sockaddr *)&own, sizeof(own)) < 0 ||
        listen(link->listens, 1) < 0 ||
        getsockname(link->listens, (struct sockaddr *)&own, &len) < 0)
        err(1, "listen");
    return ntohs(own.sin_port);
}

/* Make a link by which `pid` connects to `port`. Returns the proxy's port for
 * that connection, or 0. */
static uint16_t link_new(pid_t pid, uint16_t port)
{
    struct link *link = links;

    while (link < links + LINKS_MAX && link->used)
        link++;
    if (link == links + LINKS_MAX)
        errx(1, "more than %d links", LINKS_MAX);
    memset(link, 0, sizeof(*link));
    link->port = port;
    link->fds[0] = link->fds[1] = -1;
    link->ways[0].from = link->ways[1].to = host_of(pid);
    link->ways[0].to = link->ways[1].from = host_at(port);
    if (is_open(&link->ways[0]) && is_open(&link->ways[1])) {
        link->fds[1] = call(port);
        if (link->fds[1] < 0)
            return 0;
    }
    link->used = true;
    if (link >= links + link_count)
        link_count = (size_t)(link - links) + 1;
    return offer(link);
}

/* The time at which `len` bytes that arrive now will have passed. */
static uint64_t passed_ms(struct way *way, size_t len)
{
    uint64_t begin_us = now_us();

    if (way->from->rate > 0) {
        if (begin_us < way->free_us)
            begin_us = way->free_us;
        begin_us += len * 1000 / (uint64_t)way->from->rate;
        way->free_us = begin_us;
    }
    return begin_us / 1000 +
           (uint64_t)(way->from->delay_ms + way->to->delay_ms);
}

/* Read one chunk. */
static void way_read(struct way *way, int fd)
{
    struct chunk *chunk = &way->chunks[(way->first + way->count) % CHUNKS];
    char bytes[CHUNK_LEN];
    ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    way->ended = n <= 0; /* a reset is an end too; its data came before */
    *chunk = (struct chunk){
        .due_ms = passed_ms(way, n > 0 ? (size_t)n : 0),
        .len = n > 0 ? (size_t)n : 0,
    };
    chunk->bytes = malloc(chunk->len + 1);
    if (!chunk->bytes)
        err(1, "a chunk");
    memcpy(chunk->bytes, bytes, chunk->len);
    way->count++;
}

static bool is_due(const struct way *way)
{
    return way->count > 0 && is_open(way) &&
           way->chunks[way->first].due_ms <= now_ms();
}

/* Write the chunks that are due. Returns false if the other end is closed. */
static bool way_write(struct way *way, int fd)
{
    while (is_due(way)) {
        struct chunk *chunk = &way->chunks[way->first];
        ssize_t n;

        if (chunk->len == 0) {
            shutdown(fd, SHUT_WR);
            way->is_told = true;
        } else {
            n = send(fd, chunk->bytes + chunk->sent, chunk->len - chunk->sent,
                     MSG_NOSIGNAL);
            if (n < 0)
                return errno == EAGAIN || errno == EINTR;
            chunk->sent += (size_t)n;
            if (chunk->sent < chunk->len)
                return true;
        }
        free(chunk->bytes);
        way->first = (way->first + 1) % CHUNKS;
        way->count--;
    }
    return true;
}

/* ---- the loop: three descriptors for each link, -1: not polled ---- */

#define FDS (3 * LINKS_MAX + 2)

/* The poll events to wait for at end `i` of the link. */
static short wanted(const struct link *link, int i)
{
    const struct way *in = &link->ways[i];
    short events = 0;

    if (!in->ended && in->count < CHUNKS - 1 && is_open(in) &&
        link->fds[!i] >= 0)
        events |= POLLIN;
    if (is_due(&link->ways[!i]))
        events |= POLLOUT;
    return events;
}

static void watch(const struct link *link, struct pollfd *fds, int *wait_ms)
{
    fds[0] = fds[1] = fds[2] = (struct pollfd){.fd = -1};
    if (!link->used)
        return;
    if (link->fds[0] < 0)
        fds[2] = (struct pollfd){.fd = link->listens, .events = POLLIN};
    for (int i = 0; i < 2; i++) {
        const struct way *way = &link->ways[i];
        short events = link->fds[i] < 0 ? 0 : wanted(link, i);

        if (events)
            fds[i] = (struct pollfd){.fd = link->fds[i], .events = events};
        if (way->count > 0 && is_open(way) && !is_due(way))
            *wait_ms = *wait_ms < 0 || *wait_ms > 5 ? 5 : *wait_ms;
    }
}

static void take_caller(struct link *link)
{
    int on = 1;

    link->fds[0] = accept4(link->listens, NULL, NULL, SOCK_CLOEXEC);
    if (link->fds[0] < 0)
        err(1, "accept");
    fcntl(link->fds[0], F_SETFL, O_NONBLOCK);
    setsockopt(link->fds[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    close(link->listens);
    link->listens = -1;
}

/* Connect a caller whose connection was accepted while the link was cut. */
static void complete(struct link *link)
{
    if (link->fds[0] < 0 || link->fds[1] >= 0 || !is_open(&link->ways[0]) ||
        !is_open(&link->ways[1]))
        return;
    link->fds[1] = call(link->port);
    if (link->fds[1] < 0)
        link_close(link, true);
}

static void work(struct link *link, const struct pollfd *fds)
{
    if (fds[2].revents)
        take_caller(link);
    for (int i = 0; i < 2; i++) {
        if (!fds[i].revents)
            continue;
        if ((fds[i].events & POLLIN) && !link->ways[i].ended)
            way_read(&link->ways[i], fds[i].fd);
        if ((fds[i].events & POLLOUT) &&
            !way_write(&link->ways[!i], fds[i].fd)) {
            link_close(link, true);
            return;
        }
    }
    if (link->ways[0].is_told && link->ways[1].is_told)
        link_close(link, false);
    else
        complete(link);
}

/* ---- requests of the nodes, commands of the test ---- */

static void take_question(int server)
{
    int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    struct proxy_question question;
    struct ucred who = {0};
    socklen_t len = sizeof(who);
    uint16_t answer = 0;

    if (fd < 0)
        err(1, "accept");
    if (recv(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question) &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0) {
        answer = question.port;
        if (question.what == PROXY_CALLS)
            answer = link_new(who.pid, question.port);
        else
            host_of(who.pid)->port = question.port;
        send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
    }
    close(fd);
}

static bool is_of(const struct link *link, const struct host *host)
{
    return link->used &&
           (link->ways[0].from == host || link->ways[0].to == host);
}

/* The number of bytes held back on links of `host`. */
static size_t held(const struct host *host)
{
    size_t bytes = 0, l, c;
    int n;

    for (l = 0; l < link_count; l++)
        for (int i = 0; i < 2; i++) {
            const struct way *way = &links[l].ways[i];

            if (!is_of(&links[l], host) || is_open(way))
                continue;
            for (c = 0; c < way->count; c++)
                bytes += way->chunks[(way->first + c) % CHUNKS].len;
            if (links[l].fds[i] >= 0 &&
                ioctl(links[l].fds[i], FIONREAD, &n) == 0)
                bytes += (size_t)n;
        }
    return bytes;
}

static size_t count_links(const struct host *host,
                          const struct host *peer,
                          bool reset)
{
    size_t count = 0, i;

    for (i = 0; i < link_count; i++)
        if (is_of(&links[i], host) && (!peer || is_of(&links[i], peer))) {
            count++;
            if (reset)
                link_close(&links[i], true);
        }
    return count;
}

static void take_command(const char *line)
{
    struct host *host;
    char what[16] = "";
    int pid = 0, number = 0;
    size_t answer;

    if (sscanf(line, "%15s %d %d", what, &pid, &number) < 2)
        errx(1, "unknown command: %s", line);
    host = host_of(pid);
    if (strcmp(what, "heal") == 0) {
        answer = held(host);
        host->hears = host->speaks = true;
        host->delay_ms = 0;
        host->rate = 0;
    } else if (strcmp(what, "reset") == 0) {
        answer = count_links(host, host_of(number), true);
    } else {
        answer = count_links(host, NULL, false);
        if (strcmp(what, "delay") == 0)
            host->delay_ms = number;
        else if (strcmp(what, "rate") == 0)
            host->rate = number;
        else
            host->hears = false;
        if (strcmp(what, "drop") == 0)
            host->speaks = false;
    }
    printf("ok %zu\n", answer);
}

int main(int argc, char **argv)
{
    static struct pollfd fds[FDS];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[80];
    int server;

    if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path))
        errx(2, "usage: proxy SOCKET");
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    strcpy(address.sun_path, argv[1]);
    server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (server < 0 ||
        bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(server, SOMAXCONN) < 0)
        err(1, "%s", argv[1]);
    printf("ok 0\n");
    for (;;) {
        size_t watched = link_count;
        int wait_ms = -1;

        fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = server, .events = POLLIN};
        for (size_t i = 0; i < watched; i++)
            watch(&links[i], &fds[2 + 3 * i], &wait_ms);
        if (poll(fds, (nfds_t)(2 + 3 * watched), wait_ms) < 0)
            err(1, "poll");
        for (size_t i = 0; i < watched; i++)
            if (links[i].used)
                work(&links[i], &fds[2 + 3 * i]);
        if (fds[1].revents)
            take_question(server);
        if (fds[0].revents) {
            if (!fgets(line, sizeof(line), stdin))
                break;
            take_command(line);
        }
    }
    for (size_t i = 0; i < link_count; i++)
        if (links[i].used)
            link_close(&links[i], true);
    unlink(argv[1]);
    return 0;
}
