/* bound.c - the search for the least maximum fan-out. */
#include "study/bound.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "topology/table.h"

/* Whether all orphans find a place when the maximum fan-out is `most`. `places`
 * is room for height + 1 elements: the free places at each depth. */
static bool orphans_fit(const struct table_site *sites,
                        uint32_t count,
                        const uint32_t *orphans,
                        uint32_t height,
                        uint32_t most,
                        uint64_t *places)
{
    uint64_t waiting = 0;
    uint64_t free_places = 0;
    uint32_t depth;

    for (depth = 0; depth <= height; depth++)
        places[depth] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sites[i].depth < height && sites[i].fan_out < most)
            places[sites[i].depth] += most - sites[i].fan_out;
    }
    /* the front-end may adopt orphans that are too high */
    waiting += orphans[height];
    for (depth = 0; depth < height; depth++) {
        waiting += orphans[height - 1 - depth];
        free_places += places[depth];
        if (waiting > free_places)
            return false;
    }
    return true;
}

int64_t study_bound(const struct table_site *sites,
                    uint32_t count,
                    const uint32_t *orphans,
                    uint32_t height)
{
    uint64_t *places = malloc((height + 1) * sizeof *places);
    uint32_t low = 0;
    uint32_t high;

    if (!places)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (sites[i].depth != TABLE_NO_PATH && sites[i].fan_out > low)
            low = sites[i].fan_out;
    }
    high = low;
    for (uint32_t i = 0; i <= height; i++)
        high += orphans[i];
    while (low < high) {
        /* the present maximum is usually enough, or nearly */
        uint32_t middle = high - low > 8 ? low + (high - low) / 4 : low;

        if (orphans_fit(sites, count, orphans, height, middle, places))
            high = middle;
        else
            low = middle + 1;
    }
    free(places);
    return low;
}
