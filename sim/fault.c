/* fault.c - the faults of the simulated world. */
#include "sim/world.h"

#include <errno.h>
#include <signal.h>

void sim_missing(struct sim *sim, uint32_t rank, const char *text)
{
    sim->nodes[sim_find(sim, rank)]->missing = text;
}

void sim_hang(struct sim *sim, uint32_t rank)
{
    sim->nodes[sim_find(sim, rank)]->hangs = true;
}

void sim_crash(struct sim *sim, uint32_t index)
{
    struct world_node *node = sim->nodes[index];

    sim_note(sim, SIM_TRACE_LIFE, "%d crashes", (int)node->rank);
    if (node->state == WORLD_ALIVE)
        world_stop(sim, node, WORLD_CRASHED);
    else if (node->state == WORLD_ABSENT)
        node->state = WORLD_CRASHED; /* before it sent anything */
}

int sim_resume(struct sim *sim)
{
    struct world_node *node = sim->nodes[0];

    if (node->state != WORLD_CRASHED)
        return -EBUSY;
    node->frozen_ms = 0;
    node->in_receive = false;
    node->dials++; /* knocks of its former life are void */
    return world_resume(sim, node);
}

size_t sim_records(const struct sim *sim)
{
    return sim->record_count;
}

size_t sim_recorded(const struct sim *sim, uint32_t stream)
{
    size_t count = 0;

    for (size_t i = 0; i < sim->record_count; i++)
        count += sim->records[i].type == FRAME_DATA &&
                 sim->records[i].stream == stream &&
                 !(sim->records[i].flags & FRAME_EMPTY);
    return count;
}

void sim_forget_records(struct sim *sim, size_t count)
{
    while (sim->record_count > count)
        frame_fini(&sim->records[--sim->record_count]);
}

static void crash_now(struct sim *sim, void *arg)
{
    struct world_node *node = arg;

    sim_crash(sim, node->index);
}

void sim_crash_at(struct sim *sim, uint32_t index, uint64_t at_ms)
{
    sim_at(sim, at_ms, crash_now, sim->nodes[index]);
}

/* The most milliseconds in which a peer reads a frame, part by part. */
#define READING_MS 20

/* The crashing process waits until its parent has read its report. */
void world_crash_in_call(struct sim *sim, struct world_node *node)
{
    uint64_t at_ms = sim->now_ms + sim->config.delay_max_ms + READING_MS;
    struct frame frame;
    uint32_t link;

    sim_note(sim, SIM_TRACE_LIFE, "%d crashes in a filter call",
             (int)node->rank);
    if (node_last_words(node->machine, SIGSEGV, &link, &frame))
        world_write(sim, node, link, &frame);
    sim_freeze(sim, node->index, at_ms + 1 - sim->now_ms);
    sim_crash_at(sim, node->index, at_ms);
}

/* End the link; each end notices after its own delay. */
static void break_link(struct sim *sim,
                       uint32_t index,
                       uint32_t other,
                       const char *reason,
                       bool silent)
{
    struct world_end *ends[2] = {
        world_end_to(sim->nodes[index], other),
        world_end_to(sim->nodes[other], index),
    };

    for (int i = 0; i < 2; i++) {
        struct agenda_entry entry = {.type = AGENDA_BYTES};

        if (!ends[i])
            continue;
        flow_cut(&ends[i]->in,
                 random_between(&sim->random, 0, flow_len(&ends[i]->in)));
        ends[i]->reason = reason;
        ends[i]->silent = silent;
        ends[i]->peer_life = 0;
        entry.at_ms = flow_end(&ends[i]->in, sim->now_ms + world_delay_ms(sim));
        if (entry.at_ms == UINT64_MAX)
            continue;
        entry.node = ends[i]->node;
        entry.number = ends[i]->life;
        while (world_end_at(sim->nodes[entry.node], entry.link) != ends[i])
            entry.link++;
        agenda_add(&sim->agenda, entry);
    }
}

void sim_cut(struct sim *sim, uint32_t index, uint32_t other)
{
    break_link(sim, index, other, "reset", false);
}

void sim_expire(struct sim *sim, uint32_t index, uint32_t other)
{
    break_link(sim, index, other, "timed out", true);
}

void sim_mute(struct sim *sim, uint32_t from, uint32_t to)
{
    struct world_end *end = world_end_to(sim->nodes[to], from);

    if (end)
        end->in.muted = true;
}

void sim_inject(struct sim *sim,
                uint32_t from,
                uint32_t to,
                struct frame *frame)
{
    struct world_end *end = world_end_to(sim->nodes[from], to);
    uint32_t link = 0;

    sim->meddled = true;
    if (end) {
        while (world_end_at(sim->nodes[from], link) != end)
            link++;
        world_write(sim, sim->nodes[from], link, frame);
    }
    frame_fini(frame);
}

bool sim_lie(struct sim *sim, uint32_t from, struct frame *frame)
{
    struct world_node *node = sim->nodes[from];
    uint32_t link = 0;

    while (link < node->end_count &&
           !(node->ends[link] && node->ends[link]->upward))
        link++;
    if (node->lie || link == node->end_count || !node->ends[link]->up) {
        frame_fini(frame);
        return false;
    }
    node->lie = frame->type;
    world_write(sim, node, link, frame);
    frame_fini(frame);
    return true;
}

bool sim_is_caught(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->caught;
}

void sim_freeze(struct sim *sim, uint32_t index, uint64_t for_ms)
{
    struct world_node *node = sim->nodes[index];

    if (sim->now_ms + for_ms > node->frozen_ms)
        node->frozen_ms = sim->now_ms + for_ms;
}

static void hold_end(struct world_end *end, uint64_t until_ms)
{
    if (end && until_ms > end->in.held_ms)
        end->in.held_ms = until_ms;
}

void sim_hold(struct sim *sim, uint32_t from, uint32_t to, uint64_t until_ms)
{
    hold_end(world_end_to(sim->nodes[to], from), until_ms);
}

void sim_isolate(struct sim *sim, uint32_t index, uint64_t until_ms)
{
    struct world_node *node = sim->nodes[index];

    if (until_ms > node->apart_ms)
        node->apart_ms = until_ms;
    for (size_t i = 0; i < sim->count; i++) {
        struct world_node *other = sim->nodes[i];

        for (size_t k = 0; k < other->end_count; k++)
            if (other->ends[k] && (i == index || other->ends[k]->peer == index))
                hold_end(other->ends[k], until_ms);
    }
}

void sim_vanish(struct sim *sim, uint32_t index)
{
    struct world_node *node = sim->nodes[index];

    sim_note(sim, SIM_TRACE_LIFE, "%d vanishes", (int)node->rank);
    node->vanished = true;
    if (node->state != WORLD_ALIVE)
        return;
    for (size_t i = 0; i < node->end_count; i++)
        if (node->ends[i])
            sim_mute(sim, index, node->ends[i]->peer);
    world_stop(sim, node, WORLD_CRASHED);
}

void sim_half(struct sim *sim, uint32_t index, uint32_t other)
{
    sim_mute(sim, index, other);
    sim_cut(sim, index, other);
}
