/* table_store.h - how a table of internal nodes is stored.
 *
 * For the files table*.c only. Nodes refer to each other by index. If ranks are
 * indices, as in balanced trees, the array of ranks is not kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "topology/table.h"

/* Records of back-ends are kept in pages of this many ranks, made as needed. */
#define PAGE_RANKS 512
#define PAGE_COUNT (TABLE_RANKS_MAX / PAGE_RANKS)

/* An internal node, for the choice of an adopter (PROTOCOL 7.1). `inner` counts
 * its internal children that have not failed. A failed node keeps its last
 * parent. The front-end, and a node whose parent was never known, are their own
 * parents. */
struct table_node {
    uint32_t incarnation;
    uint64_t parent : 21;
    uint64_t inner : 21;
    uint64_t backends : 18;
    uint64_t failed : 1;
    uint64_t changed : 1;
} __attribute__((packed, aligned(4)));

_Static_assert(sizeof(struct table_node) <= 12,
               "PROTOCOL 7.1: 12 bytes a node");
_Static_assert(TOPOLOGY_NODES_MAX <= UINT32_C(1) << 21, "indices: 21 bits");
_Static_assert(TOPOLOGY_CHILDREN_MAX < UINT32_C(1) << 18, "fan-outs: 18 bits");

/* Nodes that differ in their parents only: each parent has `each` of them, and
 * the parents follow each other. */
struct run {
    uint32_t index;  /* of the first node */
    uint32_t parent; /* its parent's index; its own: it has none */
    uint32_t each;
    uint32_t inner;
    uint32_t backends;
};

/* Nodes of a packed table, one of which has changed, with their versions. */
#define LEAF_NODES 64

struct leaf {
    struct table_node nodes[LEAF_NODES];
    uint32_t versions[LEAF_NODES];
};

/* The last record of one back-end. */
struct backend {
    uint32_t incarnation;
    uint32_t parent : 21;
    uint32_t failed : 1;
    uint32_t known : 1;
};

struct page {
    struct backend backends[PAGE_RANKS];
};

/* A commnode that has joined. */
struct joiner {
    uint32_t rank;
    uint32_t version; /* of its fan-out */
    struct table_node node;
    char *address;
};

/* A node that was added to a table that is not complete. */
struct draft {
    uint32_t rank;
    uint32_t parent;
    uint32_t incarnation;
    uint32_t fan_out;
};

struct table {
    uint32_t count;           /* 0 until complete */
    uint32_t launched;        /* of these; the others have joined */
    struct table_node *nodes; /* NULL: the table is packed */
    uint32_t *versions; /* of fan-outs; NULL: none was announced, or packed */
    struct run *runs;   /* packed: the nodes as they were then */
    uint32_t run_count;
    struct leaf **leaves;   /* packed: by index / LEAF_NODES, NULL where none */
    uint32_t *ranks;        /* ascending; NULL: rank and index are the same */
    struct joiner *joiners; /* by index - launched */
    uint32_t *joined;       /* their indices, in order of rank */
    struct page **pages; /* PAGE_COUNT, or NULL: no record of a back-end yet */
    uint64_t digest;     /* of all records since launch: table_version() */
    struct draft *drafts;
    uint32_t draft_count;
};

/* The kinds of records in the digest. */
enum table_kind {
    KIND_RECORD = 1,
    KIND_FAN_OUT,
    KIND_JOINED
};

/* The length of `leaves`. */
uint32_t store_leaf_count(const struct table *table);

/* The index of internal node `rank`, or TABLE_NONE. */
uint32_t store_index(const struct table *table, uint32_t rank);

/* Where `rank` is, or would be, in table->joined. */
uint32_t store_place(const struct table *table, uint32_t rank);

/* The rank of node `index`. */
uint32_t store_rank(const struct table *table, uint32_t index);

/* Node `index`, as it is now. */
struct table_node store_node(const struct table *table, uint32_t index);

/* Node `index`, for changes; NULL: no memory. Valid as long as the table. */
struct table_node *store_edit(struct table *table, uint32_t index);

/* The version of the fan-out of node `index`; 0: none was announced. */
uint32_t store_version(const struct table *table, uint32_t index);

/* The same, to be changed; NULL: no memory. */
uint32_t *store_version_edit(struct table *table, uint32_t index);

/* Whether the path upwards ends at `index`: the front-end, or a failed node. */
bool store_ends(const struct table *table, uint32_t index);

/* A record's part of the digest: exclusive or adds it, and removes it again. */
uint64_t store_part(enum table_kind kind,
                    uint32_t rank,
                    uint32_t a,
                    uint32_t b);

/* The part of the record of node `index`. */
uint64_t store_node_part(const struct table *table, uint32_t index);

/* Check that no path is a circle. Returns 0, -EBADMSG or -ENOMEM. */
int paths_check(const struct table *table);
