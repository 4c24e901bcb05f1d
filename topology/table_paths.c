/* table_paths.c - paths to the front-end, depths and heights. */
#include <errno.h>
#include <stdlib.h>

#include "topology/table_store.h"

/* Instead of a depth, while depths are computed: on the path that is being
 * walked; not visited yet. */
#define WALKED (UINT32_MAX - 1)
#define FRESH  (UINT32_MAX - 2)

/* Set the depth of every node from `index` up to the first node that has one.
 * Over all calls each node is visited twice. */
static void table_walk(const struct table *table,
                       uint32_t index,
                       struct table_site *sites)
{
    uint32_t steps = 0;
    uint32_t depth;
    uint32_t at;

    for (at = index; sites[at].depth == FRESH;
         at = store_node(table, at).parent) {
        sites[at].depth = WALKED;
        steps++;
    }
    depth = sites[at].depth < WALKED ? sites[at].depth + steps : TABLE_NO_PATH;
    for (at = index; sites[at].depth == WALKED;
         at = store_node(table, at).parent)
        sites[at].depth = depth == TABLE_NO_PATH ? TABLE_NO_PATH : depth--;
}

/* table_sites(), by index. Most parents come before their children, so the
 * first pass finds most depths; the second pass is for nodes that moved. */
static void sites_from(const struct table *table,
                       uint32_t top,
                       uint32_t cut,
                       struct table_site *sites)
{
    bool again = false;

    for (uint32_t i = 0; i < table->count; i++) {
        const struct table_node node = store_node(table, i);
        uint32_t parent = node.parent;
        uint32_t depth = FRESH;

        if (i == cut)
            depth = TABLE_NO_PATH;
        else if (i == top)
            depth = 0;
        else if (i == 0 || node.failed)
            depth = TABLE_NO_PATH;
        else if (parent < i && sites[parent].depth < FRESH)
            depth = sites[parent].depth + 1;
        else if (parent < i)
            depth = sites[parent].depth;
        again |= depth == FRESH;
        sites[i] =
            (struct table_site){store_rank(table, i),
                                (uint32_t)(node.inner + node.backends), depth};
    }
    for (uint32_t i = 0; again && i < table->count; i++)
        table_walk(table, i, sites);
}

int paths_check(const struct table *table)
{
    struct table_site *sites = malloc(table->count * sizeof *sites);
    int r = 0;

    if (!sites)
        return -ENOMEM;
    for (uint32_t i = 0; i < table->count; i++)
        sites[i].depth = store_ends(table, i) ? 0 : FRESH;
    for (uint32_t i = 0; r == 0 && i < table->count; i++) {
        table_walk(table, i, sites);
        if (sites[i].depth == TABLE_NO_PATH)
            r = -EBADMSG;
    }
    free(sites);
    return r;
}

void table_sites(const struct table *table,
                 uint32_t cut,
                 struct table_site *sites)
{
    sites_from(table, 0, store_index(table, cut), sites);
}

uint32_t table_depth(const struct table *table, uint32_t rank)
{
    uint32_t at = store_index(table, rank);
    uint32_t depth = 0;

    if (at == TABLE_NONE)
        return TABLE_NO_PATH;
    while (!store_ends(table, at) && depth < table->count) {
        at = store_node(table, at).parent;
        depth++;
    }
    return at == 0 ? depth : TABLE_NO_PATH;
}

/* Links from node `index` up to `top`, found without memory. */
static uint32_t table_climb(const struct table *table,
                            uint32_t index,
                            uint32_t top)
{
    uint32_t depth = 0;

    while (index != top && !store_ends(table, index) && depth < table->count) {
        index = store_node(table, index).parent;
        depth++;
    }
    return index == top ? depth : TABLE_NO_PATH;
}

uint32_t table_subtree_height(const struct table *table, uint32_t rank)
{
    struct table_site *sites = malloc((table->count + 1) * sizeof *sites);
    uint32_t top = store_index(table, rank);
    uint32_t height = 0;

    if (sites)
        sites_from(table, top, TABLE_NONE, sites);
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t depth = sites ? sites[i].depth : table_climb(table, i, top);

        if (store_node(table, i).backends > 0 && depth != TABLE_NO_PATH &&
            depth + 1 > height)
            height = depth + 1;
    }
    free(sites);
    return height;
}

uint32_t table_height(const struct table *table)
{
    return table_subtree_height(table, 0);
}

bool table_is_below(const struct table *table, uint32_t rank, uint32_t ancestor)
{
    uint32_t at = store_index(table, rank);
    uint32_t above = store_index(table, ancestor);
    uint32_t steps = 0;

    if (at == TABLE_NONE || above == TABLE_NONE)
        return false;
    while (at != above && !store_ends(table, at) && steps++ < table->count)
        at = store_node(table, at).parent;
    return at == above;
}
