/* ranks.c - a set of ranks, kept as sorted runs. */
#include "wire/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/limits.h"

#define ROOM_FIRST 4

/* Up to this many runs are added to a set one by one. */
#define UNITE_ONE_BY_ONE 4

void ranks_fini(struct ranks *set)
{
    free(set->runs);
    memset(set, 0, sizeof(*set));
}

/* Make room for `count` runs. */
static int ranks_reserve(struct ranks *set, size_t count)
{
    struct ranks_run *runs;
    size_t room = set->room ? set->room : ROOM_FIRST;

    if (count <= set->room)
        return 0;
    while (room < count)
        room *= 2;
    runs = realloc(set->runs, room * sizeof(*runs));
    if (!runs)
        return -ENOMEM;
    set->runs = runs;
    set->room = room;
    return 0;
}

int ranks_copy(struct ranks *set, const struct ranks *from)
{
    int r;

    if (set == from)
        return 0;
    r = ranks_reserve(set, from->count);
    if (r < 0)
        return r;
    if (from->count)
        memcpy(set->runs, from->runs, from->count * sizeof(*from->runs));
    set->count = from->count;
    return 0;
}

/* The first run whose last rank is at least `rank`; or `count`. */
static size_t ranks_search(const struct ranks *set, uint32_t rank)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (set->runs[middle].last < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ranks_add(struct ranks *set, uint32_t first, uint32_t last)
{
    size_t from, to;
    int r;

    if (last < first || last == RANK_NONE)
        return -EINVAL;
    r = ranks_reserve(set, set->count + 1);
    if (r < 0)
        return r;
    from = ranks_search(set, first ? first - 1 : 0);
    for (to = from; to < set->count && set->runs[to].first <= last + 1; to++) {
        if (set->runs[to].first < first)
            first = set->runs[to].first;
        if (set->runs[to].last > last)
            last = set->runs[to].last;
    }
    memmove(set->runs + from + 1, set->runs + to,
            (set->count - to) * sizeof(*set->runs));
    set->count = set->count - (to - from) + 1;
    set->runs[from] = (struct ranks_run){first, last};
    return 0;
}

/* Replace the content of `set` by `made`. */
static void ranks_replace(struct ranks *set, struct ranks *made)
{
    ranks_fini(set);
    *set = *made;
}

/* Append a run that begins at or after the last one's begin. There is room. */
static void ranks_append(struct ranks *set, const struct ranks_run *run)
{
    struct ranks_run *end = set->count ? &set->runs[set->count - 1] : NULL;

    if (!end || run->first > (uint64_t)end->last + 1)
        set->runs[set->count++] = *run;
    else if (run->last > end->last)
        end->last = run->last;
}

/* Merge two sets of many runs. */
static int ranks_merge(struct ranks *set, const struct ranks *other)
{
    struct ranks made = {0};
    size_t i = 0, j = 0;

    if (ranks_reserve(&made, set->count + other->count) < 0)
        return -ENOMEM;
    while (i < set->count || j < other->count) {
        if (j == other->count ||
            (i < set->count && set->runs[i].first <= other->runs[j].first))
            ranks_append(&made, &set->runs[i++]);
        else
            ranks_append(&made, &other->runs[j++]);
    }
    ranks_replace(set, &made);
    return 0;
}

int ranks_unite(struct ranks *set, const struct ranks *other)
{
    int r;

    if (set->count == 0)
        return ranks_copy(set, other);
    if (other->count > UNITE_ONE_BY_ONE)
        return ranks_merge(set, other);
    for (size_t i = 0; i < other->count; i++) {
        r = ranks_add(set, other->runs[i].first, other->runs[i].last);
        if (r < 0)
            return r;
    }
    return 0;
}

int ranks_subtract(struct ranks *set, const struct ranks *other)
{
    struct ranks left = {0};
    size_t i, j = 0;

    if (!ranks_meet(set, other))
        return 0;
    if (ranks_reserve(&left, set->count + other->count) < 0)
        return -ENOMEM;
    for (i = 0; i < set->count; i++) {
        uint32_t first = set->runs[i].first;
        uint32_t last = set->runs[i].last;

        while (j < other->count && other->runs[j].last < first)
            j++;
        for (; j < other->count && other->runs[j].first <= last; j++) {
            if (other->runs[j].first > first)
                left.runs[left.count++] =
                    (struct ranks_run){first, other->runs[j].first - 1};
            if (other->runs[j].last >= last)
                break;
            first = other->runs[j].last + 1;
        }
        if (j == other->count || other->runs[j].first > last)
            left.runs[left.count++] = (struct ranks_run){first, last};
    }
    ranks_replace(set, &left);
    return 0;
}

int ranks_intersect(struct ranks *set, const struct ranks *other)
{
    struct ranks both = {0};
    size_t i = 0, j = 0;

    if (ranks_reserve(&both, set->count + other->count) < 0)
        return -ENOMEM;
    while (i < set->count && j < other->count) {
        struct ranks_run a = set->runs[i], b = other->runs[j];
        uint32_t first = a.first > b.first ? a.first : b.first;
        uint32_t last = a.last < b.last ? a.last : b.last;

        if (first <= last)
            both.runs[both.count++] = (struct ranks_run){first, last};
        if (a.last < b.last)
            i++;
        else
            j++;
    }
    ranks_replace(set, &both);
    return 0;
}

bool ranks_has(const struct ranks *set, uint32_t rank)
{
    size_t i = ranks_search(set, rank);

    return i < set->count && set->runs[i].first <= rank;
}

bool ranks_cover(const struct ranks *set, const struct ranks *other)
{
    size_t j;

    for (size_t i = 0; i < other->count; i++) {
        j = ranks_search(set, other->runs[i].first);
        if (j == set->count || set->runs[j].first > other->runs[i].first ||
            set->runs[j].last < other->runs[i].last)
            return false;
    }
    return true;
}

bool ranks_meet(const struct ranks *set, const struct ranks *other)
{
    size_t j;

    for (size_t i = 0; i < other->count; i++) {
        j = ranks_search(set, other->runs[i].first);
        if (j < set->count && set->runs[j].first <= other->runs[i].last)
            return true;
    }
    return false;
}

bool ranks_equal(const struct ranks *set, const struct ranks *other)
{
    return set->count == other->count &&
           (set->count == 0 || memcmp(set->runs, other->runs,
                                      set->count * sizeof(*set->runs)) == 0);
}

uint64_t ranks_size(const struct ranks *set)
{
    uint64_t size = 0;

    for (size_t i = 0; i < set->count; i++)
        size += (uint64_t)set->runs[i].last - set->runs[i].first + 1;
    return size;
}

uint32_t ranks_at(const struct ranks *set, uint64_t index)
{
    for (size_t i = 0; i < set->count; i++) {
        uint64_t len = (uint64_t)set->runs[i].last - set->runs[i].first + 1;

        if (index < len)
            return set->runs[i].first + (uint32_t)index;
        index -= len;
    }
    return RANK_NONE;
}

uint32_t ranks_after(const struct ranks *set, uint32_t rank)
{
    uint32_t next = rank == RANK_NONE ? 0 : rank + 1;
    size_t i = ranks_search(set, next);

    if (i == set->count)
        return RANK_NONE;
    return next < set->runs[i].first ? set->runs[i].first : next;
}

static int compare(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

int ranks_add_list(struct ranks *set, const uint32_t *list, size_t count)
{
    struct ranks made = {0};
    uint32_t *sorted;
    int r = 0;

    if (count == 0)
        return 0;
    sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, list, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = ranks_add(&made, sorted[i], sorted[i]);
    if (r == 0)
        r = ranks_unite(set, &made);
    ranks_fini(&made);
    free(sorted);
    return r;
}

const uint32_t *ranks_pairs(const struct ranks *set)
{
    return (const uint32_t *)set->runs;
}

int ranks_from_pairs(struct ranks *set, const uint32_t *pairs, size_t count)
{
    struct ranks made = {0};

    if (count % 2 != 0)
        return -EBADMSG;
    for (size_t i = 0; i < count; i += 2) {
        if (pairs[i + 1] < pairs[i] || pairs[i + 1] >= LIMIT_NODES)
            return -EBADMSG;
        if (i > 0 && pairs[i] <= pairs[i - 1])
            return -EBADMSG;
    }
    if (ranks_reserve(&made, count / 2) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i += 2)
        if (ranks_add(&made, pairs[i], pairs[i + 1]) < 0) {
            ranks_fini(&made);
            return -ENOMEM;
        }
    ranks_replace(set, &made);
    return 0;
}
