/* link_table.c - the links of one node, by the numbers that its machine knows.
 */
#include "net/link_table.h"

#include <stdlib.h>
#include <string.h>

/* A free number, the least; UINT32_MAX: out of memory. */
static uint32_t free_link(struct link_table *links)
{
    struct link_slot *slots;
    uint32_t count = links->count;
    uint32_t i;

    for (i = 0; i < count; i++)
        if (!links->slots[i].connection)
            return i;
    slots = realloc(links->slots, (2 * count + 4) * sizeof(*slots));
    if (!slots)
        return UINT32_MAX;
    memset(slots + count, 0, (count + 4) * sizeof(*slots));
    links->slots = slots;
    links->count = 2 * count + 4;
    return count;
}

uint32_t link_table_add(struct link_table *links,
                        struct connection *connection,
                        uint32_t rank,
                        bool is_parent)
{
    uint32_t link = free_link(links);

    if (link != UINT32_MAX)
        links->slots[link] = (struct link_slot){
            .connection = connection,
            .rank = rank,
            .is_parent = is_parent,
        };
    return link;
}

struct link_slot *link_table_at(const struct link_table *links, uint32_t link)
{
    return link_table_connection(links, link) ? &links->slots[link] : NULL;
}

struct connection *link_table_connection(const struct link_table *links,
                                         uint32_t link)
{
    return link < links->count ? links->slots[link].connection : NULL;
}

void link_table_fini(struct link_table *links)
{
    free(links->slots);
    links->slots = NULL;
    links->count = 0;
}
