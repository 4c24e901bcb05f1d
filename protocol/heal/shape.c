/* shape.c - the front-end gives the tree its launched shape back (PROTOCOL 20.3). */
#include "protocol/heal/shape.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* The pause after a move that has failed, and the longest one. */
#define PAUSE_MS     1000
#define PAUSE_MAX_MS 60000

void shape_begin(struct node *node)
{
    struct shape *shape = &node->heal.shape;
    uint32_t count = table_count(node->heal.table);
    struct table_site *sites;
    struct table_entry entry;

    if (!shape->kept)
        return;
    sites = calloc(count, sizeof(*sites));
    shape->list = calloc(count, sizeof(*shape->list));
    shape->pause_ms = PAUSE_MS;
    if (!sites || !shape->list) {
        free(sites);
        node->failed = true;
        return;
    }
    table_sites(node->heal.table, TABLE_NONE, sites);
    for (uint32_t i = 0; i < count; i++)
        if (sites[i].rank > 0 &&
            table_entry(node->heal.table, sites[i].rank, &entry) == 0 &&
            !entry.failed)
            shape->list[shape->count++] = (struct shape_place){
                .number = entry.rank, .above = entry.parent};
    free(sites);
}

void shape_adopted(struct node *node,
                   uint32_t rank,
                   const struct node_adoption *adoption)
{
    struct shape *shape = &node->heal.shape;
    uint32_t above = replace_place(node, adoption->lost_parent);
    size_t at = shape->leaf_count;

    if (!shape->kept || !ranks_has(&node->backends, rank))
        return;
    while (at > 0 && shape->leaves[at - 1].number >= rank)
        at--;
    if (at == shape->leaf_count || shape->leaves[at].number != rank) {
        if (above == RANK_NONE) /* of one that has joined by itself */
            return;
        if (array_grow(&shape->leaves, shape->leaf_count,
                       sizeof(*shape->leaves)) < 0) {
            node->failed = true;
            return;
        }
        memmove(shape->leaves + at + 1, shape->leaves + at,
                (shape->leaf_count - at) * sizeof(*shape->leaves));
        shape->leaves[at] =
            (struct shape_place){.number = rank, .above = above};
        shape->leaf_count++;
    }
    shape->leaves[at].parent = adoption->parent;
}

/* The parent of the node that holds `place`; RANK_NONE: it cannot move. */
static uint32_t parent_of(const struct node *node,
                          const struct shape_place *place,
                          uint32_t *mover)
{
    struct table_entry entry;

    if (ranks_has(&node->backends, place->number)) {
        *mover = place->number;
        return place->parent;
    }
    *mover = replace_holder(node, place->number);
    return *mover != RANK_NONE &&
                   table_entry(node->heal.table, *mover, &entry) == 0 &&
                   !entry.failed
               ? entry.parent
               : RANK_NONE;
}

/* Whether `place` was above this one at launch, and both are held: by a node that
 * is to move, and the node below which it is to be. */
static bool is_misplaced(const struct node *node,
                         const struct shape_place *place,
                         uint32_t *mover,
                         uint32_t *parent)
{
    uint32_t now = parent_of(node, place, mover);
    struct table_entry above;

    *parent = replace_holder(node, place->above);
    return now != RANK_NONE && *parent != RANK_NONE && now != *parent &&
           table_entry(node->heal.table, *parent, &above) == 0 &&
           !above.failed && !drain_has(node, *parent) &&
           !table_is_below(node->heal.table, *parent, *mover);
}

void shape_beat(struct node *node)
{
    struct shape *shape = &node->heal.shape;
    size_t count = shape->count + shape->leaf_count;
    uint32_t mover, parent;

    if (node->now_ms < shape->at_ms || node->heal.plan.number > 0)
        return;
    for (size_t i = 0; i < count; i++) {
        size_t at = (shape->next + i) % count;
        const struct shape_place *place =
            at < shape->count ? &shape->list[at]
                              : &shape->leaves[at - shape->count];

        if (!is_misplaced(node, place, &mover, &parent))
            continue;
        if (plan_begin(node, mover, parent) == 0)
            shape->next = at;
        return; /* else the tree is not at rest */
    }
}

void shape_moved(struct node *node, bool succeeded)
{
    struct shape *shape = &node->heal.shape;

    if (!shape->kept)
        return;
    if (succeeded) { /* from the top again */
        shape->next = 0;
        shape->pause_ms = PAUSE_MS;
        node->due |= DUE_SHAPE;
        return;
    }
    shape->next++;
    shape->at_ms = node->now_ms + shape->pause_ms;
    shape->pause_ms *= 2;
    if (shape->pause_ms > PAUSE_MAX_MS)
        shape->pause_ms = PAUSE_MAX_MS;
}
