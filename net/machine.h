/* machine.h - the machine of a node, out of its bootstrap. */
#ifndef NET_MACHINE_H
#define NET_MACHINE_H

#include "net/bootstrap.h"

/* Make the machine of the node that was born with `bootstrap` (borrowed, and
 * its subtree kept) and listens at `address`, "" if nowhere. Returns 0 or an
 * error of node_new(). */
int machine_new(struct node **out,
                const struct bootstrap *bootstrap,
                const char *address);

#endif
