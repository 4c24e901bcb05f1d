/* move.c - have a node move below another one, or empty a host (PROTOCOL 18,
 * 20.4). */
#include <errno.h>

#include "api/network.h"

/* Have the machine take `event`: as driver_step(). */
static int command(struct cop_network *network,
                   struct event *event,
                   uint64_t *result)
{
    int r;

    if (network->role != NODE_FRONTEND)
        return -EPERM;
    r = network_enter(network);
    if (r < 0)
        return r;
    r = driver_step(network->driver, event, result);
    network_leave(network);
    return r;
}

int cop_network_move(struct cop_network *network,
                     uint32_t rank,
                     uint32_t parent)
{
    struct event event = {.type = EVENT_MOVE, .rank = rank, .parent = parent};

    return command(network, &event, NULL);
}

int cop_network_drain(struct cop_network *network, const char *host)
{
    struct event event = {.type = EVENT_DRAIN, .text = host};
    uint64_t count = 0;
    int r = command(network, &event, &count);

    return r < 0 ? r : (int)count;
}
