/* refusals.c - which refused connections get a line in the log. */
#include "net/refusals.h"

#define SECOND_MS 1000

bool refusals_add(struct refusals *refusals, uint64_t now_ms)
{
    if (now_ms >= refusals->until_ms && refusals->left_out == 0) {
        refusals->until_ms = now_ms + SECOND_MS;
        refusals->written = 0;
    }
    if (refusals->written < REFUSALS_MAX) {
        refusals->written++;
        return true;
    }
    refusals->left_out++;
    return false;
}

uint32_t refusals_left_out(struct refusals *refusals, uint64_t now_ms)
{
    uint32_t count = refusals->left_out;

    if (now_ms < refusals->until_ms)
        return 0;
    refusals->left_out = 0;
    return count;
}
