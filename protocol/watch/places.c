/* places.c - the status of a tree that has grown back (PROTOCOL 15.9). */
#include "protocol/state.h"
#include "protocol/watch/status.h"
#include "topology/topology.h"

uint32_t places_of(const struct node *node, uint32_t rank)
{
    const struct roster_note *note = roster_find(&node->roster.names, rank);

    return note ? note->place : 0;
}

/* Whether the lost node of `row` need not be listed: it left its drained host, or
 * another one has its place. */
static bool is_over(const struct node *node, const struct row *row)
{
    uint32_t place, holder;

    if (row->role != NODE_COMMNODE || row->state != ROW_LOST)
        return false;
    if (suspect_has_left(node, row->rank))
        return true;
    place = replace_place(node, row->rank);
    holder = place == RANK_NONE ? RANK_NONE : replace_holder(node, place);
    return holder != RANK_NONE && holder != row->rank;
}

/* Whether the parent of `row` has the place of its launched parent. */
static bool is_at_home(const struct node *node, const struct row *row)
{
    const struct topology *tree = node->status.tree;
    uint32_t index = TOPOLOGY_NONE;

    if (tree && row->rank > 0)
        index = topology_index(tree, row->place > 0 ? row->place : row->rank);
    return index != TOPOLOGY_NONE && row->parent != RANK_NONE &&
           topology_rank(tree, topology_parent(tree, index)) ==
               replace_place(node, row->parent);
}

void places_note(const struct node *node, struct rows *rows)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->list[i];

        if (is_over(node, row)) {
            rows_forget(row);
            continue;
        }
        row->place = places_of(node, row->rank);
        if (row->adopted_from != row->parent && is_at_home(node, row))
            row->adopted_from = RANK_NONE;
        rows->list[kept++] = *row;
    }
    rows->count = kept;
}
