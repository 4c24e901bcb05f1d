/* connection.c - TCP links: a handshake first, then frames. */
#include "net/connection.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "net/output.h"
#include "net/tcp.h"
#include "wire/limits.h"

/* The receive buffer that all connections of a set share. */
#define RECEIVE_LEN 65536

/* How much is read after a long payload: usually the header of the next frame,
 * whose payload then goes directly to its place too. */
#define BEHIND_LEN 4096

/* How much is read at once while the node has other work to do. */
#define BUSY_LEN 4096

/* Most bytes that one connection reads past the shared buffer in one turn. */
#define TURN_LEN (1 << 20)

enum state {
    STATE_HANDSHAKE,
    STATE_OPEN,
    STATE_CLOSING,
    STATE_GONE, /* to be freed */
};

struct connection {
    struct connections *set;
    struct connection *prev; /* in set->all */
    struct connection *next;
    struct connection *touched_next; /* in set->touched */
    struct handshake *handshake;     /* only in STATE_HANDSHAKE */
    ev_io io;
    ev_timer timer; /* the handshake's, or the closing's, deadline */
    enum state state;
    uint32_t link;
    bool touched;
    bool framed;     /* this read completed a frame */
    bool progressed; /* CLOSING: bytes were written since the timer was set */
    bool broken;     /* writing failed: the queue is lost */
    bool no_memory;  /* for lack of memory */
    int write_error; /* an errno, or 0 */
    bool write_shut; /* CLOSING: the write side is shut down */
    bool dialer;
    bool active;       /* more than repeated heartbeats came lately */
    bool resting;      /* a repeated heartbeat alone does not wake us */
    uint64_t heard_ms; /* when the bytes being read arrived; 0: now */
    struct output output;
    struct frame_reader reader;
};

struct connections {
    struct connections_config config;
    unsigned char *buffer;
    size_t receive_len;     /* how many bytes of it are used */
    struct connection *all; /* oldest first */
    struct connection *touched;
    size_t queued;
    uint32_t unproved_count;
    uint32_t closing_count;
    uint64_t turn_ms; /* when inactive connections come to rest */
    uint64_t tick_ms; /* the time of connections_tick(), within it; else 0 */
    bool abandoned;   /* descriptors are closed; touch nothing else */
};

/* ---- writing ---- */

static void connection_touch(struct connection *c)
{
    if (c->touched)
        return;
    c->touched = true;
    c->touched_next = c->set->touched;
    c->set->touched = c;
}

void connection_send(struct connection *c, struct frame *frame)
{
    size_t len = frame_len(frame);

    assert(c->state == STATE_OPEN);
    if (!c->broken) {
        if (output_put_frame(&c->output, frame) < 0) {
            c->broken = true;
            c->no_memory = true;
            output_drop(&c->output);
        } else {
            c->set->queued += len;
        }
        connection_touch(c);
    }
    frame_fini(frame);
}

/* Write what the socket takes, up to the limit of one turn. */
static void write_some(struct connection *c)
{
    ssize_t n = output_write(&c->output, c->io.fd);

    if (n > 0)
        c->progressed = true;
    if (n >= 0)
        return;
    /* The data that the peer has sent may still be read, and that read ends the
     * connection. After ENOBUFS the socket does not report an error. */
    c->broken = true;
    c->write_error = n == -EPIPE ? ECONNRESET : (int)-n;
    shutdown(c->io.fd, SHUT_RDWR);
    output_drop(&c->output);
}

/* ---- ends ---- */

static void connection_watch(struct connection *c, int events)
{
    struct ev_loop *loop = c->set->config.loop;

    if (ev_is_active(&c->io) && (c->io.events & (EV_READ | EV_WRITE)) == events)
        return;
    ev_io_stop(loop, &c->io);
    ev_io_set(&c->io, c->io.fd, events);
    ev_io_start(loop, &c->io);
}

/* Free a connection in STATE_GONE; its descriptor is closed. */
static void dispose(struct connection *c)
{
    struct connections *set = c->set;

    output_fini(&c->output);
    free(c->handshake); /* not NULL if abandoned in the handshake */
    frame_reader_fini(&c->reader);
    DL_DELETE(set->all, c);
    free(c);
}

/* End the connection now: stop watching, close. The next flush frees it. */
static void connection_end(struct connection *c)
{
    struct connections *set = c->set;

    if (c->state == STATE_HANDSHAKE)
        set->unproved_count--;
    if (c->state == STATE_CLOSING)
        set->closing_count--;
    c->state = STATE_GONE;
    ev_io_stop(set->config.loop, &c->io);
    ev_timer_stop(set->config.loop, &c->timer);
    /* A forked child of the application may hold the socket too. */
    shutdown(c->io.fd, SHUT_RDWR);
    close(c->io.fd);
    c->io.fd = -1;
    if (c->handshake)
        sodium_memzero(c->handshake, sizeof(*c->handshake));
    free(c->handshake);
    c->handshake = NULL;
    connection_touch(c);
}

