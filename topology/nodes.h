/* nodes.h - the nodes of a topology. Private to topology/. */
#pragma once

#include "topology/topology.h"

struct node_entry {
    uint32_t rank;
    uint32_t parent;      /* an index, or TOPOLOGY_NONE */
    uint32_t first_child; /* where its children would be, if it has none */
    uint32_t child_count;
    uint32_t depth;
    uint32_t instance;
    uint32_t host; /* offset in `hosts` */
};

struct topology {
    uint32_t count;
    struct node_entry *nodes; /* breadth-first */
    char *hosts;              /* names, each with its zero byte */
    size_t hosts_len;
    size_t hosts_room;
};

/* One link of a tree that is being made, as indices of its spots. */
struct edge {
    uint32_t parent;
    uint32_t child;
};

/* One node of a tree that is being made. `host` is borrowed. */
struct spot {
    const char *host;
    uint32_t instance;
};

/* Make a topology of `count` nodes, all zero, without links and hosts.
 * Returns 0 or -ENOMEM. */
int nodes_new(struct topology **out, uint32_t count);

/* Set the host of node `index` to the `len` bytes at `host`. A name that equals
 * that of node `index - 1` is not stored again. Returns 0 or -ENOMEM. */
int nodes_set_host(struct topology *topo,
                   uint32_t index,
                   const char *host,
                   size_t len);

/* Make a topology of `count` spots and `count - 1` edges: every spot but `root`
 * is a child once. Children are in the order of their edges.
 *
 * Returns 0; -ELOOP if a spot cannot be reached from the root; or -ENOMEM. */
int nodes_link(struct topology **out,
               const struct spot *spots,
               uint32_t count,
               uint32_t root,
               const struct edge *edges);
