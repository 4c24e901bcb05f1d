/* network.h - one tree, as seen from this node: what front-end and back-end
 * have alike.
 *
 *   application
 *     |  cop_network_*, cop_stream_*           inbox: packets, in order
 *   +-v-----------------------------+          news: events, in order
 *   | network: driver_step and wait | <------- deliver, tell, exit
 *   +-v-----------------------------+          filtering: load, filter
 *   | driver                        |
 *
 * Everything here is under the driver's lock. A public function enters the
 * network, does its work, and leaves it. */
#pragma once

#include <coppice/coppice.h>

#include "api/filtering.h"
#include "api/inbox.h"
#include "api/links.h"
#include "api/news.h"
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
    struct inbox waste; /* what came on streams that were released: its credit
                           is returned by the next call */
    struct news news;
    struct links lost;           /* front-end */
    struct session_kept session; /* front-end */
    struct cop_stream *streams;  /* by number */
    int fd;                      /* an eventfd, once asked for; else -1 */
    bool is_readable;
    bool untold;        /* as in a stream */
    bool out_of_memory; /* a packet was lost for that */
    struct driver_ops ops;
    bool launched; /* its table is here */
    bool launch_failed;
    int launch_code;
    bool shut_down;
    bool ended;
    char text[LIMIT_TEXT]; /* why it ended, or could not be launched */
};

/* Make the network of a node that was born with `bootstrap` (taken, also on
 * error), and begin. Returns 0 or a negative errno with a sentence. */
int network_new(struct cop_network **out,
                struct bootstrap *bootstrap,
                struct cop_error *error);

/* Free it as it is: ends what still runs. NULL is fine. */
void network_free(struct cop_network *network);

/* Take the lock. Returns 0, or -EPERM in a forked child. */
int network_enter(struct cop_network *network);
void network_leave(struct cop_network *network);

/* Drive until `done` says so or `deadline_ms` has come. Results as
 * driver_wait(). */
int network_wait(struct cop_network *network,
                 driver_done_fn *done,
                 void *arg,
                 uint64_t deadline_ms);

/* When `timeout_ms` from now is over; UINT64_MAX: never. */
uint64_t network_deadline_ms(int timeout_ms);

/* Milliseconds until then, for driver_wait(). */
int network_left_ms(uint64_t deadline_ms);

/* Make the descriptor of cop_network_fd() say what is so now: readable exactly
 * while a receive or an event would not block (PROTOCOL 14.2). */
void network_signal(struct cop_network *network);

/* Take `delivery`, and tell the machine unless it was told already; `frame` is
 * the caller's. */
void network_take(struct cop_network *network,
                  struct delivery *delivery,
                  struct frame *frame);

/* End the network at once: no process is left. Entered. */
void network_abort(struct cop_network *network);
