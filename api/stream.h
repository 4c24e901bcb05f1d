/* stream.h - one stream, as the tool sees it. */
#pragma once

#include <coppice/coppice.h>
#include <uthash.h>

#include "api/inbox.h"

/* What the front-end has of a stream, at the root of the tree. */
struct stream_root {
    uint64_t synced; /* the highest marker that has been settled */
    uint64_t wanted; /* a shutdown waits for this one */
    uint64_t losses; /* how many times a marker came back lossy */
    uint64_t told;   /* so many of these a sync has returned 1 for */
    uint64_t links;  /* place in the network's lost links at the last sync */
    uint64_t state_number; /* the last answer to EVENT_STATE: */
    int state_code;
    struct frame state;
    bool opened; /* the answer has come: */
    int open_code;
    uint32_t open_rank;
    char *open_text;
    bool held; /* by a shutdown that waits for it */
};

struct cop_stream {
    struct cop_network *network;
    uint32_t id;
    int send_timeout_ms;
    uint32_t users;           /* calls that are inside */
    bool closed;              /* by the network */
    bool failed;              /* ... because of an error (PROTOCOL 11.5) */
    bool released;            /* by the application */
    bool given;               /* the application has it */
    bool untold;              /* a back-end took a packet since it told of a
                                 receive */
    struct stream_root *root; /* NULL at a back-end */
    struct delivery *first;   /* what was delivered on it */
    struct delivery *untaken; /* from here on the machine does not know */
    UT_hash_handle hh;        /* in network->streams, by number */
};

/* The stream of number `id`, or NULL. Lock held, as for all of these. */
struct cop_stream *stream_find(struct cop_network *network, uint32_t id);

/* The same, made if there is none; NULL: out of memory. */
struct cop_stream *stream_make(struct cop_network *network, uint32_t id);

/* Why nothing more can be done with it: -EIO: it has failed; -ENOTCONN: it is
 * closed. 0 if it is open. */
int stream_error(const struct cop_stream *stream);

/* A call begins, or ends, to work with `stream`: it is not freed meanwhile. The
 * end of the last call frees a stream that the application has released, or
 * that was closed before the application had it. */
void stream_enter(struct cop_stream *stream);
void stream_leave(struct cop_stream *stream);

/* The application is done with it: drop what was delivered. */
void stream_release(struct cop_stream *stream);

/* Tell the machine that what has come is taken, although it waits in the
 * queue: a sync must not wait for credit that only its caller could return.
 * What comes meanwhile is left for the next call, or members that send without
 * a pause would keep this one for ever. */
void stream_take_early(struct cop_stream *stream);

/* Free it; no call is inside. */
void stream_free(struct cop_stream *stream);
