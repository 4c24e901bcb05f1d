/* steps.c - take the steps of a schedule, and wait for their results. */
#include "sim/swarm/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/swarm/absence.h"
#include "sim/swarm/faults.h"
#include "sim/swarm/views.h"

/* The longest wait in virtual time: giving up one member takes a minute, and
 * some may follow one another. */
#define SWARM_WAIT_MS UINT64_C(300000)

/* The same if links have a rate: the slowest passes 50 MB in this time. */
#define SWARM_SLOW_WAIT_MS UINT64_C(2500000)

#define SWARM_POLL_MS 5 /* between checks of a wait */
#define SWARM_ANSWERS 2 /* to the last packets of a schedule */

static bool is_launched(const struct swarm *swarm)
{
    return swarm->launched || swarm->launch_failed;
}

static bool is_open(const struct swarm *swarm)
{
    return traffic_is_open(&swarm->traffic);
}

static bool is_sent(const struct swarm *swarm)
{
    return sim_unsent(swarm->sim, 0) == 0;
}

static bool is_synced(const struct swarm *swarm)
{
    return traffic_is_synced(&swarm->traffic, swarm->sim);
}

/* Whether the packets covered by the sync have been taken. */
static bool is_taken(const struct swarm *swarm)
{
    return traffic_is_checked(&swarm->traffic, swarm->sim);
}

static bool is_whole(const struct swarm *swarm)
{
    char *lack;

    if (sim_now_ms(swarm->sim) < swarm->calm_ms)
        return false;
    lack = healing_lack(&swarm->healing, swarm->sim);
    free(lack);
    return !lack;
}

static bool has_views(const struct swarm *swarm)
{
    char *lack = views_lack(swarm->sim);
    free(lack);
    return !lack;
}

static bool is_told(const struct swarm *swarm)
{
    return traffic_is_told(&swarm->traffic, swarm->sim);
}

static bool is_ended(const struct swarm *swarm)
{
    for (uint32_t i = 0; i < sim_count(swarm->sim); i++)
        if (sim_is_alive(swarm->sim, i))
            return false;
    return true;
}

static bool is_left(const struct swarm *swarm)
{
    for (uint32_t i = 1; i < sim_count(swarm->sim); i++)
        if (sim_is_alive(swarm->sim, i) && sim_is_leaving(swarm->sim, i))
            return false;
    return true;
}

/* Wait until `done`. Returns 0, or -EIO with the failure recorded. */
static int wait_for(struct swarm *swarm,
                    bool (*done)(const struct swarm *swarm),
                    const char *what)
{
    uint64_t from_ms = sim_now_ms(swarm->sim);

    if (swarm->calm_ms > from_ms)
        from_ms = swarm->calm_ms;
    while (!done(swarm)) {
        uint64_t now_ms = sim_now_ms(swarm->sim);

        if (now_ms > from_ms + (swarm->traffic.is_rated ? SWARM_SLOW_WAIT_MS
                                                        : SWARM_WAIT_MS)) {
            char *lack = NULL;

            if (done == is_whole)
                lack = healing_lack(&swarm->healing, swarm->sim);
            else if (done == has_views)
                lack = views_lack(swarm->sim);
            sim_fail(swarm->sim, "it sticks: %s%s%s", what, lack ? ": " : "",
                     lack ? lack : "");
            free(lack);
            return -EIO;
        }
        if (sim_run_until(swarm->sim, now_ms + SWARM_POLL_MS) < 0)
            return -EIO;
    }
    return sim_failure(swarm->sim) ? -EIO : 0;
}

/* Sync all streams and check the result against the model. */
static int sync_all(struct swarm *swarm)
{
    int r;

    r = wait_for(swarm, is_open, "opening");
    if (r == 0)
        r = wait_for(swarm, is_sent, "sending");
    if (r < 0)
        return r;
    traffic_sync(&swarm->traffic, swarm->sim);
    r = wait_for(swarm, is_synced, "sync");
    return r == 0 ? wait_for(swarm, is_taken, "taking") : r;
}

static void answer(struct sim *sim,
                   uint32_t index,
                   uint32_t id,
                   const struct frame *frame,
                   void *arg)
{
    struct swarm *swarm = arg;

    traffic_answer(&swarm->traffic, sim, index, id, frame);
}

