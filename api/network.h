/* network.h - one tree, as seen from this node: the common part of front-end
 * and back-end.
 *
 *   application
 *     |  cop_network_*, cop_stream_*           inbox: packets, in order
 *   +-v-----------------------------+          news: events, in order
 *   | network: driver_step and wait | <------- deliver, tell, exit
 *   +-v-----------------------------+          filtering: load, filter
 *   | driver                        |
 *
 * Everything here needs the driver's lock. A public function enters the
 * network, does its work, and leaves it. */
#pragma once

#include <coppice/coppice.h>

#include "api/filtering.h"
#include "api/inbox.h"
#include "api/links.h"
#include "api/news.h"
#include "api/readiness.h"
#include "api/stream.h"
#include "net/driver.h"
#include "net/session.h"

struct cop_network {
    struct driver *driver;
    enum node_role role;
    struct filtering *filtering;
    char *filter_path;
    struct cop_communicator *everyone; /* front-end */
    struct inbox inbox;
    struct inbox apart; /* packets of streams with a descriptor of their own */
    struct inbox waste; /* packets that arrived on released streams; the next
                           call returns their credit */
    struct news news;
    struct links lost;           /* front-end */
    struct session_kept session; /* front-end */
    struct cop_stream *streams;  /* by number */
    struct stream_poll *polls;   /* of cop_stream_fd() */
    struct readiness readiness;  /* of cop_network_fd() */
    bool untold;                 /* as in a stream */
    bool out_of_memory;          /* a packet was lost for lack of memory */
    struct driver_ops ops;
    bool launched; /* TELL_LAUNCHED has arrived */
    bool launch_failed;
    int launch_code;
    bool shut_down;
    bool asked; /* EVENT_SHUTDOWN was sent */
    bool ended;
    bool astray; /* the front-end: nodes are not known to have ended */
    bool left;   /* a back-end: everything was accepted before it ended */
    char text[LIMIT_TEXT]; /* why it ended, or failed to launch */
};

/* Make and start the network of a node from `bootstrap` (taken, also on error).
 * Returns 0 or a negative errno with a sentence. */
int network_new(struct cop_network **out,
                struct bootstrap *bootstrap,
                struct cop_error *error);

/* Free the network without a shutdown: kills what still runs. NULL is fine. */
void network_free(struct cop_network *network);

/* Front-end: make the communicator of all back-ends. Returns 0, or -ENOMEM with a
 * sentence. */
int network_make_everyone(struct cop_network *network, struct cop_error *error);

/* Take the lock. Returns 0, or -EPERM in a forked child. */
int network_enter(struct cop_network *network);
void network_leave(struct cop_network *network);

/* Drive the loop until `done` is true, or until `deadline_ms`. Returns as
 * driver_wait(). */
int network_wait(struct cop_network *network,
                 driver_done_fn *done,
                 void *arg,
                 uint64_t deadline_ms);

/* The time `timeout_ms` from now; UINT64_MAX: never. */
uint64_t network_deadline_ms(int timeout_ms);

/* Milliseconds until `deadline_ms`, for driver_wait(). */
int network_left_ms(uint64_t deadline_ms);

/* Update the descriptor of cop_network_fd(): it is readable exactly while a
 * receive or an event would not block (PROTOCOL 14.2). */
void network_signal(struct cop_network *network);

/* Update the descriptors of all streams that have one (PROTOCOL 14.2). */
void network_signal_streams(struct cop_network *network);

/* Take `delivery`, whose `frame` becomes the caller's. Tell the machine, unless
 * it was told before. */
void network_take(struct cop_network *network,
                  struct delivery *delivery,
                  struct frame *frame);

/* End the network immediately, and kill all processes. Entered. */
void network_abort(struct cop_network *network);
