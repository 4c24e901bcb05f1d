/* absence.c - launches in which some nodes do not start. */
#include "sim/swarm/absence.h"

#include "sim/world.h"

/* Whether the front-end lists `rank` as missing. */
static bool is_listed(const struct sim *sim, uint32_t rank)
{
    const char *host, *reason;
    uint32_t listed;

    for (size_t i = 0;
         node_missing(sim_node(sim, 0), i, &listed, &host, &reason); i++)
        if (listed == rank)
            return true;
    return false;
}

void absence_check(struct sim *sim, bool launched, bool others)
{
    const struct ranks *backends;
    uint32_t left = 0;

    if (!sim_is_alive(sim, 0))
        return;
    backends = node_backends(sim_node(sim, 0));
    for (size_t i = 1; i < sim->tree.count; i++) {
        const struct world_node *node = sim->nodes[sim->tree.nodes[i].rank];
        bool absent = node->missing || node->hangs;
        bool listed = is_listed(sim, node->rank);

        left += node->role == NODE_BACKEND && !absent;
        if (absent && !listed)
            sim_fail(sim, "%u did not start, and is not listed", node->rank);
        if (listed && !absent && !others)
            sim_fail(sim, "%u could start, and is missing", node->rank);
        if (listed && ranks_has(backends, node->rank))
            sim_fail(sim, "%u is missing, and a back-end", node->rank);
    }
    if (launched && left == 0)
        sim_fail(sim, "it is launched, and no back-end is left");
    if (!launched && left > 0 && !others)
        sim_fail(sim, "the launch failed, and %u back-ends were left", left);
}
