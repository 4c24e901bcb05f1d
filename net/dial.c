/* dial.c - calling a node at its addresses. */
#include "net/dial.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"
#include "wire/limits.h"

/* The delay after which the next address is tried, if there is no answer. */
#define STAGGER_S 0.25

struct attempt {
    ev_io io;
    bool active;
};

struct dial {
    struct ev_loop *loop;
    ev_timer deadline;
    ev_timer stagger; /* also begins the first attempt */
    dial_done_fn *done;
    void *arg;
    struct sockaddr_storage addresses[ADDRESS_COUNT_MAX];
    socklen_t lens[ADDRESS_COUNT_MAX];
    struct attempt attempts[ADDRESS_COUNT_MAX];
    int count;
    int begun;
    int active;
    int error;     /* of the last failed attempt, preferably not refused */
    bool starting; /* within dial_new(), which must not call back */
    int at_once;   /* the socket connected in dial_new(), or -1 */
    char text[LIMIT_ADDRESS + 1];
};

static void stop_attempt(struct dial *dial, struct attempt *attempt)
{
    if (!attempt->active)
        return;
    ev_io_stop(dial->loop, &attempt->io);
    attempt->active = false;
    dial->active--;
}

static void stop_all(struct dial *dial)
{
    ev_timer_stop(dial->loop, &dial->deadline);
    ev_timer_stop(dial->loop, &dial->stagger);
    for (int i = 0; i < dial->count; i++)
        if (dial->attempts[i].active) {
            stop_attempt(dial, &dial->attempts[i]);
            close(dial->attempts[i].io.fd);
        }
}

/* It is over; `fd` is a socket or a negative errno. */
static void finish(struct dial *dial, int fd)
{
    char text[LIMIT_ADDRESS + 128];

    stop_all(dial);
    *text = '\0';
    if (fd < 0)
        snprintf(text, sizeof(text), "cannot connect to %s: %s", dial->text,
                 strerror(-fd));
    dial->done(dial->arg, fd, text);
}

/* An attempt failed: the next one begins at once. */
static void failed(struct dial *dial, int error)
{
    if (dial->error == 0 || error != -ECONNREFUSED)
        dial->error = error;
    if (dial->starting)
        return; /* the timer that is set starts the next attempt */
    if (dial->begun < dial->count)
        ev_feed_event(dial->loop, &dial->stagger, EV_TIMER);
    else if (dial->active == 0)
        finish(dial, dial->error);
}

static void on_connect(struct ev_loop *loop, ev_io *io, int events)
{
    struct dial *dial = io->data;
    struct attempt *attempt = (struct attempt *)(void *)io;
    int error = 0;
    socklen_t len = sizeof(error);

    (void)loop;
    (void)events;
    if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    stop_attempt(dial, attempt);
    if (error == 0) {
        finish(dial, io->fd);
        return;
    }
    close(io->fd);
    failed(dial, -error);
}

/* Whether the other end has answered. On the same host it has when connect()
 * returns, although connect() says EINPROGRESS. */
static bool has_answered(int fd)
{
    struct pollfd slot = {.fd = fd, .events = POLLOUT};

    return poll(&slot, 1, 0) == 1 && slot.revents == POLLOUT;
}

/* Begin attempt `i`. */
static void dial_begin(struct dial *dial, int i)
{
    const struct sockaddr *address = (struct sockaddr *)&dial->addresses[i];
    struct attempt *attempt = &dial->attempts[i];
    int fd;

    fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                0);
    if (fd < 0) {
        failed(dial, -errno);
        return;
    }
    if (connect(fd, address, dial->lens[i]) < 0 && errno != EINPROGRESS) {
        int error = -errno;

        close(fd);
        failed(dial, error);
        return;
    }
    if (dial->starting && has_answered(fd)) {
        dial->at_once = fd;
        return;
    }
    ev_io_init(&attempt->io, on_connect, fd, EV_WRITE);
    attempt->io.data = dial;
    attempt->active = true;
    dial->active++;
    ev_io_start(dial->loop, &attempt->io);
}

static void on_stagger(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct dial *dial = timer->data;

    (void)events;
    ev_timer_stop(loop, timer);
    if (dial->begun >= dial->count) {
        if (dial->active == 0)
            finish(dial, dial->error);
        return;
    }
    if (dial->begun + 1 < dial->count) {
        ev_timer_set(timer, STAGGER_S, 0.);
        ev_timer_start(loop, timer);
    }
    dial_begin(dial, dial->begun++);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)loop;
    (void)events;
    finish(timer->data, -ETIMEDOUT);
}

static int read_addresses(struct dial *dial, const char *text)
{
    int r = 0;

    while (dial->count < ADDRESS_COUNT_MAX) {
        r = address_next(&text, &dial->addresses[dial->count],
                         &dial->lens[dial->count]);
        if (r <= 0)
            break;
        dial->count++;
    }
    if (r < 0)
        return r;
    return dial->count > 0 ? 0 : -EBADMSG;
}

int dial_new(struct dial **out,
             struct ev_loop *loop,
             const char *addresses,
             uint32_t timeout_ms,
             dial_done_fn *done,
             void *arg,
             int *fd)
{
    struct dial *dial;
    int r;

    dial = calloc(1, sizeof(*dial));
    if (!dial)
        return -ENOMEM;
    r = read_addresses(dial, addresses);
    if (r < 0) {
        free(dial);
        return r;
    }
    dial->loop = loop;
    dial->done = done;
    dial->arg = arg;
    dial->at_once = -1;
    ev_timer_init(&dial->stagger, on_stagger, STAGGER_S, 0.);
    dial->stagger.data = dial;
    dial->starting = true;
    dial_begin(dial, dial->begun++);
    dial->starting = false;
    if (dial->at_once >= 0) {
        *fd = dial->at_once;
        free(dial);
        return 1;
    }
    snprintf(dial->text, sizeof(dial->text), "%s", addresses);
    ev_timer_init(&dial->deadline, on_deadline, timeout_ms / 1e3, 0.);
    dial->deadline.data = dial;
    /* If this process was delayed, check the sockets before the timeout. */
    ev_set_priority(&dial->deadline, EV_MINPRI);
    ev_timer_start(loop, &dial->deadline);
    if (dial->active == 0)
        ev_timer_set(&dial->stagger, 0., 0.);
    ev_timer_start(loop, &dial->stagger);
    *out = dial;
    return 0;
}

void dial_free(struct dial *dial)
{
    if (!dial)
        return;
    stop_all(dial);
    free(dial);
}
