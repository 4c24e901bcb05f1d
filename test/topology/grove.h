/* grove.h - naive trees of internal nodes, to compare a table with.
 *
 * Every function walks the tree: no result is kept up to date. */
#pragma once

#include "test/check.h"
#include "test/topology/tree.h"
#include "topology/table.h"

#define GROVE_MAX 48

struct grove {
    uint32_t count;
    uint32_t rank[GROVE_MAX];
    uint32_t parent[GROVE_MAX];      /* an index; the node's own: no parent */
    uint32_t last_parent[GROVE_MAX]; /* of failed nodes; else parent */
    uint32_t incarnation[GROVE_MAX];
    uint32_t backends[GROVE_MAX];
    bool failed[GROVE_MAX];
};

/* A random tree of 1 to GROVE_MAX nodes, with or without gaps in the ranks. */
static inline void grove_init(struct grove *grove, uint64_t *state)
{
    uint32_t gap = tree_random(state) % 3;
    uint32_t reach = 1 + tree_random(state) % GROVE_MAX;

    memset(grove, 0, sizeof *grove);
    grove->count = 1 + tree_random(state) % GROVE_MAX;
    for (uint32_t i = 0; i < grove->count; i++) {
        uint32_t near = i < reach ? i : reach;

        grove->rank[i] =
            i == 0 ? 0
                   : grove->rank[i - 1] + 1 + tree_random(state) % (gap + 1);
        grove->parent[i] = i == 0 ? 0 : i - 1 - tree_random(state) % near;
        grove->last_parent[i] = grove->parent[i];
        grove->backends[i] = tree_random(state) % 4;
    }
}

/* The number of links from `index` up to `top`, or TABLE_NO_PATH. A failed node
 * has no path upwards. */
static inline uint32_t grove_depth(const struct grove *grove,
                                   uint32_t index,
                                   uint32_t top)
{
    for (uint32_t steps = 0; steps <= grove->count; steps++) {
        if (index == top)
            return steps;
        if (grove->failed[index] || index == 0)
            return TABLE_NO_PATH;
        index = grove->parent[index];
    }
    return TABLE_NO_PATH;
}

/* The number of children of `index`: back-ends, and live internal nodes. */
static inline uint32_t grove_fan_out(const struct grove *grove, uint32_t index)
{
    uint32_t fan_out = grove->backends[index];

    for (uint32_t i = 1; i < grove->count; i++)
        fan_out += !grove->failed[i] && grove->parent[i] == index;
    return fan_out;
}

/* The number of links from `top` to the deepest back-end below it. */
static inline uint32_t grove_height(const struct grove *grove, uint32_t top)
{
    uint32_t height = 0;

    for (uint32_t i = 0; i < grove->count; i++) {
        uint32_t depth = grove_depth(grove, i, top);

        if (depth != TABLE_NO_PATH && grove->backends[i] > 0 && depth >= height)
            height = depth + 1;
    }
    return height;
}

/* Make the table of a grove; nodes are added in a random order. */
static inline struct table *grove_table(const struct grove *grove,
                                        uint64_t *state)
{
    struct table *table = NULL;
    uint32_t first = tree_random(state) % grove->count;

    CHECK_OK(table_new(&table));
    for (uint32_t i = 0; i < grove->count; i++) {
        uint32_t at = (first + i) % grove->count;

        CHECK_OK(table_add(table, grove->rank[at],
                           at == 0             ? TABLE_NONE
                           : grove->failed[at] ? TABLE_FAILED
                                               : grove->rank[grove->parent[at]],
                           grove->incarnation[at], grove_fan_out(grove, at)));
    }
    CHECK_OK(table_check(table));
    return table;
}

/* Apply one random event to both: a failure, a refutation, an adoption (by any
 * node, so cycles occur), or a change of back-ends. */
static inline void grove_step(struct grove *grove,
                              struct table *table,
                              uint64_t *state)
{
    uint32_t at = tree_random(state) % grove->count;
    uint32_t to = tree_random(state) % grove->count;
    uint32_t what = tree_random(state) % 8;

    if (what < 2) {
        grove->backends[at] = tree_random(state) % 5;
        CHECK_OK(
            table_set_backends(table, grove->rank[at], grove->backends[at]));
    } else if (at != 0 && what < 5) {
        CHECK_IS(table_record(table, grove->rank[at], grove->incarnation[at],
                              TABLE_FAILED),
                 !grove->failed[at]);
        grove->failed[at] = true;
        grove->parent[at] = at;
    } else if (at != 0 && at != to) {
        grove->incarnation[at] += 1 + tree_random(state) % 3;
        grove->failed[at] = false;
        grove->parent[at] = to;
        grove->last_parent[at] = to;
        CHECK_IS(table_record(table, grove->rank[at], grove->incarnation[at],
                              grove->rank[to]),
                 1);
    }
}
