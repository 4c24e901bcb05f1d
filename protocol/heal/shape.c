/* shape.c - the front-end gives the tree its launched shape back (PROTOCOL 20.3). */
#include "protocol/heal/shape.h"

#include <stdlib.h>

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
            shape->list[shape->count++] =
                (struct shape_place){entry.rank, entry.parent};
    free(sites);
}

/* Whether `place` was above this one at launch, and both are held: by a node that
 * is to move, and the node below which it is to be. */
static bool is_misplaced(const struct node *node,
                         const struct shape_place *place,
                         uint32_t *mover,
                         uint32_t *parent)
{
    struct table_entry entry, above;

    *mover = replace_holder(node, place->number);
    *parent = replace_holder(node, place->above);
    return *mover != RANK_NONE && *parent != RANK_NONE &&
           table_entry(node->heal.table, *mover, &entry) == 0 &&
           table_entry(node->heal.table, *parent, &above) == 0 &&
           !entry.failed && !above.failed && entry.parent != *parent &&
           !table_is_below(node->heal.table, *parent, *mover);
}

void shape_beat(struct node *node)
{
    struct shape *shape = &node->heal.shape;
    uint32_t mover, parent;

    if (shape->count == 0 || node->now_ms < shape->at_ms ||
        node->heal.plan.number > 0)
        return;
    for (size_t i = 0; i < shape->count; i++) {
        size_t at = (shape->next + i) % shape->count;

        if (!is_misplaced(node, &shape->list[at], &mover, &parent))
            continue;
        if (plan_begin(node, mover, parent) == 0)
            shape->next = at;
        return; /* else the tree is not at rest */
    }
}

void shape_moved(struct node *node, bool succeeded)
{
    struct shape *shape = &node->heal.shape;

    if (shape->count == 0)
        return;
    if (succeeded) { /* from the top again */
        shape->next = 0;
        shape->pause_ms = PAUSE_MS;
        return;
    }
    shape->next = (shape->next + 1) % shape->count;
    shape->at_ms = node->now_ms + shape->pause_ms;
    shape->pause_ms *= 2;
    if (shape->pause_ms > PAUSE_MAX_MS)
        shape->pause_ms = PAUSE_MAX_MS;
}