void steps_set_app(struct swarm *swarm, uint32_t index, uint32_t take_ms)
{
    struct sim_app app = {.arg = swarm, .take_ms = take_ms};

    if (index == 0)
        app.two_threads = true;
    else
        app.taken = answer;
    sim_set_app(swarm->sim, index, &app);
}

/* A back-end or a commnode joins. */
static bool take_join(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t parent = faults_node(swarm, step->numbers[0]);
    uint32_t joiner;

    if (!swarm->launched ||
        swarm->joiner_count + swarm->helper_count == SWARM_JOINERS)
        return false;
    if (parent == SIM_NONE || !sim_is_alive(swarm->sim, parent) ||
        sim_role(swarm->sim, parent) == NODE_BACKEND)
        parent = 0;
    if (step->verb == SCHEDULE_JOIN) {
        swarm->joiner_count++;
        /* below a commnode that has joined itself it may be too deep (19.3) */
        swarm->healing.overlapped |=
            parent >= tree_next_rank(sim_tree(swarm->sim));
        joiner = sim_attach(swarm->sim, parent);
    } else {
        swarm->helper_count++;
        joiner = sim_join(swarm->sim, parent);
    }
    steps_set_app(swarm, joiner, 0);
    return true;
}

/* Wait until all joiners were reported, but no longer than the step says. */
static int take_joined(struct swarm *swarm, const struct schedule_step *step)
{
    uint64_t until_ms = sim_now_ms(swarm->sim) + step->numbers[0];

    while (swarm->joined_count < swarm->joiner_count &&
           sim_now_ms(swarm->sim) < until_ms)
        if (sim_run_until(swarm->sim, sim_now_ms(swarm->sim) + 1) < 0)
            return -EIO;
    return swarm->joined_count == swarm->joiner_count;
}

/* A commnode moves below another node. */
static bool take_move(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = faults_node(swarm, step->numbers[0]);
    uint32_t parent = faults_node(swarm, step->numbers[1]);

    return index != SIM_NONE && parent != SIM_NONE && swarm->launched &&
           sim_rank(swarm->sim, index) != RANK_NONE &&
           sim_rank(swarm->sim, parent) != RANK_NONE &&
           sim_move(swarm->sim, sim_rank(swarm->sim, index),
                    sim_rank(swarm->sim, parent)) == 0;
}

static bool is_idle(const struct swarm *swarm)
{
    uint64_t since_ms;
    uint32_t stream;

    return sim_waiting(swarm->sim, 0) == 0 && sim_unsent(swarm->sim, 0) == 0 &&
           !node_is_filtering(sim_node(swarm->sim, 0), &stream, &since_ms);
}

/* The front-end crashes when its application has taken and sent everything, and
 * another one takes its network over (PROTOCOL 23). */
static int take_over(struct swarm *swarm, const struct schedule_step *step)
{
    struct sim *sim = swarm->sim;

    if (!swarm->launched)
        return 0;
    if (wait_for(swarm, is_idle, "idleness") < 0)
        return -EIO;
    sim_crash(sim, 0);
    traffic_taken_over(&swarm->traffic, sim);
    healing_taken_over(&swarm->healing, sim);
    if (sim_run_until(sim, sim_now_ms(sim) + step->numbers[0]) < 0)
        return -EIO;
    if (sim_resume(sim) < 0) {
        sim_fail(sim, "the network cannot be taken over");
        return -EIO;
    }
    steps_set_app(swarm, 0, 0);
    faults_lasts_until(swarm, 0);
    return 1;
}

/* The commnodes of a host are to end. */
static bool take_drain(struct swarm *swarm, const struct schedule_step *step)
{
    char host[16];

    snprintf(host, sizeof(host), "h%u", step->numbers[0]);
    if (!swarm->launched || sim_drain(swarm->sim, host) < 0)
        return false;
    healing_drained(&swarm->healing, step->numbers[0]);
    return true;
}

