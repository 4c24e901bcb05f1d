/* seen.c - a hash set with open addressing. */
#include "test/models/seen.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM ((size_t)1 << 16)

static size_t find_place(const struct seen *seen, uint64_t digest)
{
    size_t at = (size_t)(digest ^ digest >> 32) & (seen->room - 1);

    while (seen->digests[at] != 0 && seen->digests[at] != digest)
        at = (at + 1) & (seen->room - 1);
    return at;
}

static void grow_table(struct seen *seen)
{
    struct seen grown = {
        .room = seen->room ? seen->room * 2 : FIRST_ROOM,
        .count = seen->count,
    };

    grown.digests = calloc(grown.room, sizeof(*grown.digests));
    grown.marks = calloc(grown.room, sizeof(*grown.marks));
    if (!grown.digests || !grown.marks) {
        fprintf(stderr, "out of memory after %zu states\n", seen->count);
        exit(2);
    }
    for (size_t i = 0; i < seen->room; i++) {
        size_t at;

        if (seen->digests[i] == 0)
            continue;
        at = find_place(&grown, seen->digests[i]);
        grown.digests[at] = seen->digests[i];
        grown.marks[at] = seen->marks[i];
    }
    seen_fini(seen);
    *seen = grown;
}

bool seen_add(struct seen *seen, uint64_t digest)
{
    size_t at;

    digest += digest == 0;
    if (seen->count * 2 >= seen->room)
        grow_table(seen);
    at = find_place(seen, digest);
    if (seen->digests[at] != 0)
        return false;
    seen->digests[at] = digest;
    seen->count++;
    return true;
}

uint32_t *seen_mark(struct seen *seen, uint64_t digest)
{
    return &seen->marks[find_place(seen, digest + (digest == 0))];
}

uint64_t seen_sum(const struct seen *seen)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < seen->room; i++)
        sum += seen->digests[i];
    return sum;
}

void seen_fini(struct seen *seen)
{
    free(seen->digests);
    free(seen->marks);
    *seen = (struct seen){0};
}
