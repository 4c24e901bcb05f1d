/* machine.c - the machine of a node, out of its bootstrap. */
#include "net/machine.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/topology.h"

/* All nodes below us, in the topology's order. */
static int list_below(const struct bootstrap *bootstrap,
                      struct node_child **out)
{
    const struct topology *subtree = bootstrap->subtree;
    uint32_t count = topology_count(subtree);
    struct node_child *below = calloc(count, sizeof(*below));
    uint32_t i;

    if (!below)
        return -ENOMEM;
    for (i = 1; i < count; i++)
        below[i - 1] = (struct node_child){
            .rank = topology_rank(subtree, i),
            .host = topology_host(subtree, i),
            .role = topology_is_leaf(subtree, i) && !bootstrap->attach
                        ? NODE_BACKEND
                        : NODE_COMMNODE,
            .parent = topology_rank(subtree, topology_parent(subtree, i)),
        };
    *out = below;
    return 0;
}

int machine_new(struct node **out,
                const struct bootstrap *bootstrap,
                const char *address)
{
    const struct topology *subtree = bootstrap->subtree;
    struct node_config config = {
        .role = bootstrap->role,
        .rank = bootstrap->rank,
        .depth = bootstrap->depth,
        .host = bootstrap->host,
        .address = address,
        .next_rank = bootstrap->next_rank,
        .attach = bootstrap->attach,
        .allow_injection = bootstrap->allow_injection,
        .tree = bootstrap->role == NODE_FRONTEND ? subtree : NULL,
        .missing = bootstrap->missing,
        .times = bootstrap->times,
        .algorithm = bootstrap->algorithm,
    };
    struct node_child *below = NULL;
    int r;

    if (subtree) {
        r = list_below(bootstrap, &below);
        if (r < 0)
            return r;
        config.child_count = topology_child_count(subtree, 0);
        config.children = below; /* breadth first: the children are first */
        config.below = below;
        config.below_count = topology_count(subtree) - 1;
        config.height = topology_height(subtree);
    }
    r = node_new(out, &config);
    free(below);
    return r;
}
