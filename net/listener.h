/* listener.h - where a node is called by its children. */
#pragma once

#include <coppice/error.h>

#include "net/bootstrap.h"
#include "net/libev.h"
#include "wire/limits.h"

struct listener; /* opaque */

/* A call came: `fd` is a non-blocking socket and the receiver's. */
typedef void listener_call_fn(void *arg, int fd);

/* Listen as `bootstrap` says: on one of its ports; on loopback only if
 * `loopback`, otherwise on all interfaces, where calls to addresses outside
 * `networks` are dropped. When descriptors run out it pauses and goes on by
 * itself. Accepted sockets are set up as by tcp_prepare().
 *
 * bootstrap  kept
 *
 * Returns 0, or -EADDRINUSE if no port is free, -EADDRNOTAVAIL and others, with
 * a sentence. */
int listener_new(struct listener **out,
                 struct ev_loop *loop,
                 const struct bootstrap *bootstrap,
                 listener_call_fn *call,
                 void *arg,
                 struct cop_error *error);

/* Stop and free. NULL is fine. */
void listener_free(struct listener *listener);

/* Close the descriptor and nothing else: for a child that was forked. */
void listener_abandon(struct listener *listener);

/* Where we are called, as in net/address.h. Borrowed. */
const char *listener_address(const struct listener *listener);
