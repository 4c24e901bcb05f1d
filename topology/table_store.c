/* table_store.c - how a table of internal nodes is stored. */
#include "topology/table_store.h"

#include <stdlib.h>

uint32_t store_leaf_count(const struct table *table)
{
    return (table->launched + LEAF_NODES - 1) / LEAF_NODES;
}

/* The first of `count` ascending ranks that is not below `rank`. Those of the
 * nodes that have joined are found by `joined`. */
static uint32_t store_search(const struct table *table,
                             bool joined,
                             uint32_t count,
                             uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if ((joined ? store_rank(table, table->joined[middle])
                    : table->ranks[middle]) < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t store_place(const struct table *table, uint32_t rank)
{
    return store_search(table, true, table->count - table->launched, rank);
}

uint32_t store_index(const struct table *table, uint32_t rank)
{
    uint32_t joined = table->count - table->launched;
    uint32_t at = rank;

    if (table->ranks)
        at = store_search(table, false, table->launched, rank);
    if (at < table->launched && store_rank(table, at) == rank)
        return at;
    at = store_place(table, rank);
    return at < joined && store_rank(table, table->joined[at]) == rank
               ? table->joined[at]
               : TABLE_NONE;
}

uint32_t store_rank(const struct table *table, uint32_t index)
{
    if (index >= table->launched)
        return table->joiners[index - table->launched].rank;
    return table->ranks ? table->ranks[index] : index;
}

/* The leaf of node `index` of a packed table; NULL: there is none. */
static struct leaf *leaf_of(const struct table *table, uint32_t index)
{
    return table->leaves ? table->leaves[index / LEAF_NODES] : NULL;
}

/* A node of a packed table, as it was at table_pack(). */
static struct table_node packed_at(const struct table *table, uint32_t index)
{
    uint32_t low = 0, high = table->run_count;
    const struct run *run;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (table->runs[middle].index <= index)
            low = middle;
        else
            high = middle;
    }
    run = &table->runs[low];
    return (struct table_node){
        .parent = run->parent + (index - run->index) / run->each,
        .inner = run->inner,
        .backends = run->backends,
    };
}

struct table_node store_node(const struct table *table, uint32_t index)
{
    const struct leaf *leaf;

    if (index >= table->launched)
        return table->joiners[index - table->launched].node;
    if (table->nodes)
        return table->nodes[index];
    leaf = leaf_of(table, index);
    return leaf ? leaf->nodes[index % LEAF_NODES] : packed_at(table, index);
}

/* The leaf of node `index` of a packed table, created if necessary; NULL: out
 * of memory. */
static struct leaf *leaf_make(struct table *table, uint32_t index)
{
    uint32_t first = index - index % LEAF_NODES;
    struct leaf *leaf = leaf_of(table, index);

    if (leaf)
        return leaf;
    if (!table->leaves)
        table->leaves = calloc(store_leaf_count(table), sizeof *table->leaves);
    if (!table->leaves)
        return NULL;
    leaf = calloc(1, sizeof *leaf);
    for (uint32_t i = first;
         leaf && i < first + LEAF_NODES && i < table->launched; i++)
        leaf->nodes[i - first] = packed_at(table, i);
    table->leaves[index / LEAF_NODES] = leaf;
    return leaf;
}

struct table_node *store_edit(struct table *table, uint32_t index)
{
    struct leaf *leaf;

    if (index >= table->launched)
        return &table->joiners[index - table->launched].node;
    if (table->nodes)
        return &table->nodes[index];
    leaf = leaf_make(table, index);
    return leaf ? &leaf->nodes[index % LEAF_NODES] : NULL;
}

uint32_t store_version(const struct table *table, uint32_t index)
{
    const struct leaf *leaf;

    if (index >= table->launched)
        return table->joiners[index - table->launched].version;
    leaf = leaf_of(table, index);
    if (table->nodes)
        return table->versions ? table->versions[index] : 0;
    return leaf ? leaf->versions[index % LEAF_NODES] : 0;
}

uint32_t *store_version_edit(struct table *table, uint32_t index)
{
    struct leaf *leaf;

    if (index >= table->launched)
        return &table->joiners[index - table->launched].version;
    if (!table->nodes) {
        leaf = leaf_make(table, index);
        return leaf ? &leaf->versions[index % LEAF_NODES] : NULL;
    }
    if (!table->versions)
        table->versions = calloc(table->launched, sizeof *table->versions);
    return table->versions ? &table->versions[index] : NULL;
}

bool store_ends(const struct table *table, uint32_t index)
{
    return index == 0 || store_node(table, index).failed;
}

uint64_t store_part(enum table_kind kind, uint32_t rank, uint32_t a, uint32_t b)
{
    uint64_t bits = (uint64_t)kind << 32 | rank;
    const uint32_t values[] = {a, b};

    for (size_t i = 0; i < 2; i++) {
        bits = (bits ^ values[i]) * UINT64_C(0x9e3779b97f4a7c15);
        bits ^= bits >> 29;
    }
    bits *= UINT64_C(0xbf58476d1ce4e5b9);
    return bits ^ bits >> 32;
}

uint64_t store_node_part(const struct table *table, uint32_t index)
{
    const struct table_node node = store_node(table, index);

    return store_part(KIND_RECORD, store_rank(table, index), node.incarnation,
                      node.failed ? TABLE_FAILED
                                  : store_rank(table, node.parent));
}

size_t table_bytes(const struct table *table)
{
    size_t bytes = table->ranks ? table->launched * sizeof *table->ranks : 0;

    if (table->nodes)
        return bytes + table->launched * sizeof *table->nodes;
    bytes += table->run_count * sizeof *table->runs;
    if (!table->leaves)
        return bytes;
    for (uint32_t i = 0; i < store_leaf_count(table); i++)
        bytes += table->leaves[i] ? sizeof *table->leaves[i] : 0;
    return bytes + store_leaf_count(table) * sizeof *table->leaves;
}
