/* missing.c - the nodes that a launch has left out. */
#include <errno.h>

#include "api/network.h"

int cop_network_missing(struct cop_network *network,
                        size_t index,
                        struct cop_absentee *out)
{
    const struct node *node;
    int r;

    if (out->size < sizeof(*out))
        return -EINVAL;
    if (network->role != NODE_FRONTEND)
        return -EPERM;
    r = network_enter(network);
    if (r < 0)
        return r;
    node = driver_node(network->driver);
    if (!node_missing(node, index, &out->rank, &out->host, &out->reason))
        r = -ENOENT;
    network_leave(network);
    return r;
}
