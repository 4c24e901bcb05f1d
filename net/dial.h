/* dial.h - connect to a node at one of its addresses (PROTOCOL 1.1).
 *
 * The addresses are tried in turn, each when the one before has failed or has
 * been silent for 250 ms. The first that answers is taken. */
#pragma once

#include <stdint.h>

#include "net/libev.h"

struct dial; /* opaque: one dial */

/* The dial is over; it may be freed in here. `fd` is a connected, non-blocking
 * socket, which the callee owns. Or `fd` is a negative errno and `text` a
 * sentence; it is -ECONNREFUSED only if every address has refused. */
typedef void dial_done_fn(void *arg, int fd, const char *text);

/* Begin to dial.
 *
 * loop        kept; no thread may poll it during a call of this module
 * addresses   as in net/address.h; borrowed
 * timeout_ms  for all addresses together
 * fd          see below
 *
 * Returns 0, and `done` will be called once, never from in here; 1 if the other
 * end answered at once, as on the same host: `fd` is the socket, and there is
 * no dial; -EBADMSG if the addresses are malformed; -ENOMEM. */
int dial_new(struct dial **out,
             struct ev_loop *loop,
             const char *addresses,
             uint32_t timeout_ms,
             dial_done_fn *done,
             void *arg,
             int *fd);

/* Stop dialling, if not done yet, and free `dial`. NULL is fine. */
void dial_free(struct dial *dial);
