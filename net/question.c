/* question.c - one question to a network's front-end, from another process. */
#include "net/question.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/connection.h"
#include "net/dial.h"
#include "net/libev.h"
#include "wire/limits.h"

struct asking {
    const struct bootstrap *session;
    struct ev_loop *loop;
    struct connections *connections;
    struct dial *dial;
    ev_timer deadline;
    struct frame question;
    struct frame *answer;
    bool called; /* the connection is up */
    bool done;
    int code;
    char text[LIMIT_TEXT];
};

static void finish(struct asking *asking, int code, const char *text)
{
    if (asking->done)
        return;
    asking->done = true;
    asking->code = code;
    snprintf(asking->text, sizeof(asking->text), "%s", text);
}

static void question_on_up(void *arg,
                           struct connection *connection,
                           const struct handshake_identity *peer)
{
    struct asking *asking = arg;
    struct frame frame = frame_ref(&asking->question);

    (void)peer; /* the handshake has checked that the peer is the front-end */
    connection_send(connection, &frame);
}

static void on_frame(void *arg,
                     struct connection *connection,
                     struct frame *frame)
{
    struct asking *asking = arg;

    (void)connection;
    if (asking->done ||
        (frame->type != FRAME_ROWS && frame->type != FRAME_REPORTS)) {
        frame_fini(frame);
        return;
    }
    *asking->answer = *frame;
    finish(asking, 0, "");
}

/* The error for a connection that ended without an answer. */
static int meaning(int code, bool was_up)
{
    switch (code) {
    case 0:
    case -ECONNRESET:
    case -EPIPE:
        return -ENOTCONN;
    case -EACCES:
        return -EKEYREJECTED;
    case -ENXIO:
    case -EPROTO:
        return was_up ? -ENOTCONN : -ENOKEY;
    default:
        return code;
    }
}

static void on_down(void *arg,
                    struct connection *connection,
                    bool was_up,
                    int code,
                    const char *text)
{
    (void)connection;
    code = meaning(code, was_up);
    if (code == -ENOKEY)
        text = "another program listens there now: this network has ended";
    else if (code == -EKEYREJECTED)
        text = "the session file has another key than the network";
    else if (code == -ENOTCONN)
        text = "it has closed the connection: the network has ended";
    finish(arg, code, text);
}

static const struct connection_ops ops = {
    .up = question_on_up,
    .frame = on_frame,
    .down = on_down,
};

static void on_dialed(void *arg, int fd, const char *text)
{
    struct asking *asking = arg;
    int r;

    if (fd == -ECONNREFUSED)
        text = "no process listens there: the network has ended";
    if (fd < 0) {
        finish(asking, fd == -ENETUNREACH ? -EHOSTUNREACH : fd, text);
        return;
    }
    asking->called = true;
    r = connection_new(asking->connections, fd, true, 0);
    if (r < 0)
        finish(asking, r, strerror(-r));
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct asking *asking = timer->data;

    (void)loop;
    (void)events;
    finish(asking, -ETIMEDOUT,
           asking->called ? "it does not answer in time"
                          : "it cannot be reached in time");
}

static int prepare(struct asking *asking, uint32_t timeout_ms)
{
    const struct bootstrap *session = asking->session;
    struct connections_config config = {
        .key = session->key,
        .session = session->session,
        .own = {.rank = RANK_NONE, .role = NODE_OBSERVER},
        .failure_timeout_ms = session->times.failure_timeout_ms,
        .handshake_timeout_ms = timeout_ms,
        .unproved_max = 1,
        .ops = &ops,
        .arg = asking,
    };
    int fd;
    int r;

    asking->loop =
        ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
    if (!asking->loop)
        return -ENOMEM;
    config.loop = asking->loop;
    r = connections_new(&asking->connections, &config);
    if (r < 0)
        return r;
    ev_timer_init(&asking->deadline, on_deadline, timeout_ms / 1e3, 0.);
    asking->deadline.data = asking;
    ev_timer_start(asking->loop, &asking->deadline);
    r = dial_new(&asking->dial, asking->loop, session->parent_address,
                 timeout_ms, on_dialed, asking, &fd);
    if (r > 0)
        on_dialed(asking, fd, "");
    return r < 0 ? r : 0;
}

int question_ask(struct frame *answer,
                 const struct bootstrap *session,
                 const struct frame *question,
                 uint32_t timeout_ms,
                 struct cop_error *error)
{
    struct asking asking = {
        .session = session,
        .question = *question,
        .answer = answer,
    };
    int r;

    r = libev_load(error);
    if (r < 0)
        return r;
    r = prepare(&asking, timeout_ms);
    if (r < 0)
        finish(&asking, r, strerror(-r));
    while (!asking.done) {
        connections_flush(asking.connections, false);
        if (!asking.done)
            ev_run(asking.loop, EVRUN_ONCE);
    }
    dial_free(asking.dial);
    if (asking.connections)
        connections_free(asking.connections);
    if (asking.loop) {
        ev_timer_stop(asking.loop, &asking.deadline);
        ev_loop_destroy(asking.loop);
    }
    if (asking.code < 0)
        return cop_error_set(error, asking.code, "the front-end (%s): %s",
                             session->parent_address, asking.text);
    return 0;
}
