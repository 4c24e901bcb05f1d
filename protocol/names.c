/* names.c - ranks as text for a sentence. */
#include <stdio.h>

#include "protocol/state.h"

/* Ranks that a sentence names; the others are only counted. */
#define NAMED 8

/* The host that `rank` was launched on; "" if it was not launched. */
static const char *host_of(const struct node *node, uint32_t rank)
{
    const struct topology *tree = node->status.tree;
    uint32_t index = tree ? topology_index(tree, rank) : TOPOLOGY_NONE;

    return index == TOPOLOGY_NONE ? "" : topology_host(tree, index);
}

void node_name_ranks(const struct node *node,
                     const struct ranks *ranks,
                     char *text,
                     size_t len)
{
    uint64_t size = ranks_size(ranks), i;
    size_t used = 0;
    int n;

    if (len > 0)
        text[0] = '\0';
    for (i = 0; i < size && i < NAMED && used < len; i++) {
        uint32_t rank = ranks_at(ranks, i);
        const char *host = host_of(node, rank);

        n = snprintf(text + used, len - used, "%srank %u%s%s", i ? ", " : "",
                     rank, *host ? " on " : "", host);
        used += n > 0 ? (size_t)n : 0;
    }
    if (i < size && used < len)
        snprintf(text + used, len - used, " and %llu more",
                 (unsigned long long)(size - i));
}
