/* view.c - which nodes are in (PROTOCOL 21). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/network.h"

/* Make the list of `ranks`; NULL: out of memory. */
static uint32_t *list_ranks(const struct ranks *ranks, size_t *count)
{
    uint32_t *list = calloc(ranks_size(ranks), sizeof(*list));

    *count = 0;
    for (size_t i = 0; list && i < ranks->count; i++)
        for (uint64_t rank = ranks->runs[i].first; rank <= ranks->runs[i].last;
             rank++)
            list[(*count)++] = (uint32_t)rank;
    return list;
}

static int read_view(const struct cop_network *network, struct cop_view *out)
{
    const struct ranks *ranks;

    out->number = node_view(driver_node(network->driver), &out->stable, &ranks);
    if (network->role != NODE_FRONTEND)
        return 0;
    if (!ranks)
        return -EOPNOTSUPP;
    out->ranks = list_ranks(ranks, &out->rank_count);
    return out->ranks ? 0 : -ENOMEM;
}

int cop_network_view(struct cop_network *network, struct cop_view *view)
{
    struct cop_view full = {.size = view->size};
    int r;

    if (view->size != sizeof(*view))
        return -EINVAL;
    r = network_enter(network);
    if (r < 0)
        return r;
    r = read_view(network, &full);
    network_leave(network);
    if (r == 0)
        *view = full;
    return r;
}
