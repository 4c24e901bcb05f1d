/* faults.c - the faults of a schedule, now or later. */
#include "sim/swarm/faults.h"

#include "sim/memory.h"
#include "wire/frame.h"

#define SWARM_FAULTS  4096
#define SWARM_HANG_MS UINT32_MAX /* longer than any schedule */

struct swarm_fault {
    struct swarm *swarm;
    struct schedule_step step;
};

uint32_t faults_node(const struct swarm *swarm, uint32_t number)
{
    return number < sim_count(swarm->sim) &&
                   sim_role(swarm->sim, number) != NODE_OBSERVER
               ? number
               : SIM_NONE;
}

static void quicken(struct sim *sim, void *arg)
{
    const struct swarm *swarm = arg;

    if (sim_now_ms(sim) >= swarm->quick_ms)
        sim_set_filter_ms(sim, swarm->slow, 0);
}

uint64_t faults_lasts_until(struct swarm *swarm, uint32_t for_ms)
{
    uint64_t until_ms = sim_now_ms(swarm->sim) + for_ms;

    if (until_ms > swarm->calm_ms)
        swarm->calm_ms = until_ms;
    return until_ms;
}

/* Inject a fault of the link to `parent`. */
static void break_link(struct swarm *swarm,
                       const struct schedule_step *step,
                       uint32_t index,
                       uint32_t parent)
{
    struct sim *sim = swarm->sim;
    bool up = step->numbers[2];

    if (step->verb == SCHEDULE_CUT)
        sim_cut(sim, index, parent);
    else if (step->verb == SCHEDULE_HALF)
        sim_half(sim, up ? index : parent, up ? parent : index);
    else if (step->verb == SCHEDULE_MUTE)
        sim_mute(sim, up ? index : parent, up ? parent : index);
    else
        sim_hold(sim, up ? index : parent, up ? parent : index,
                 faults_lasts_until(swarm, step->numbers[3]));
}

/* Have a back-end send a frame that no back-end may send. */
static bool tell_lie(struct swarm *swarm, uint32_t index, uint32_t which)
{
    static const uint8_t types[] = {FRAME_PROBE, FRAME_HEARD, FRAME_FAN_OUT,
                                    FRAME_STATUS, FRAME_SNAPSHOT};
    struct frame frame = {.type =
                              types[which % (sizeof(types) / sizeof(*types))]};

    return sim_role(swarm->sim, index) == NODE_BACKEND &&
           sim_lie(swarm->sim, index, &frame);
}

/* Inject a planned fault. Returns whether it has an effect. */
static bool strike(struct swarm *swarm, const struct schedule_step *step)
{
    struct sim *sim = swarm->sim;
    uint32_t index = faults_node(swarm, step->numbers[0]);
    bool alive = index != SIM_NONE && sim_is_alive(sim, index);
    uint32_t parent;

    if (index == SIM_NONE || (!alive && swarm->launched))
        return false;
    if (step->verb == SCHEDULE_KILL) {
        if (index > 0)
            sim_crash(sim, index);
        return index > 0;
    }
    if (alive && step->verb == SCHEDULE_FREEZE) {
        sim_freeze(sim, index, step->numbers[2]);
        faults_lasts_until(swarm, step->numbers[2]);
        return true;
    }
    if (!alive || !swarm->launched)
        return false;
    if (step->verb == SCHEDULE_ISOLATE) {
        sim_isolate(sim, index, faults_lasts_until(swarm, step->numbers[2]));
        return true;
    }
    if (step->verb == SCHEDULE_VANISH) {
        if (index > 0)
            sim_vanish(sim, index);
        return index > 0;
    }
    if (step->verb == SCHEDULE_LIE)
        return tell_lie(swarm, index, step->numbers[2]);
    parent = sim_parent(sim, index);
    if (parent == SIM_NONE)
        return false;
    break_link(swarm, step, index, parent);
    return true;
}

static void strike_now(struct sim *sim, void *arg)
{
    struct swarm_fault *fault = arg;

    if (fault->swarm->over)
        return;
    sim_note(sim, SIM_TRACE_LIFE, "-- %s %u", schedule_name(fault->step.verb),
             fault->step.numbers[0]);
    if (strike(fault->swarm, &fault->step))
        fault->swarm->tally->steps[fault->step.verb]++;
}

void faults_plan(struct swarm *swarm, const struct schedule_step *step)
{
    struct swarm_fault *fault;
    uint32_t in_ms = step->numbers[1];

    if (!swarm->faults)
        swarm->faults = memory_new(SWARM_FAULTS * sizeof(*swarm->faults));
    if (swarm->fault_count == SWARM_FAULTS)
        return;
    fault = &swarm->faults[swarm->fault_count++];
    *fault = (struct swarm_fault){swarm, *step};
    sim_at(swarm->sim, faults_lasts_until(swarm, in_ms), strike_now, fault);
}

bool faults_slow_down(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = faults_node(swarm, step->numbers[0]);

    if (index == SIM_NONE || sim_now_ms(swarm->sim) < swarm->quick_ms)
        return false;
    swarm->slow = index;
    swarm->quick_ms = faults_lasts_until(swarm, step->numbers[2]);
    sim_set_filter_ms(swarm->sim, index, step->numbers[1]);
    sim_at(swarm->sim, swarm->quick_ms, quicken, swarm);
    return true;
}

bool faults_hang(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = faults_node(swarm, step->numbers[0]), rank;

    if (index == SIM_NONE || !sim_is_alive(swarm->sim, index) ||
        sim_role(swarm->sim, index) != NODE_COMMNODE)
        return false;
    rank = sim_rank(swarm->sim, index);
    ranks_add(&swarm->hung, rank, rank);
    sim_set_filter_ms(swarm->sim, index, SWARM_HANG_MS);
    return true;
}
