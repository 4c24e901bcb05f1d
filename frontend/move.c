/* move.c - have a commnode move below another node (PROTOCOL 18). */
#include <errno.h>

#include "api/network.h"

int cop_network_move(struct cop_network *network,
                     uint32_t rank,
                     uint32_t parent)
{
    struct event event = {.type = EVENT_MOVE, .rank = rank, .parent = parent};
    int r;

    if (network->role != NODE_FRONTEND)
        return -EPERM;
    r = network_enter(network);
    if (r < 0)
        return r;
    r = driver_step(network->driver, &event, NULL);
    network_leave(network);
    return r;
}
