/* adopter.c - NHI-WM. */
#include "topology/adopter.h"

#include "topology/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The sort takes this many bits of a fan-out at a time. */
#define DIGIT_BITS  11
#define DIGIT_COUNT (1 << DIGIT_BITS)

struct candidate {
    uint32_t rank;
    uint32_t fan_out;
};

/* Sort by the digit of the fan-out that begins at bit `shift`. Equals keep
 * their order. */
static void sort_by_digit(struct candidate *to,
                          const struct candidate *from,
                          uint32_t count,
                          unsigned shift)
{
    uint32_t begin[DIGIT_COUNT + 1] = {0};
    uint32_t i;

    for (i = 0; i < count; i++)
        begin[(from[i].fan_out >> shift) % DIGIT_COUNT + 1]++;
    for (i = 1; i < DIGIT_COUNT; i++)
        begin[i] += begin[i - 1];
    for (i = 0; i < count; i++)
        to[begin[(from[i].fan_out >> shift) % DIGIT_COUNT]++] = from[i];
}

/* Sort by fan-out those that stand by rank. `spare` is as large as `*all`;
 * the two may change places. */
static void sort(struct candidate **all,
                 struct candidate **spare,
                 uint32_t count,
                 uint32_t fan_out_max)
{
    unsigned shift;

    for (shift = 0; shift < 32 && fan_out_max >> shift > 0;
         shift += DIGIT_BITS) {
        struct candidate *sorted = *spare;

        sort_by_digit(sorted, *all, count, shift);
        *spare = *all;
        *all = sorted;
    }
}

/* Put the candidates into `all`, by rank. Returns how many. */
static uint32_t collect(const struct table *table,
                        const struct adopter_orphan *orphan,
                        uint32_t height_limit,
                        struct candidate *all,
                        uint32_t *fan_out_max)
{
    const uint32_t *depths = table_depths(table, 0, orphan->rank);
    struct table_entry entry;
    uint32_t count = 0;
    uint32_t i;

    *fan_out_max = 0;
    for (i = 0; i < table_count(table); i++) {
        if (depths[i] == TABLE_NO_PATH ||
            (uint64_t)depths[i] + 1 + orphan->height > height_limit)
            continue;
        table_at(table, i, &entry);
        all[count++] = (struct candidate){entry.rank, entry.fan_out};
        if (entry.fan_out > *fan_out_max)
            *fan_out_max = entry.fan_out;
    }
    return count;
}

int adopter_list(const struct table *table,
                 const struct adopter_orphan *orphan,
                 uint32_t height_limit,
                 struct adopter_list *out)
{
    uint32_t room = table_count(table) + 1;
    struct candidate *all = malloc(room * sizeof *all);
    struct candidate *spare = malloc(room * sizeof *spare);
    uint32_t *ranks = malloc(room * sizeof *ranks);
    uint32_t fan_out_max;
    uint32_t count;
    uint32_t i;
    int r = 0;

    if (!all || !spare || !ranks) {
        r = -ENOMEM;
        goto out;
    }
    count = collect(table, orphan, height_limit, all, &fan_out_max);
    out->last_resort = count == 0;
    if (count == 0)
        all[count++] = (struct candidate){0, 0};
    else
        sort(&all, &spare, count, fan_out_max);
    for (i = 0; i < count; i++)
        ranks[i] = all[(i + orphan->ordinal % count) % count].rank;
    out->ranks = ranks;
    out->count = count;
    ranks = NULL; /* now the caller's */
out:
    free(all);
    free(spare);
    free(ranks);
    return r;
}

void adopter_list_fini(struct adopter_list *list)
{
    free(list->ranks);
    *list = (struct adopter_list){0};
}
