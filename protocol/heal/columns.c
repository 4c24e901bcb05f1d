/* columns.c - the records of one frame, as columns. */
#include "protocol/heal/columns.h"

#include <errno.h>
#include <stdlib.h>

void columns_fini(struct columns *columns)
{
    free(columns->ranks);
}

int columns_reserve(struct columns *columns, size_t room)
{
    columns->ranks = calloc(room + 1, 3 * sizeof(uint32_t));
    if (!columns->ranks)
        return -ENOMEM;
    columns->versions = columns->ranks + room + 1;
    columns->values = columns->versions + room + 1;
    return 0;
}

void columns_add(struct columns *columns,
                 uint32_t rank,
                 uint32_t version,
                 uint32_t value)
{
    columns->ranks[columns->count] = rank;
    columns->versions[columns->count] = version;
    columns->values[columns->count] = value;
    columns->count++;
}
