/* nodes.c - making a topology of loose nodes and links. */
#include "topology/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

int nodes_new(struct topology **out, uint32_t count)
{
    struct topology *topo = calloc(1, sizeof *topo);

    if (!topo)
        return -ENOMEM;
    topo->count = count;
    topo->nodes = calloc(count, sizeof *topo->nodes);
    if (!topo->nodes) {
        topology_free(topo);
        return -ENOMEM;
    }
    *out = topo;
    return 0;
}

static int make_room(struct topology *topo, size_t more)
{
    size_t room = topo->hosts_room > 0 ? topo->hosts_room : FIRST_ROOM;
    char *hosts;

    while (room - topo->hosts_len < more)
        room *= 2;
    if (room == topo->hosts_room)
        return 0;
    hosts = realloc(topo->hosts, room);
    if (!hosts)
        return -ENOMEM;
    topo->hosts = hosts;
    topo->hosts_room = room;
    return 0;
}

int nodes_set_host(struct topology *topo,
                   uint32_t index,
                   const char *host,
                   size_t len)
{
    const char *before;
    int r;

    if (index > 0) {
        before = topo->hosts + topo->nodes[index - 1].host;
        if (strlen(before) == len && memcmp(before, host, len) == 0) {
            topo->nodes[index].host = topo->nodes[index - 1].host;
            return 0;
        }
    }
    r = make_room(topo, len + 1);
    if (r < 0)
        return r;
    topo->nodes[index].host = (uint32_t)topo->hosts_len;
    memcpy(topo->hosts + topo->hosts_len, host, len);
    topo->hosts[topo->hosts_len + len] = '\0';
    topo->hosts_len += len + 1;
    return 0;
}

/* Sort the children of all spots by parent: those of spot i become
 * children[start[i]] to children[start[i + 1] - 1], in the order of edges. */
static void sort_children(uint32_t *start,
                          uint32_t *children,
                          const struct edge *edges,
                          uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++)
        start[edges[i].parent + 2]++;
    for (uint32_t i = 2; i <= count; i++)
        start[i] += start[i - 1];
    for (uint32_t i = 0; i + 1 < count; i++)
        children[start[edges[i].parent + 1]++] = edges[i].child;
}

/* Walk from `root` downwards, level by level. `order` is the queue: it ends as
 * the spot of each index. Returns how many nodes were reached. */
static uint32_t nodes_walk(struct node_entry *nodes,
                           uint32_t *order,
                           uint32_t root,
                           const uint32_t *start,
                           const uint32_t *children)
{
    uint32_t reached = 1;

    order[0] = root;
    nodes[0].parent = TOPOLOGY_NONE;
    for (uint32_t at = 0; at < reached; at++) {
        nodes[at].rank = at;
        nodes[at].first_child = reached;
        nodes[at].child_count = start[order[at] + 1] - start[order[at]];
        for (uint32_t i = 0; i < nodes[at].child_count; i++) {
            nodes[reached].parent = at;
            nodes[reached].depth = nodes[at].depth + 1;
            order[reached++] = children[start[order[at]] + i];
        }
    }
    return reached;
}

static int nodes_place(struct topology *topo,
                       const uint32_t *order,
                       const struct spot *spots)
{
    int r;

    for (uint32_t i = 0; i < topo->count; i++) {
        const struct spot *spot = &spots[order[i]];

        topo->nodes[i].instance = spot->instance;
        r = nodes_set_host(topo, i, spot->host, strlen(spot->host));
        if (r < 0)
            return r;
    }
    return 0;
}

int nodes_link(struct topology **out,
               const struct spot *spots,
               uint32_t count,
               uint32_t root,
               const struct edge *edges)
{
    struct topology *topo = NULL;
    uint32_t *start = calloc((size_t)count + 2, sizeof *start);
    uint32_t *children = calloc(count, sizeof *children);
    uint32_t *order = calloc(count, sizeof *order);
    int r = -ENOMEM;

    if (!start || !children || !order)
        goto out;
    r = nodes_new(&topo, count);
    if (r < 0)
        goto out;
    sort_children(start, children, edges, count);
    if (nodes_walk(topo->nodes, order, root, start, children) != count) {
        r = -ELOOP;
        goto out;
    }
    r = nodes_place(topo, order, spots);
    if (r < 0)
        goto out;
    *out = topo;
    topo = NULL;
out:
    topology_free(topo);
    free(order);
    free(children);
    free(start);
    return r;
}
