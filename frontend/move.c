/* move.c - have a node move below another one, or empty a host (PROTOCOL 18,
 * 20.4). */
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

int cop_network_drain(struct cop_network *network, const char *host)
{
    struct event event = {.type = EVENT_DRAIN, .text = host};
    uint64_t count = 0;
    int r;

    if (network->role != NODE_FRONTEND)
        return -EPERM;
    r = network_enter(network);
    if (r < 0)
        return r;
    r = driver_step(network->driver, &event, &count);
    network_leave(network);
    return r < 0 ? r : (int)count;
}
