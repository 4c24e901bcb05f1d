/* stream.h - one stream, as the tool sees it. */
#pragma once

#include <coppice/coppice.h>
#include <uthash.h>

#include "api/inbox.h"
#include "api/readiness.h"

/* The front-end's part of a stream, at the root of the tree. */
struct stream_root {
    uint64_t synced; /* the highest marker that has been settled */
    uint64_t wanted; /* a shutdown waits for this one */
    uint64_t losses; /* how many markers came back lossy */
    uint64_t told;   /* how many of these a sync has reported by returning 1 */
    uint64_t links;  /* place in the network's lost links at the last sync */
    uint64_t state_number; /* the last answer to EVENT_STATE: */
    int state_code;
    struct frame state;
    bool opened; /* the answer has arrived: */
    int open_code;
    uint32_t open_rank;
    char *open_text;
    bool held; /* a shutdown is waiting for it */
};

/* The descriptor of a stream whose packets are apart from those of others. */
struct stream_poll {
    struct readiness readiness;
    struct cop_stream *stream;
    struct stream_poll *prev; /* in network->polls */
    struct stream_poll *next;
};

struct cop_stream {
    struct cop_network *network;
    uint32_t id;
    int send_timeout_ms;
    uint32_t users;           /* calls in progress */
    bool closed;              /* by the network */
    bool failed;              /* ... because of an error (PROTOCOL 11.5) */
    bool released;            /* by the application */
    bool given;               /* the application has a pointer to it */
    bool untold;              /* a back-end has taken a packet and not told the
                                 machine of a receive since */
    struct stream_root *root; /* NULL at a back-end */
    struct delivery *first;   /* deliveries of this stream */
    struct delivery *untaken; /* the first one not reported to the machine */
    struct stream_poll *poll; /* once cop_stream_fd() was called */
    UT_hash_handle hh;        /* in network->streams, by number */
};

/* The stream with number `id`, or NULL. All functions here need the lock. */
struct cop_stream *stream_find(struct cop_network *network, uint32_t id);

/* The stream with number `id`, made if there is none; NULL: out of memory. */
struct cop_stream *stream_make(struct cop_network *network, uint32_t id);

/* The queue that holds the stream's deliveries. */
struct inbox *stream_inbox(const struct cop_stream *stream);

/* Update the descriptor of cop_stream_fd() (PROTOCOL 14.2). */
void stream_signal(struct cop_stream *stream);

/* Why the stream cannot be used: -EIO: it has failed; -ENOTCONN: the network has
 * ended; -EPIPE: it is closed. 0 if it is open. */
int stream_error(const struct cop_stream *stream);

/* Begin or end a call on `stream`, which is not freed between them. The end of
 * the last call frees a stream that the application has released, or that was
 * closed before the application had it. */
void stream_enter(struct cop_stream *stream);
void stream_leave(struct cop_stream *stream);

/* The application has released the stream: drop its deliveries. */
void stream_release(struct cop_stream *stream);

/* Report the queued packets as taken to the machine: a sync must not wait for
 * credit that only its caller could return. Packets that arrive during the call
 * are left for the next one; otherwise senders that do not pause would keep it
 * busy for ever. */
void stream_take_early(struct cop_stream *stream);

/* Free the stream; no call may be in progress. */
void stream_free(struct cop_stream *stream);
