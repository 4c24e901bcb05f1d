/* stays.c - see stays.h. */
#include "stat/walk/stays.h"

#include <errno.h>
#include <stdlib.h>

void stays_fini(struct stays *stays)
{
    TABLE_FREE(stays->table);
}

const struct stay *stays_find(const struct stays *stays, uint64_t hash)
{
    const struct stay *stay;

    HASH_FIND(hh, stays->table, &hash, sizeof(hash), stay);
    return stay;
}

int stays_add(struct stays *stays,
              uint64_t hash,
              const struct evidence *evidence)
{
    struct stay *stay;

    HASH_FIND(hh, stays->table, &hash, sizeof(hash), stay);
    if (!stay) {
        stay = calloc(1, sizeof(*stay));
        if (!stay)
            return -ENOMEM;
        stay->hash = hash;
        HASH_ADD(hh, stays->table, hash, sizeof(hash), stay);
        if (!stay->hh.tbl) {
            free(stay);
            return -ENOMEM;
        }
    }
    stay->now++;
    if (stay->weight < evidence->weight)
        stay->weight = evidence->weight;
    stay->ran |= evidence->ran;
    stay->polled |= evidence->polled;
    return 0;
}

/* End the sample of one stay, which may end with it. Returns whether threads
 * have come to it, left it, or moved. */
static bool stay_end_sample(struct stays *stays, struct stay *stay)
{
    bool changed = stay->ran || stay->now > stay->before;
    bool left = stay->now < stay->before;

    stay->still = changed ? 1 : stay->still + 1;
    stay->polls = !changed && (stay->polls || stay->polled);
    stay->before = stay->now;
    stay->now = 0;
    stay->ran = false;
    stay->polled = false;
    if (stay->before == 0) {
        HASH_DEL(stays->table, stay);
        free(stay);
    }
    return changed || left;
}

bool stays_end_sample(struct stays *stays)
{
    enum weight most = WEIGHT_OWN;
    struct stay *stay, *next;
    bool moved = false;

    for (stay = stays->table; stay; stay = stay->hh.next)
        if (stay->now > 0 && stay->weight > most)
            most = stay->weight;
    HASH_ITER (hh, stays->table, stay, next) {
        bool counts = stay->weight >= most;

        moved |= stay_end_sample(stays, stay) && counts;
    }
    return moved;
}
