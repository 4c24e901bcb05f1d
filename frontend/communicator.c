/* communicator.c - a set of back-ends. */
#include "frontend/communicator.h"

#include <errno.h>
#include <stdlib.h>

#include "api/network.h"

int communicator_members(const struct cop_communicator *communicator,
                         struct ranks *out)
{
    const struct cop_network *network = communicator->network;
    const struct ranks *live = node_backends(driver_node(network->driver));
    struct ranks members = {0};
    int r;

    if (communicator->is_everyone)
        return ranks_copy(out, live);
    r = ranks_copy(&members, &communicator->ranks);
    if (r == 0)
        r = ranks_intersect(&members, live);
    if (r == 0)
        r = ranks_copy(out, &members);
    ranks_fini(&members);
    return r;
}

const struct cop_communicator *cop_network_everyone(struct cop_network *network)
{
    return network->everyone;
}

/* Put `count` ranks into `out`, each that of a live back-end. */
static int gather(struct ranks *out,
                  const struct ranks *live,
                  const uint32_t *ranks,
                  size_t count)
{
    int r;

    for (size_t i = 0; i < count; i++) {
        if (!ranks_has(live, ranks[i]))
            return -EINVAL;
        r = ranks_add(out, ranks[i], ranks[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int cop_communicator_new(struct cop_communicator **out,
                         struct cop_network *network,
                         const uint32_t *ranks,
                         size_t count)
{
    struct cop_communicator *communicator;
    int r;

    if (count == 0 || network->role != NODE_FRONTEND)
        return -EINVAL;
    communicator = calloc(1, sizeof(*communicator));
    if (!communicator)
        return -ENOMEM;
    communicator->network = network;
    r = network_enter(network);
    if (r < 0)
        goto out;
    r = gather(&communicator->ranks,
               node_backends(driver_node(network->driver)), ranks, count);
    network_leave(network);
    if (r < 0)
        goto out;
    *out = communicator;
    communicator = NULL;
out:
    cop_communicator_free(communicator);
    return r;
}

void cop_communicator_free(struct cop_communicator *communicator)
{
    if (!communicator || communicator->is_everyone)
        return;
    ranks_fini(&communicator->ranks);
    free(communicator);
}

/* The live members. Enters the network itself; returns none on error. */
static struct ranks members_now(const struct cop_communicator *communicator)
{
    struct ranks members = {0};

    if (network_enter(communicator->network) < 0)
        return members;
    communicator_members(communicator, &members);
    network_leave(communicator->network);
    return members;
}

size_t cop_communicator_size(const struct cop_communicator *communicator)
{
    struct ranks members = members_now(communicator);
    size_t size = (size_t)ranks_size(&members);

    ranks_fini(&members);
    return size;
}

uint32_t cop_communicator_rank(const struct cop_communicator *communicator,
                               size_t index)
{
    struct ranks members = members_now(communicator);
    uint32_t rank = ranks_at(&members, index);

    ranks_fini(&members);
    return rank;
}

int network_make_everyone(struct cop_network *network, struct cop_error *error)
{
    network->everyone = calloc(1, sizeof(*network->everyone));
    if (!network->everyone)
        return cop_error_set(error, -ENOMEM, "out of memory");
    network->everyone->network = network;
    network->everyone->is_everyone = true;
    return 0;
}
