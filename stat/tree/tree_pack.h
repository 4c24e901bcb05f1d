/* tree_pack.h - a merged tree as the values of a packet, and back. */
#ifndef STAT_TREE_TREE_PACK_H
#define STAT_TREE_TREE_PACK_H

#include <coppice/packet.h>

#include "stat/tree/tree.h"

/* Pack `tree` into a new packet with the tag `tag`; equal trees give equal
 * packets. Distinct sets of tasks are stored once, each as ranges or a
 * bitmap, whichever is shorter. Returns 0, -EMSGSIZE or -ENOMEM. */
int tree_pack(struct cop_packet **out, int32_t tag, const struct tree *tree);

/* Make a tree of `packet`, which may come from anybody.
 * Returns 0, -EINVAL if it is of another format, -EBADMSG if its values are
 * not those of a tree, or -ENOMEM. */
int tree_unpack(struct tree **out, const struct cop_packet *packet);

#endif
