/* astray.c - processes that a shutdown cannot end. */
#include "api/astray.h"

#include <stdio.h>
#include <string.h>

#include "net/launcher.h"
#include "topology/topology.h"

static bool is_missing(const struct node *node, uint32_t rank)
{
    const char *host, *reason;
    uint32_t missing;

    for (size_t i = 0; node_missing(node, i, &missing, &host, &reason); i++)
        if (missing == rank)
            return true;
    return false;
}

/* Whether an agent, which the front-end ends, has started node `index`. */
static bool is_of_agent(const struct bootstrap *bootstrap, uint32_t index)
{
    const struct topology *tree = bootstrap->subtree;
    uint32_t parent = topology_parent(tree, index);

    return launcher_find(bootstrap->launcher, NULL)->is_assembling &&
           strcmp(topology_host(tree, index), topology_host(tree, parent)) != 0;
}

/* Whether the node that has started `rank` cannot end it any more. */
static bool is_deserted(const struct cop_network *network, uint32_t rank)
{
    const struct bootstrap *bootstrap = driver_bootstrap(network->driver);
    const struct node *node = driver_node(network->driver);
    uint32_t index = topology_index(bootstrap->subtree, rank), above;

    if (index == TOPOLOGY_NONE || index == 0 || is_of_agent(bootstrap, index))
        return false; /* or it has joined by itself */
    do {
        index = topology_parent(bootstrap->subtree, index);
        above = topology_rank(bootstrap->subtree, index);
    } while (index > 0 && is_missing(node, above));
    return index > 0 && (node_has_failed(node, above) ||
                         ranks_has(node_astray(node), above));
}

void astray_name(struct cop_network *network)
{
    const struct node *node = driver_node(network->driver);
    struct ranks named = {0};
    uint32_t rank = RANK_NONE;
    size_t len = strlen(network->text);
    char names[128];

    if (network->role != NODE_FRONTEND || !network->launched)
        return;
    while ((rank = ranks_after(node_astray(node), rank)) != RANK_NONE)
        if (is_deserted(network, rank) && ranks_add(&named, rank, rank) < 0)
            network->out_of_memory = true;
    network->astray = named.count > 0;
    if (network->astray) {
        node_name_ranks(node, &named, names, sizeof(names));
        snprintf(network->text + len, sizeof(network->text) - len,
                 "; not known to have ended: %s", names);
    }
    ranks_fini(&named);
}
