/* views.c - see views.h. */
#include "sim/swarm/views.h"

#include <inttypes.h>

#include "sim/memory.h"
#include "sim/world.h"

void views_told(struct sim *sim, const struct action *tell, uint64_t *last)
{
    const struct ranks *ranks;
    uint64_t stable;

    if (tell->sequence != *last + 1)
        sim_fail(sim, "view %" PRIu64 " is stable, after %" PRIu64,
                 tell->sequence, *last);
    *last = tell->sequence;
    node_view(sim_node(sim, 0), &stable, &ranks);
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        const struct ranks *own;

        if (!sim_is_alive(sim, i) || sim_role(sim, i) != NODE_BACKEND ||
            !ranks_has(node_backends(sim_node(sim, 0)), sim_rank(sim, i)))
            continue;
        if (node_view(sim_node(sim, i), &stable, &own) < tell->sequence)
            sim_fail(sim, "view %" PRIu64 " is stable, and %u does not have it",
                     tell->sequence, sim_rank(sim, i));
    }
}

/* Whether `rank` lives in the network. */
static bool is_in(const struct sim *sim, uint32_t rank)
{
    uint32_t index = sim_find(sim, rank);

    return index != SIM_NONE && sim_is_alive(sim, index);
}

char *views_lack(const struct sim *sim)
{
    const struct ranks *ranks, *own;
    uint64_t number, stable, known;

    number = node_view(sim_node(sim, 0), &stable, &ranks);
    if (!ranks)
        return number == 1 ? NULL : memory_format("there are views");
    if (stable < number)
        return memory_format("view %" PRIu64 " is not stable", number);
    for (uint32_t i = 0; i < sim_count(sim); i++) {
        if (!sim_is_alive(sim, i) || sim_rank(sim, i) == RANK_NONE)
            continue;
        if (!ranks_has(ranks, sim_rank(sim, i)))
            return memory_format("%u lives, and is not in view %" PRIu64,
                                 sim_rank(sim, i), number);
        known = node_view(sim_node(sim, i), &stable, &own);
        if (known != number)
            return memory_format("%u has view %" PRIu64 ", not %" PRIu64,
                                 sim_rank(sim, i), known, number);
    }
    for (uint32_t rank = ranks_after(ranks, RANK_NONE); rank != RANK_NONE;
         rank = ranks_after(ranks, rank))
        if (!is_in(sim, rank))
            return memory_format("%u is dead, and in view %" PRIu64, rank,
                                 number);
    return NULL;
}
