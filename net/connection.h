/* connection.h - TCP links: proved first, then frames in and out.
 *
 *              proved            connection_close()
 *   HANDSHAKE ------> OPEN --------------------------> CLOSING ---> gone
 *       |              |  broken: down()                  |
 *       +--------------+--------------> gone <------------+
 *
 * All connections of a driver form one set, with one receive buffer and one
 * list of connections to flush. connections_flush() writes frames, once a turn.
 * Reading and writing are bounded, so that no link starves the others.
 *
 * Everything here is called under the driver's lock. Watchers may be touched
 * only while no thread polls the loop; see connections_flush(). */
#pragma once

#include "net/handshake.h"
#include "net/libev.h"
#include "wire/frame.h"

struct connections; /* opaque: a set */
struct connection;  /* opaque: one of them */

/* What happens to connections; called from within the loop. */
struct connection_ops {
    /* Both ends have proved the key. */
    void (*up)(void *arg,
               struct connection *connection,
               const struct handshake_identity *peer);

    /* A frame has arrived; it is taken. */
    void (*frame)(void *arg,
                  struct connection *connection,
                  struct frame *frame);

    /* Bytes have arrived that complete no frame. May be NULL. */
    void (*bytes)(void *arg, struct connection *connection);

    /* The connection broke, and is freed after the call. `was_up`: after up().
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
    uint32_t unproved_max;            /* beyond it the oldest is closed */
    const struct connection_ops *ops; /* kept */
    void *arg;
};

/* Make an empty set. Returns 0, -EINVAL or -ENOMEM. */
int connections_new(struct connections **out,
                    const struct connections_config *config);

/* Free the set, and close and free all connections without a callback. NULL is
 * fine. */
void connections_free(struct connections *set);

/* In a forked child: close all descriptors, and nothing else. */
void connections_abandon(struct connections *set);

/* Change the identity that the set sends in future handshakes. */
void connections_identify(struct connections *set,
                          const struct handshake_identity *own);

/* Change the time limit of future handshakes. */
void connections_be_patient(struct connections *set,
                            uint32_t handshake_timeout_ms);

/* `busy`: the node has unprocessed input, so read little at a time. The sockets
 * then put back-pressure on the senders, and queues here stay short. */
void connections_be_busy(struct connections *set, bool busy);

/* The time is `now_ms`, and the node is about to check for silence. A
 * connection that has brought only repeated heartbeats for `heartbeat_ms` is
 * not polled for more of them (PROTOCOL 6.1e): read those that have arrived. */
void connections_tick(struct connections *set, uint64_t now_ms);

/* Begin a handshake on a connected socket.
 *
 * fd         taken, also on error
 * dialer     whether this node has called; else a listener accepted the socket
 * peer_rank  the other end, as in handshake_init()
 *
 * Returns 0, or a negative errno if the socket cannot be set up. */
int connection_new(struct connections *set,
                   int fd,
                   bool dialer,
                   uint32_t peer_rank);

/* Close the connections that we have dialled and whose handshake is not done,
 * without a callback. No thread may be polling. */
void connections_hang_up(struct connections *set);

/* A number for the caller's use, 0 at first. */
void connection_set_link(struct connection *connection, uint32_t link);
uint32_t connection_link(const struct connection *connection);

/* When the bytes being read arrived; 0: now. */
uint64_t connection_heard_ms(const struct connection *connection);

/* Whether this node has called. */
bool connection_is_dialer(const struct connection *connection);

/* Queue a frame, which is taken, without writing yet. If there is no memory,
 * the connection breaks. */
void connection_send(struct connection *connection, struct frame *frame);

/* Send what is queued, then close. The pointer is invalid after this call, and
 * down() is not called. */
void connection_close(struct connection *connection);

/* For a process that has crashed: write what is queued, then `last`. Then wait
 * until the other end has closed the connection, or until `until_ms` of the
 * monotonic clock. Makes system calls only. */
void connection_write_last(const struct connection *connection,
                           const unsigned char *last,
                           size_t len,
                           uint64_t until_ms);

/* Break the connection, as a network fault would: both ends see a reset. down()
 * is called later, from within the loop. */
void connection_reset(struct connection *connection);

/* Bytes queued in all connections since the last flush. */
size_t connections_queued(const struct connections *set);

/* Write what is queued, as far as the sockets take it.
 *
 * polling  another thread is polling the loop, so watchers must not be touched
 *
 * Returns whether the polling thread must be woken to flush. */
bool connections_flush(struct connections *set, bool polling);

/* Whether one that was closed still sends, or waits to be read. */
bool connections_linger(const struct connections *set);