static bool take_leave(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = faults_node(swarm, step->numbers[0]);

    if (index == SIM_NONE || !sim_is_alive(swarm->sim, index) ||
        sim_role(swarm->sim, index) != NODE_BACKEND || !swarm->launched)
        return false;
    /* A back-end told to leave twice ends at once, without FAREWELL (PROTOCOL
     * 17.7). */
    if (swarm->healing.nodes[index].left && traffic_has_totals(&swarm->traffic))
        return false;
    swarm->healing.nodes[index].left = true;
    ranks_add(&swarm->traffic.leavers, sim_rank(swarm->sim, index),
              sim_rank(swarm->sim, index));
    return sim_shutdown(swarm->sim, index) == 0;
}

/* A step for one node in its present state, before or after the launch. */
static bool prepare(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = faults_node(swarm, step->numbers[0]);

    if (index == SIM_NONE)
        return false;
    if (step->verb == SCHEDULE_APP)
        steps_set_app(swarm, index, step->numbers[1]);
    else if (step->verb == SCHEDULE_FILTER)
        sim_set_filter_ms(swarm->sim, index, step->numbers[1]);
    else
        swarm->traps[index] = 1 + step->numbers[1];
    return step->verb != SCHEDULE_TRAP;
}

/* Take one step. Returns 1 if it had an effect, 0 if not, or -EIO. */
static int take_step(struct swarm *swarm, const struct schedule_step *step)
{
    switch (step->verb) {
    case SCHEDULE_BUDGET:
    case SCHEDULE_RATE:
    case SCHEDULE_SKIP:
    case SCHEDULE_ABSENT:
        return 1; /* in effect from the beginning */
    case SCHEDULE_REPLACE:
        return 0; /* counted when a replacement has joined */
    case SCHEDULE_APP:
    case SCHEDULE_FILTER:
    case SCHEDULE_TRAP:
        return prepare(swarm, step);
    case SCHEDULE_CHATTER:
        return swarm->launched &&
               traffic_chatter(&swarm->traffic, swarm->sim, step);
    case SCHEDULE_WITH:
    case SCHEDULE_EXACT:
    case SCHEDULE_ANSWERS:
    case SCHEDULE_REFUSE:
    case SCHEDULE_OPEN:
    case SCHEDULE_SEND:
    case SCHEDULE_SEND_TO:
    case SCHEDULE_PARAMETERS:
    case SCHEDULE_CLOSE:
    case SCHEDULE_POISON:
        return swarm->launched &&
               traffic_take(&swarm->traffic, swarm->sim, step);
    case SCHEDULE_OPENED:
        return wait_for(swarm, is_open, "opening") < 0 ? -EIO : 1;
    case SCHEDULE_SYNC:
        return sync_all(swarm) < 0 ? -EIO : 1;
    case SCHEDULE_JOIN:
    case SCHEDULE_HELP:
        return take_join(swarm, step);
    case SCHEDULE_JOINED:
        return take_joined(swarm, step);
    case SCHEDULE_MOVE:
        return take_move(swarm, step);
    case SCHEDULE_DRAIN:
        return take_drain(swarm, step);
    case SCHEDULE_LEAVE:
        return take_leave(swarm, step);
    case SCHEDULE_TAKEOVER:
        return take_over(swarm, step);
    case SCHEDULE_SLOW:
        return faults_slow_down(swarm, step);
    case SCHEDULE_HANG:
        return faults_hang(swarm, step);
    case SCHEDULE_END:
        swarm->crash = step->numbers[0];
        return 0;
    case SCHEDULE_KILL:
    case SCHEDULE_VANISH:
    case SCHEDULE_CUT:
    case SCHEDULE_HALF:
    case SCHEDULE_MUTE:
    case SCHEDULE_HOLD:
    case SCHEDULE_ISOLATE:
    case SCHEDULE_FREEZE:
    case SCHEDULE_LIE:
        faults_plan(swarm, step);
        return 0; /* counted when the fault happens */
    case SCHEDULE_VERB_COUNT:
        break;
    }
    return 0;
}

/* Whether a step may come before the launch is complete. */
static bool is_before_launch(enum schedule_verb verb)
{
    return verb == SCHEDULE_APP || verb == SCHEDULE_FILTER ||
           verb == SCHEDULE_BUDGET || verb == SCHEDULE_RATE ||
           verb == SCHEDULE_REPLACE || verb == SCHEDULE_SKIP ||
           verb == SCHEDULE_ABSENT || verb == SCHEDULE_KILL ||
           verb == SCHEDULE_FREEZE;
}

