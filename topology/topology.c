/* topology.c - the tree that a network is launched with. */
#include "topology/topology.h"

#include "topology/nodes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void topology_free(struct topology *topo)
{
    if (!topo)
        return;
    free(topo->hosts);
    free(topo->nodes);
    free(topo);
}

static const struct node_entry *topology_entry(const struct topology *topo,
                                               uint32_t index)
{
    assert(index < topo->count);
    return &topo->nodes[index];
}

/* One level of a subtree: a run of indices. */
struct run {
    uint32_t first;
    uint32_t end;
};

/* The level below `run`; empty below the last. */
static struct run run_below(const struct topology *topo, struct run run)
{
    const struct node_entry *first = &topo->nodes[run.first];
    const struct node_entry *last = &topo->nodes[run.end - 1];

    return (struct run){first->first_child,
                        last->first_child + last->child_count};
}

static uint32_t count_from(const struct topology *topo, uint32_t root)
{
    struct run run = {root, root + 1};
    uint32_t sum = 0;

    for (; run.first < run.end; run = run_below(topo, run))
        sum += run.end - run.first;
    return sum;
}

/* Copy node `source` of `from` to `index`, with its children from `reached`
 * on; its parent is set already. */
static int copy_node(struct topology *topo,
                     uint32_t index,
                     const struct topology *from,
                     uint32_t source,
                     uint32_t reached)
{
    struct node_entry *node = &topo->nodes[index];
    const char *host = topology_host(from, source);

    node->rank = from->nodes[source].rank;
    node->instance = from->nodes[source].instance;
    node->first_child = reached;
    node->child_count = from->nodes[source].child_count;
    for (uint32_t i = 0; i < node->child_count; i++) {
        topo->nodes[reached + i].parent = index;
        topo->nodes[reached + i].depth = node->depth + 1;
    }
    return nodes_set_host(topo, index, host, strlen(host));
}

int topology_subtree(struct topology **out,
                     const struct topology *topo,
                     uint32_t rank)
{
    uint32_t root = topology_index(topo, rank);
    struct run run = {root, root + 1};
    struct topology *copy = NULL;
    uint32_t made = 0;
    uint32_t reached = 1;
    int r;

    if (root == TOPOLOGY_NONE)
        return -ENOENT;
    r = nodes_new(&copy, count_from(topo, root));
    if (r < 0)
        return r;
    copy->nodes[0].parent = TOPOLOGY_NONE;
    for (; run.first < run.end; run = run_below(topo, run)) {
        for (uint32_t source = run.first; source < run.end; source++) {
            r = copy_node(copy, made, topo, source, reached);
            if (r < 0) {
                topology_free(copy);
                return r;
            }
            reached += copy->nodes[made++].child_count;
        }
    }
    *out = copy;
    return 0;
}

uint32_t topology_count(const struct topology *topo)
{
    return topo->count;
}

uint32_t topology_index(const struct topology *topo, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = topo->count;

    if (rank < topo->count && topo->nodes[rank].rank == rank)
        return rank;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (topo->nodes[middle].rank == rank)
            return middle;
        if (topo->nodes[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return TOPOLOGY_NONE;
}

uint32_t topology_rank(const struct topology *topo, uint32_t index)
{
    return topology_entry(topo, index)->rank;
}

const char *topology_host(const struct topology *topo, uint32_t index)
{
    return topo->hosts + topology_entry(topo, index)->host;
}

uint32_t topology_instance(const struct topology *topo, uint32_t index)
{
    return topology_entry(topo, index)->instance;
}

uint32_t topology_parent(const struct topology *topo, uint32_t index)
{
    return topology_entry(topo, index)->parent;
}

uint32_t topology_child_count(const struct topology *topo, uint32_t index)
{
    return topology_entry(topo, index)->child_count;
}

uint32_t topology_child(const struct topology *topo,
                        uint32_t index,
                        uint32_t nth)
{
    assert(nth < topology_entry(topo, index)->child_count);
    return topology_entry(topo, index)->first_child + nth;
}

bool topology_is_leaf(const struct topology *topo, uint32_t index)
{
    return topology_entry(topo, index)->child_count == 0 &&
           topology_entry(topo, index)->rank != 0;
}

uint32_t topology_depth(const struct topology *topo, uint32_t index)
{
    return topology_entry(topo, index)->depth;
}

uint32_t topology_height(const struct topology *topo)
{
    /* breadth-first: no node is deeper than the last one */
    return topo->nodes[topo->count - 1].depth;
}

uint32_t topology_leaf_count(const struct topology *topo)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < topo->count; i++)
        sum += topology_is_leaf(topo, i);
    return sum;
}

void topology_fanouts(const struct topology *topo, struct topology_fanouts *out)
{
    struct topology_fanouts fanouts = {0};

    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t count = topo->nodes[i].child_count;

        if (count == 0)
            continue;
        if (fanouts.node_count == 0 || count < fanouts.min)
            fanouts.min = count;
        if (count > fanouts.max)
            fanouts.max = count;
        fanouts.node_count++;
    }
    if (fanouts.node_count > 0)
        fanouts.mean = (double)(topo->count - 1) / fanouts.node_count;
    *out = fanouts;
}
