/* listener.h - the listening socket of a node. */
#pragma once

#include <coppice/error.h>

#include "net/bootstrap.h"
#include "net/libev.h"
#include "wire/limits.h"

struct listener; /* opaque */

/* A connection was accepted: `fd` is a non-blocking socket, taken. */
typedef void listener_call_fn(void *arg, int fd);

/* Listen on one of the ports of `bootstrap`: on loopback only if `loopback`;
 * otherwise on all interfaces, dropping connections to addresses outside
 * `networks`. Pauses when descriptors run out, and resumes by itself. Accepted
 * sockets are set up as by tcp_prepare().
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

/* In a forked child: close the descriptor, and do nothing else. */
void listener_abandon(struct listener *listener);

/* The addresses where we listen, as in net/address.h. Borrowed. */
const char *listener_address(const struct listener *listener);
