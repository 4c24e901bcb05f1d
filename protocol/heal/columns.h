/* columns.h - the records of one frame, as columns. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One block of memory; zero at first. */
struct columns {
    uint32_t *ranks; /* the start of the block */
    uint32_t *versions;
    uint32_t *values;
    uint32_t count;
};

/* Make room for `room` records; free it. Returns 0 or -ENOMEM. */
int columns_reserve(struct columns *columns, size_t room);
void columns_fini(struct columns *columns);

/* Add a record, for which there must be room. */
void columns_add(struct columns *columns,
                 uint32_t rank,
                 uint32_t version,
                 uint32_t value);
