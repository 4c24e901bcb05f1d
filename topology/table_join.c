/* table_join.c - commnodes that join after the launch (PROTOCOL 19). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/array.h"
#include "topology/table_store.h"

static uint32_t joined_count(const struct table *table)
{
    return table->count - table->launched;
}

/* Make room for one more node. Returns 0 or -ENOMEM. */
static int make_room(struct table *table)
{
    if (array_grow(&table->joiners, joined_count(table),
                   sizeof *table->joiners) < 0)
        return -ENOMEM;
    return array_grow(&table->joined, joined_count(table),
                      sizeof *table->joined);
}

int table_join(struct table *table, uint32_t rank, const char *address)
{
    uint32_t index = store_index(table, rank);
    struct joiner added = {.rank = rank};
    uint32_t place;

    if (table->count == 0 || rank >= TABLE_RANKS_MAX ||
        (index != TABLE_NONE && index < table->launched))
        return -EBADMSG;
    if (index != TABLE_NONE)
        return strcmp(table_address(table, rank), address) == 0 ? 0 : -EBADMSG;
    if (make_room(table) < 0)
        return -ENOMEM;
    added.address = strdup(address);
    if (!added.address)
        return -ENOMEM;
    index = table->count;
    place = store_place(table, rank);
    added.node = (struct table_node){.parent = index, .failed = true};
    table->joiners[index - table->launched] = added;
    memmove(table->joined + place + 1, table->joined + place,
            (joined_count(table) - place) * sizeof *table->joined);
    table->joined[place] = index;
    table->count++;
    table->digest ^= store_part(KIND_JOINED, rank, 0, 0);
    return 1;
}

bool table_joined(const struct table *table,
                  uint32_t index,
                  uint32_t *rank,
                  const char **address)
{
    if (index >= joined_count(table))
        return false;
    *rank = table->joiners[index].rank;
    *address = table->joiners[index].address;
    return true;
}

const char *table_address(const struct table *table, uint32_t rank)
{
    uint32_t index = store_index(table, rank);

    return index == TABLE_NONE || index < table->launched
               ? NULL
               : table->joiners[index - table->launched].address;
}
