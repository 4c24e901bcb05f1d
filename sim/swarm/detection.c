/* detection.c - checks the detection of silence. */
#include "sim/swarm/detection.h"

#include <inttypes.h>

#include "protocol/node.h"
#include "sim/world.h"

/* How long bytes may wait that are being read piece by piece. */
#define DETECTION_READ_MS 10

/* When bytes last arrived on a link, or when it began. */
static uint64_t heard_ms(const struct sim *sim, const struct world_end *end)
{
    uint64_t now_ms =
        sim->now_ms > DETECTION_READ_MS ? sim->now_ms - DETECTION_READ_MS : 0;
    uint64_t waiting_ms = flow_waiting_ms(&end->in, now_ms);

    return waiting_ms > end->heard_ms ? waiting_ms : end->heard_ms;
}

/* Whether the other end could not send at some time since `since_ms`. */
static bool is_excused(const struct sim *sim,
                       const struct world_end *end,
                       uint64_t since_ms)
{
    const struct world_node *peer = sim->nodes[end->peer];

    return peer->state != WORLD_ALIVE || end->peer_life == 0 ||
           peer->frozen_ms >= since_ms || end->in.muted ||
           end->in.held_ms >= since_ms;
}

void detection_accused(struct sim *sim,
                       uint32_t index,
                       uint32_t link,
                       struct tally *tally)
{
    const struct world_node *node = sim->nodes[index];
    const struct world_end *end =
        link < node->end_count ? node->ends[link] : NULL;
    uint64_t heard = end ? heard_ms(sim, end) : 0;
    uint64_t silence_ms = sim->now_ms - heard;

    if (!end)
        return;
    tally->accusations++;
    if (silence_ms > tally->slowest_ms)
        tally->slowest_ms = silence_ms;
    if (silence_ms < node_patience_ms(node->machine))
        sim_fail(sim, "%d accuses %d, which it has heard %" PRIu64 " ms ago",
                 (int)node->rank, (int)sim->nodes[end->peer]->rank, silence_ms);
    else if (!is_excused(sim, end, heard))
        sim_fail(sim, "%d accuses %d, which was neither silent nor stopped",
                 (int)node->rank, (int)sim->nodes[end->peer]->rank);
}

void detection_look(struct sim *sim)
{
    for (size_t i = 0; i < sim->count; i++) {
        const struct world_node *node = sim->nodes[i];

        if (node->state != WORLD_ALIVE || node->frozen_ms > sim->now_ms)
            continue;
        for (size_t k = 0; k < node->end_count; k++) {
            const struct world_end *end = node->ends[k];

            uint64_t since_ms;

            if (!end || !end->up)
                continue;
            since_ms = heard_ms(sim, end);
            if (since_ms < node->frozen_ms)
                since_ms = node->frozen_ms; /* timers restart (6.2) */
            if (since_ms < node->launched_ms)
                since_ms = node->launched_ms; /* a longer limit (12.2b) */
            if (sim->now_ms >
                since_ms + node_patience_ms(node->machine) + DETECTION_READ_MS)
                sim_fail(sim, "%d has not noticed the silence of %d",
                         (int)node->rank, (int)sim->nodes[end->peer]->rank);
        }
    }
}
