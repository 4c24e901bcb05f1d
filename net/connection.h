/* connection.h - TCP links: proved first, then frames in and out.
 *
 *              proved            connection_close()
 *   HANDSHAKE ------> OPEN --------------------------> CLOSING ---> gone
 *       |              |  broken: down()                  |
 *       +--------------+--------------> gone <------------+
 *
 * All connections of a driver form one set: one receive buffer, one list of
 * those that have something to write. Writing is put off until
 * connections_flush(), once a turn, and is bounded, as reading is, so that no
 * link starves the others.
 *
 * Everything here is called under the driver's lock. Watchers may be touched
 * only while no thread polls the loop; see connections_flush(). */
#pragma once

#include "net/handshake.h"
#include "net/libev.h"
#include "wire/frame.h"

struct connections; /* opaque: a set */
struct connection;  /* opaque: one of them */

/* What becomes of connections; called from within the loop. */
struct connection_ops {
    /* Both ends are proved. */
    void (*up)(void *arg,
               struct connection *connection,
               const struct handshake_identity *peer);

    /* A frame came; it is taken. */
    void (*frame)(void *arg,
                  struct connection *connection,
                  struct frame *frame);

    /* Bytes came that made no frame whole. May be NULL. */
    void (*bytes)(void *arg, struct connection *connection);

    /* It broke, and is freed after the call. `was_up`: it was proved before.
     * `code` is a negative errno, 0 for end-of-file; `text` is a sentence. */
    void (*down)(void *arg,
                 struct connection *connection,
                 bool was_up,
                 int code,
                 const char *text);
};

struct connections_config {
    struct ev_loop *loop;
    const unsigned char *key;     /* kept */
    const unsigned char *session; /* kept */
    struct handshake_identity own;
    uint32_t heartbeat_ms;
    uint32_t failure_timeout_ms;
    uint32_t handshake_timeout_ms;
    uint32_t unproved_max; /* more in a handshake: the oldest is closed */
    const struct connection_ops *ops; /* kept */
    void *arg;
};

/* Make an empty set. Returns 0, -EINVAL or -ENOMEM. */
int connections_new(struct connections **out,
                    const struct connections_config *config);

/* Close and free all connections without a call back, and the set.
 * NULL is fine. */
void connections_free(struct connections *set);

/* In a forked child: close all descriptors, and nothing else. */
void connections_abandon(struct connections *set);

/* Change what the set says of itself in handshakes to come. */
void connections_identify(struct connections *set,
                          const struct handshake_identity *own);

/* Change how long handshakes to come may take. */
void connections_be_patient(struct connections *set,
                            uint32_t handshake_timeout_ms);

/* `busy`: what has arrived is not worked off yet, so read little at a time. The
 * senders then wait for the sockets, and queues here stay short. */
void connections_be_busy(struct connections *set, bool busy);

/* Time is `now_ms`, and the node is about to look for silence. A connection on
 * which nothing but repeated heartbeats has come for `heartbeat_ms` is not polled
 * for more of them (PROTOCOL 6.1e): read those that have come. */
void connections_tick(struct connections *set, uint64_t now_ms);

/* Begin a handshake on a connected socket.
 *
 * fd         taken, also on error
 * dialer     whether we have called; if not, the socket is one of a listener's
 * peer_rank  the other end, as in handshake_init()
 *
 * Returns 0, or a negative errno if the socket cannot be set up. */
int connection_new(struct connections *set,
                   int fd,
                   bool dialer,
                   uint32_t peer_rank);

/* Close those that we have dialled and that are in their handshake still, and
 * do not call back. No thread polls. */
void connections_hang_up(struct connections *set);

/* A number of the caller's, 0 at first. */
void connection_set_link(struct connection *connection, uint32_t link);
uint32_t connection_link(const struct connection *connection);

/* When the bytes came that are being read; 0: now. */
uint64_t connection_heard_ms(const struct connection *connection);

/* Whether we have called. */
bool connection_is_dialer(const struct connection *connection);

/* Queue a frame; it is taken. Nothing is written yet. A queue for which there
 * is no memory breaks the connection. */
void connection_send(struct connection *connection, struct frame *frame);

/* Send what is queued, then close; the pointer is not to be used any more,
 * and down() is not called. */
void connection_close(struct connection *connection);

/* For a process that has crashed: write what is queued and `last` behind it,
 * then wait until the other end has closed the connection; until `until_ms` of
 * the monotonic clock. Nothing but the system is called. */
void connection_write_last(const struct connection *connection,
                           const unsigned char *last,
                           size_t len,
                           uint64_t until_ms);

/* Break it, as a fault of the network would: both ends see a reset. down() is
 * called from within the loop, later. */
void connection_reset(struct connection *connection);

/* Bytes queued in all connections since the last flush. */
size_t connections_queued(const struct connections *set);

/* Write what is queued, as far as the sockets take it.
 *
 * polling  another thread polls the loop just now, so that watchers may not be
 *          touched
 *
 * Returns whether the polling thread must be woken to flush itself. */
bool connections_flush(struct connections *set, bool polling);

/* Whether one that was closed still sends, or waits to be read. */
bool connections_linger(const struct connections *set);