static void connection_fail(struct connection *c, int code, const char *text)
{
    const struct connections_config *config = &c->set->config;
    enum state state = c->state;

    if (state != STATE_GONE)
        connection_end(c);
    if (state == STATE_HANDSHAKE || state == STATE_OPEN)
        config->ops->down(config->arg, c, state == STATE_OPEN, code, text);
}

/* CLOSING: once all is written, send end-of-file and wait for the peer's. */
static void connection_shut(struct connection *c)
{
    if (c->write_shut || !output_is_empty(&c->output))
        return;
    c->write_shut = true;
    if (shutdown(c->io.fd, SHUT_WR) < 0)
        connection_end(c);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct connection *c = timer->data;

    (void)loop;
    (void)events;
    connection_fail(c, -ETIMEDOUT,
                    "the other end was silent during the handshake");
}

static void set_timer(struct connection *c, uint32_t ms)
{
    ev_timer_stop(c->set->config.loop, &c->timer);
    ev_timer_set(&c->timer, ms / 1e3, 0.);
    ev_timer_start(c->set->config.loop, &c->timer);
}

void connection_close(struct connection *c)
{
    assert(c->state == STATE_OPEN);
    c->state = STATE_CLOSING;
    c->set->closing_count++;
    connection_touch(c);
}

void connection_write_last(const struct connection *c,
                           const unsigned char *last,
                           size_t len,
                           uint64_t until_ms)
{
    if (c->state != STATE_OPEN || c->broken ||
        !output_write_last(&c->output, c->io.fd, last, len, until_ms))
        return;
    shutdown(c->io.fd, SHUT_WR);
    tcp_wait_closed(c->io.fd, until_ms);
}

void connection_reset(struct connection *c)
{
    tcp_reset(c->io.fd);
}

/* ---- reading ---- */

/* Do not wake for repeated heartbeats alone, or do (PROTOCOL 6.1e). */
static void set_resting(struct connection *c, bool resting)
{
    if (tcp_set_low_water(c->io.fd, resting ? FRAME_HEADER_LEN : 1) == 0)
        c->resting = resting;
}

static void received_frame(struct connection *c, struct frame *frame)
{
    c->framed = true;
    c->set->config.ops->frame(c->set->config.arg, c, frame);
}

/* Take frames from the shared buffer. */
static void take_frames(struct connection *c,
                        const unsigned char *bytes,
                        size_t len)
{
    struct frame frame;
    char text[160];
    int r = 1;

    while (len > 0 && c->state == STATE_OPEN) {
        r = frame_reader_take(&c->reader, &bytes, &len, &frame);
        if (r <= 0)
            break;
        received_frame(c, &frame);
    }
    if (r == -ENOMEM) {
        snprintf(text, sizeof(text),
                 "no memory for a frame of %u bytes: send "
                 "smaller packets, or allow this process more memory",
                 frame_reader_wanted(&c->reader));
        connection_fail(c, r, text);
    } else if (r < 0) {
        connection_fail(c, r,
                        r == -EMSGSIZE ? "it sent a frame above the limit"
                                       : "it sent what is no frame");
    }
}

static void take_handshake(struct connection *c,
                           const unsigned char *bytes,
                           size_t len)
{
    const struct connections_config *config = &c->set->config;
    struct handshake_identity peer;
    const unsigned char *output;
    size_t output_len;
    int r;

    r = handshake_take(c->handshake, &bytes, &len);
    output = handshake_output(c->handshake, &output_len);
    if (output_len > 0 && output_put_bytes(&c->output, output, output_len) < 0)
        r = -ENOMEM;
    connection_touch(c);
    if (r < 0) {
        write_some(c); /* tell the other end why, if possible */
        connection_fail(c, r, handshake_error(r));
        return;
    }
    if (r == 0)
        return;
    peer = *handshake_peer(c->handshake);
    sodium_memzero(c->handshake, sizeof(*c->handshake));
    free(c->handshake);
    c->handshake = NULL;
    c->set->unproved_count--;
    c->state = STATE_OPEN;
    c->active = true;
    ev_timer_stop(config->loop, &c->timer);
    config->ops->up(config->arg, c, &peer);
    take_frames(c, bytes, len);
}