/* Wait for the launch, and check its result. */
static int launch(struct swarm *swarm)
{
    if (wait_for(swarm, is_launched, "launch") < 0)
        return -EIO;
    if (swarm->skips)
        absence_check(swarm->sim, swarm->launched, swarm->deadly);
    else if (swarm->launch_failed && !swarm->deadly)
        sim_fail(swarm->sim, "the launch failed");
    return sim_failure(swarm->sim) ? -EIO : 0;
}

static int take_steps(struct swarm *swarm)
{
    for (size_t i = 0; i < swarm->schedule->count; i++) {
        const struct schedule_step *step = &swarm->schedule->steps[i];
        int r;

        if (!is_before_launch(step->verb) && !is_launched(swarm) &&
            launch(swarm) < 0)
            return -EIO;
        if (swarm->launch_failed)
            return 0;
        if (sim_run_until(swarm->sim, sim_now_ms(swarm->sim) + step->after_ms) <
            0)
            return -EIO;
        r = take_step(swarm, step);
        if (r < 0)
            return -EIO;
        swarm->tally->steps[step->verb] += (uint64_t)r;
    }
    return is_launched(swarm) ? 0 : launch(swarm);
}

/* A trap without an orphan is no fault. A hanging call is ended by its
 * time-out. No other call hangs or crashes from now on. */
static void disarm(struct swarm *swarm)
{
    memset(swarm->traps, 0, swarm->room * sizeof(*swarm->traps));
    traffic_cure(&swarm->traffic);
    for (uint32_t i = 0; i < swarm->room; i++) {
        if (!ranks_has(&swarm->hung, i))
            continue;
        sim_set_filter_ms(swarm->sim, faults_node(swarm, i), 0);
        faults_lasts_until(swarm, SWARM_FILTER_TIMEOUT_MS);
    }
}

/* Check that each back-end cut off for a lie was reported. */
static void check_refusals(const struct swarm *swarm)
{
    struct sim *sim = swarm->sim;

    for (uint32_t i = 1; swarm->only_lies && i < sim_count(sim); i++)
        if (sim_is_caught(sim, i) &&
            !ranks_has(&swarm->refused, sim_rank(sim, i)))
            sim_fail(sim, "%u was cut off, and the front-end was not told why",
                     sim_rank(sim, i));
}

/* Faults have ended: let the tree heal; all packets sent now must arrive. */
static int converge(struct swarm *swarm)
{
    struct schedule_step send = {.verb = SCHEDULE_SEND};
    uint32_t moves;

    disarm(swarm);
    traffic_hush(&swarm->traffic);
    /* What a leaver had sent may be late: the second sync says so. */
    if (wait_for(swarm, is_whole, "healing") < 0)
        return -EIO;
    moves = swarm->healing.asked;
    if (sync_all(swarm) < 0 || wait_for(swarm, is_left, "leaving") < 0 ||
        sync_all(swarm) < 0 || wait_for(swarm, has_views, "views") < 0)
        return -EIO;
    if (swarm->faulty)
        healing_check(&swarm->healing, swarm->sim);
    check_refusals(swarm);
    traffic_check_poison(&swarm->traffic, swarm->sim);
    for (uint32_t i = 0; i < swarm->traffic.count; i++) {
        send.numbers[0] = swarm->traffic.streams[i].number;
        send.numbers[1] = SWARM_ANSWERS;
        traffic_take(&swarm->traffic, swarm->sim, &send);
    }
    if (sync_all(swarm) < 0 || wait_for(swarm, is_told, "closing") < 0)
        return -EIO;
    if (traffic_is_lossy(&swarm->traffic) && moves == swarm->healing.asked &&
        !swarm->healing.moving)
        sim_fail(swarm->sim, "a sync is lossy though nothing has failed since");
    return sim_failure(swarm->sim) ? -EIO : 0;
}

void steps_take_all(struct swarm *swarm)
{
    if (take_steps(swarm) < 0)
        return;
    if (swarm->launched && converge(swarm) < 0)
        return;
    swarm->over = true;
    sim_begin_end(swarm->sim);
    if (swarm->crash)
        sim_crash(swarm->sim, 0);
    else
        sim_shutdown(swarm->sim, 0);
    wait_for(swarm, is_ended, "ending");
}
