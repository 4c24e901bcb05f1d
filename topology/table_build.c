/* table_build.c - makes a table, and packs it if the tree is regular. */
#include <errno.h>
#include <stdlib.h>

#include "topology/array.h"
#include "topology/table_store.h"

int table_new(struct table **out)
{
    struct table *table = calloc(1, sizeof *table);

    if (!table)
        return -ENOMEM;
    *out = table;
    return 0;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; table->pages && i < PAGE_COUNT; i++)
        free(table->pages[i]);
    free(table->pages);
    for (uint32_t i = 0; table->leaves && i < store_leaf_count(table); i++)
        free(table->leaves[i]);
    free(table->leaves);
    free(table->runs);
    free(table->nodes);
    free(table->versions);
    for (uint32_t i = table->launched; i < table->count; i++)
        free(table->joiners[i - table->launched].address);
    free(table->joiners);
    free(table->joined);
    free(table->ranks);
    free(table->drafts);
    free(table);
}

int table_add(struct table *table,
              uint32_t rank,
              uint32_t parent,
              uint32_t incarnation,
              uint32_t fan_out)
{
    if (table->count > 0 || table->draft_count == TOPOLOGY_NODES_MAX ||
        rank >= TABLE_RANKS_MAX || fan_out > TOPOLOGY_CHILDREN_MAX)
        return -EBADMSG;
    if ((rank == 0) != (parent == TABLE_NONE) || parent == rank)
        return -EBADMSG;
    if (array_grow(&table->drafts, table->draft_count, sizeof *table->drafts) <
        0)
        return -ENOMEM;
    table->drafts[table->draft_count++] =
        (struct draft){rank, parent, incarnation, fan_out};
    return 0;
}

static int draft_compare(const void *a, const void *b)
{
    const struct draft *left = a;
    const struct draft *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Sort the drafts, and keep the ranks if they are not the indices. Returns 0,
 * -ENOMEM, or -EBADMSG if a rank comes twice or the front-end is missing. */
static int set_ranks(struct table *table)
{
    struct draft *drafts = table->drafts;
    uint32_t count = table->draft_count;
    uint32_t i;

    if (count == 0)
        return -EBADMSG;
    for (i = 1; i < count && drafts[i - 1].rank < drafts[i].rank; i++)
        ;
    if (i < count)
        qsort(drafts, count, sizeof *drafts, draft_compare);
    for (i = 1; i < count; i++) {
        if (drafts[i - 1].rank == drafts[i].rank)
            return -EBADMSG;
    }
    if (drafts[0].rank != 0)
        return -EBADMSG;
    if (drafts[count - 1].rank == count - 1)
        return 0;
    table->ranks = malloc(count * sizeof *table->ranks);
    if (!table->ranks)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        table->ranks[i] = drafts[i].rank;
    return 0;
}

/* Make the nodes from the drafts; table->count and the ranks are set. */
static int set_nodes(struct table *table)
{
    uint32_t parent;

    for (uint32_t i = 0; i < table->count; i++) {
        const struct draft *draft = &table->drafts[i];
        struct table_node *node = &table->nodes[i];

        node->incarnation = draft->incarnation;
        node->failed = draft->parent == TABLE_FAILED;
        node->changed = node->failed || draft->incarnation > 0;
        node->parent = i;
        if (i == 0 || node->failed)
            continue;
        parent = store_index(table, draft->parent);
        if (parent == TABLE_NONE)
            return -EBADMSG;
        node->parent = parent;
        table->nodes[parent].inner++;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t inner = table->nodes[i].inner;

        if (table->drafts[i].fan_out < inner)
            return -EBADMSG;
        table->nodes[i].backends = table->drafts[i].fan_out - inner;
        if (table->nodes[i].changed)
            table->digest ^= store_node_part(table, i);
    }
    return 0;
}

int table_check(struct table *table)
{
    uint32_t count = table->draft_count;
    int r;

    if (table->count > 0)
        return -EBADMSG;
    r = set_ranks(table);
    if (r < 0)
        return r;
    table->nodes = calloc(count, sizeof *table->nodes);
    if (!table->nodes)
        return -ENOMEM;
    table->count = table->launched = count;
    r = set_nodes(table);
    if (r == 0)
        r = paths_check(table);
    free(table->drafts);
    table->drafts = NULL;
    table->draft_count = 0;
    if (r < 0)
        table->count = table->launched = 0;
    return r;
}

/* The number of nodes from `index` on with its parent and as many children. */
static uint32_t count_siblings(const struct table *table, uint32_t index)
{
    const struct table_node *first = &table->nodes[index];
    const struct table_node *node = first + 1;

    while (node < table->nodes + table->count &&
           node->parent == first->parent && node->inner == first->inner &&
           node->backends == first->backends)
        node++;
    return (uint32_t)(node - first);
}

/* The run that begins at `index`. Returns how many nodes it has. */
static uint32_t find_run(const struct table *table,
                         uint32_t index,
                         struct run *out)
{
    const struct table_node *first = &table->nodes[index];
    uint32_t each = count_siblings(table, index);
    uint32_t length = each;

    *out =
        (struct run){index, first->parent, each, first->inner, first->backends};
    while (index > 0 && index + length < table->count &&
           first[length].parent == first->parent + length / each &&
           first[length].inner == first->inner &&
           first[length].backends == first->backends &&
           count_siblings(table, index + length) == each)
        length += each;
    return length;
}

int table_pack(struct table *table)
{
    struct run run;
    uint32_t length;

    if (!table->nodes || table->digest != 0)
        return 0;
    for (uint32_t i = 0; i < table->count; i += length) {
        length = find_run(table, i, &run);
        if ((table->run_count + 1) * sizeof run >
            table->count * sizeof *table->nodes / 2)
            goto irregular;
        if (array_grow(&table->runs, table->run_count, sizeof run) < 0)
            return -ENOMEM;
        table->runs[table->run_count++] = run;
    }
    free(table->nodes);
    table->nodes = NULL;
    return 0;
irregular:
    free(table->runs);
    table->runs = NULL;
    table->run_count = 0;
    return 0;
}

int table_from_topology(struct table **out, const struct topology *topo)
{
    struct table *table = NULL;
    int r;

    r = table_new(&table);
    for (uint32_t i = 0; r == 0 && i < topology_count(topo); i++) {
        uint32_t parent = topology_parent(topo, i);

        if (topology_is_leaf(topo, i))
            continue;
        r = table_add(table, topology_rank(topo, i),
                      parent == TOPOLOGY_NONE ? TABLE_NONE
                                              : topology_rank(topo, parent),
                      0, topology_child_count(topo, i));
    }
    if (r == 0)
        r = table_check(table);
    if (r == 0) {
        *out = table;
        table = NULL;
    }
    table_free(table);
    return r;
}