static void read_end(struct connection *c, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (c->no_memory)
        connection_fail(c, -ENOMEM, "no memory for what was to be sent");
    else if (n < 0)
        connection_fail(c, -errno, tcp_error(errno));
    else if (c->write_error)
        connection_fail(c, -c->write_error, tcp_error(c->write_error));
    else if (c->state == STATE_HANDSHAKE)
        connection_fail(
            c, -ECONNRESET,
            c->dialer
                ? "the other end closed the link during the handshake"
                : "the caller closed the link during the handshake: it does "
                  "not know this session's key, or is no node of ours");
    else
        connection_fail(c, 0,
                        frame_reader_rests(&c->reader)
                            ? "the other end closed the link"
                            : "it ended in the middle of a frame");
}

/* The peer has sent more than repeated heartbeats: wake for everything. */
static void be_active(struct connection *c)
{
    c->active = true;
    if (c->resting)
        set_resting(c, false);
}

/* Read once. A long payload goes directly to its place; all other bytes go
 * through the shared buffer. */
static void read_some(struct connection *c)
{
    struct connections *set = c->set;
    struct frame frame;
    unsigned char *space = NULL;
    size_t space_len = 0;
    ssize_t n;

    if (c->state == STATE_OPEN)
        space = frame_reader_space(&c->reader, &space_len);
    if (space_len > TURN_LEN)
        space_len = TURN_LEN;
    n = tcp_read(c->io.fd, space, space_len, set->buffer,
                 space ? BEHIND_LEN : set->receive_len);
    if (n <= 0) {
        read_end(c, n);
        return;
    }
    c->heard_ms = set->tick_ms ? set->tick_ms - tcp_heard_ago_ms(c->io.fd) : 0;
    if (c->state == STATE_HANDSHAKE) {
        take_handshake(c, set->buffer, (size_t)n);
    } else if (c->state == STATE_OPEN) {
        c->framed = false;
        if ((size_t)n < space_len)
            space_len = (size_t)n;
        if (space && frame_reader_filled(&c->reader, space_len, &frame) > 0)
            received_frame(c, &frame);
        take_frames(c, set->buffer, (size_t)n - space_len);
        if (!c->framed && c->state == STATE_OPEN && set->config.ops->bytes)
            set->config.ops->bytes(set->config.arg, c);
        if (c->state == STATE_OPEN &&
            ((size_t)n >= FRAME_HEADER_LEN || !frame_reader_rests(&c->reader)))
            be_active(c);
    }
}

static void connection_on_io(struct ev_loop *loop, ev_io *io, int events)
{
    struct connection *c = io->data;

    (void)loop;
    if (events & EV_WRITE)
        connection_touch(c);
    if (events & EV_READ)
        read_some(c);
}

/* ---- the set ---- */

int connections_new(struct connections **out,
                    const struct connections_config *config)
{
    struct connections *set;

    if (!config->loop || config->unproved_max == 0)
        return -EINVAL;
    set = calloc(1, sizeof(*set));
    if (!set)
        return -ENOMEM;
    set->config = *config;
    set->receive_len = RECEIVE_LEN;
    set->buffer = malloc(RECEIVE_LEN);
    if (!set->buffer) {
        free(set);
        return -ENOMEM;
    }
    *out = set;
    return 0;
}

void connections_free(struct connections *set)
{
    struct connection *c, *next;

    if (!set)
        return;
    DL_FOREACH_SAFE (set->all, c, next) {
        if (c->state != STATE_GONE && !set->abandoned)
            connection_end(c);
        dispose(c);
    }
    free(set->buffer);
    free(set);
}

void connections_abandon(struct connections *set)
{
    struct connection *c;

    set->abandoned = true;
    DL_FOREACH (set->all, c)
        if (c->io.fd >= 0)
            close(c->io.fd);
}

void connections_identify(struct connections *set,
                          const struct handshake_identity *own)
{
    set->config.own = *own;
}

void connections_be_patient(struct connections *set,
                            uint32_t handshake_timeout_ms)
{
    set->config.handshake_timeout_ms = handshake_timeout_ms;
}

void connections_be_busy(struct connections *set, bool busy)
{
    set->receive_len = busy ? BUSY_LEN : RECEIVE_LEN;
}

void connections_tick(struct connections *set, uint64_t now_ms)
{
    bool turn = now_ms >= set->turn_ms;
    struct connection *c;

    if (turn)
        set->turn_ms = now_ms + set->config.heartbeat_ms;
    set->tick_ms = now_ms;
    DL_FOREACH (set->all, c) {
        if (c->state != STATE_OPEN)
            continue;
        if (c->resting)
            read_some(c);
        else if (turn && !c->active)
            set_resting(c, true);
        if (turn)
            c->active = false;
    }
    set->tick_ms = 0;
}

/* Too many connections are unproved: close the oldest that another node opened
 * (PROTOCOL 1.2). Callers must not cost us our own call to our parent. */
static void close_oldest(struct connections *set)
{
    struct connection *c;

    DL_FOREACH (set->all, c)
        if (c->state == STATE_HANDSHAKE && !c->dialer) {
            connection_fail(c, -ECONNABORTED, "too many unproved connections");
            return;
        }
}

static struct connection *connection_make(struct connections *set, int fd)
{
    struct connection *c = calloc(1, sizeof(*c));

    if (c)
        c->handshake = malloc(sizeof(*c->handshake));
    if (!c || !c->handshake) {
        free(c);
        return NULL;
    }
    c->set = set;
    c->state = STATE_HANDSHAKE;
    frame_reader_init(&c->reader, LIMIT_FRAME);
    ev_io_init(&c->io, connection_on_io, fd, EV_READ);
    c->io.data = c;
    ev_init(&c->timer, on_timer);
    /* If this process was delayed, check the socket before the timeout. */
    ev_set_priority(&c->timer, EV_MINPRI);
    c->timer.data = c;
    return c;
}

int connection_new(struct connections *set,
                   int fd,
                   bool dialer,
                   uint32_t peer_rank)
{
    const struct connections_config *config = &set->config;
    unsigned char nonce[HANDSHAKE_NONCE_LEN];
    const unsigned char *output;
    struct connection *c = NULL;
    size_t len;
    int r = dialer ? tcp_prepare(fd, config->failure_timeout_ms) : 0;

    if (r == 0)
        c = connection_make(set, fd);
    if (!c) {
        close(fd);
        return r < 0 ? r : -ENOMEM;
    }
    if (set->unproved_count >= config->unproved_max)
        close_oldest(set);
    set->unproved_count++;
    c->dialer = dialer;
    DL_APPEND(set->all, c);
    randombytes_buf(nonce, sizeof(nonce));
    handshake_init(c->handshake, config->key, config->session, dialer,
                   &config->own, peer_rank, nonce);
    output = handshake_output(c->handshake, &len);
    if (len > 0 && output_put_bytes(&c->output, output, len) < 0) {
        connection_end(c);
        return -ENOMEM;
    }
    ev_io_start(config->loop, &c->io);
    set_timer(c, config->handshake_timeout_ms);
    connection_touch(c);
    if (!dialer)
        read_some(c); /* the hello has usually arrived */
    return 0;
}

void connections_hang_up(struct connections *set)
{
    struct connection *c;

    DL_FOREACH (set->all, c)
        if (c->state == STATE_HANDSHAKE && c->dialer)
            connection_end(c);
}

void connection_set_link(struct connection *connection, uint32_t link)
{
    connection->link = link;
}

uint32_t connection_link(const struct connection *connection)
{
    return connection->link;
}

uint64_t connection_heard_ms(const struct connection *connection)
{
    return connection->heard_ms;
}

bool connection_is_dialer(const struct connection *connection)
{
    return connection->dialer;
}

size_t connections_queued(const struct connections *set)
{
    return set->queued;
}

/* Set the watchers of `c` according to its queue. No thread may be polling. */
static void settle(struct connection *c)
{
    struct connections *set = c->set;

    if (c->state == STATE_GONE) {
        dispose(c);
        return;
    }
    if (c->state == STATE_CLOSING) {
        if (!ev_is_active(&c->timer) || c->progressed)
            set_timer(c, set->config.failure_timeout_ms);
        c->progressed = false;
        connection_shut(c);
    }
    if (c->state != STATE_GONE && c->no_memory)
        connection_fail(c, -ENOMEM, "no memory for what was to be sent");
    if (c->state != STATE_GONE)
        connection_watch(c, EV_READ |
                                (!output_is_empty(&c->output) ? EV_WRITE : 0));
}

/* Whether `c` needs a change that only the polling thread can make. */
static bool needs_settling(const struct connection *c)
{
    return !output_is_empty(&c->output) || c->state != STATE_OPEN ||
           c->no_memory || (c->io.events & EV_WRITE);
}

/* Flush and settle the connections in the touched list. */
static bool flush_touched(struct connections *set, bool polling)
{
    struct connection *c = set->touched, *next;
    bool wake = false;

    set->touched = NULL;
    for (; c; c = next) {
        next = c->touched_next;
        c->touched = false;
        if (c->state != STATE_GONE && !c->broken)
            write_some(c);
        if (!polling) {
            settle(c);
        } else if (needs_settling(c)) {
            connection_touch(c);
            wake = true;
        }
    }
    return wake;
}

bool connections_flush(struct connections *set, bool polling)
{
    bool wake;

    do {
        set->queued = 0;
        wake = flush_touched(set, polling);
    } while (!polling && set->touched); /* ending one may touch others */
    return wake;
}

bool connections_linger(const struct connections *set)
{
    return set->closing_count > 0;
}
