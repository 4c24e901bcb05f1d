/* swarm.c - a schedule is played. */
#include "sim/swarm/swarm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/sim.h"
#include "sim/swarm/absence.h"
#include "sim/swarm/detection.h"
#include "sim/swarm/healing.h"
#include "sim/swarm/traffic.h"
#include "wire/limits.h"
#include "wire/messages.h"
#include "wire/packet.h"

/* Virtual time after which something that was waited for sticks: a member that
 * is given up costs a minute, and there may be some in a row. */
#define SWARM_WAIT_MS UINT64_C(300000)

/* The same where links have a rate: the slowest passes 50 MB meanwhile. */
#define SWARM_SLOW_WAIT_MS UINT64_C(2500000)

/* What filter_timeout is where a filter call hangs: longer than any other call
 * of a schedule. A call that hangs takes longer than any schedule. */
#define SWARM_FILTER_TIMEOUT_MS 6000
#define SWARM_HANG_MS           UINT32_MAX

#define SWARM_LOOK_MS 50 /* between looks at what nodes hold */
#define SWARM_POLL_MS 5  /* between looks at whether a wait is over */
#define SWARM_JOINERS 64
#define SWARM_FAULTS  4096
#define SWARM_ANSWERS 2 /* to the packets that end a schedule */

struct swarm;

/* A fault that is to come. */
struct swarm_fault {
    struct swarm *swarm;
    struct schedule_step step;
};

struct swarm {
    struct sim *sim;
    const struct schedule *schedule;
    struct healing healing;
    struct traffic traffic;
    struct tally *tally;
    uint32_t joiner_count;
    struct swarm_fault *faults;
    uint32_t fault_count;
    uint64_t *traps;   /* by index: 1 + ms until its candidate dies; 0: none */
    uint32_t room;     /* indices are lower */
    struct ranks hung; /* their filter calls hang, or did */
    struct ranks refused; /* the front-end was told so, and why */
    bool only_lies;       /* no report of a refusal gets lost */
    uint64_t calm_ms;     /* faults have had their effect by then */
    uint32_t slow;        /* the node whose filters are slow until quick_ms */
    uint64_t quick_ms;
    bool faulty;
    bool deadly; /* a node may be killed in the middle of the launch */
    bool skips;  /* a node that does not start is skipped */
    bool launched;
    bool launch_failed;
    bool over; /* no more looks */
    bool crash;
};

/* ---- watching ---- */

static void watch_sent(struct sim *sim,
                       uint32_t index,
                       uint32_t id,
                       const struct frame *frame,
                       void *arg)
{
    struct swarm *swarm = arg;

    traffic_sent(&swarm->traffic, sim, index, id, frame);
}

static void watch_taken(struct sim *sim,
                        uint32_t index,
                        uint32_t id,
                        const struct frame *frame,
                        void *arg)
{
    struct swarm *swarm = arg;

    traffic_taken(&swarm->traffic, sim, index, id, frame);
}

static void watch_told(struct sim *sim,
                       uint32_t index,
                       const struct action *tell,
                       void *arg)
{
    struct swarm *swarm = arg;

    if (index > 0 && tell->tell == TELL_NODE_ADOPTED)
        swarm->traps[index] = 0;
    if (tell->tell == TELL_ENDED &&
        ranks_has(&swarm->hung, sim_rank(sim, index)))
        swarm->healing.nodes[index].left = true;
    if (!swarm->over)
        healing_told(&swarm->healing, sim, index, tell);
    traffic_told(&swarm->traffic, sim, index, tell);
    if (index > 0)
        return;
    if (tell->tell == TELL_NODE_REFUSED && tell->text && *tell->text)
        ranks_add(&swarm->refused, tell->rank, tell->rank);
    swarm->launched |= tell->tell == TELL_LAUNCHED;
    swarm->launch_failed |= tell->tell == TELL_LAUNCH_FAILED;
}

static void watch_parted(struct sim *sim, uint32_t index, void *arg)
{
    struct swarm *swarm = arg;

    if (!swarm->over)
        healing_parted(&swarm->healing, sim, index);
}

static void watch_wrote(struct sim *sim,
                        uint32_t index,
                        uint32_t peer,
                        const struct frame *frame,
                        size_t len,
                        void *arg)
{
    struct swarm *swarm = arg;

    struct msg_adopted adopted;

    (void)sim;
    (void)index;
    (void)peer;
    (void)len;
    swarm->tally->frames++;
    if (frame->type == FRAME_ADOPTED &&
        msg_adopted_decode(frame, &adopted) == 0 && adopted.answer > 0)
        swarm->tally
            ->answers[adopted.answer < TALLY_ANSWERS ? adopted.answer
                                                     : TALLY_ANSWERS - 1]++;
}

static void watch_accused(struct sim *sim,
                          uint32_t index,
                          uint32_t link,
                          void *arg)
{
    struct swarm *swarm = arg;

    detection_accused(sim, index, link, swarm->tally);
}

/* The candidate of one that was trapped dies. */
static void watch_dialled(struct sim *sim,
                          uint32_t index,
                          uint32_t rank,
                          void *arg)
{
    struct swarm *swarm = arg;
    uint32_t candidate = sim_find(sim, rank);
    uint64_t in_ms = swarm->traps[index];

    if (in_ms == 0 || rank == 0 || candidate == SIM_NONE ||
        !sim_is_alive(sim, candidate))
        return;
    swarm->traps[index] = 0;
    swarm->tally->steps[SCHEDULE_TRAP]++;
    sim_crash_at(sim, candidate, sim_now_ms(sim) + in_ms - 1);
    if (sim_now_ms(sim) + in_ms > swarm->calm_ms)
        swarm->calm_ms = sim_now_ms(sim) + in_ms;
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

static void look_often(struct sim *sim, void *arg)
{
    struct swarm *swarm = arg;

    if (swarm->over)
        return;
    traffic_look(&swarm->traffic, sim);
    detection_look(sim);
    healing_look(&swarm->healing, sim);
    sim_at(sim, sim_now_ms(sim) + SWARM_LOOK_MS, look_often, swarm);
}

/* ---- faults ---- */

/* The index of a node that a schedule names; SIM_NONE if it is not there. */
static uint32_t node_of(const struct swarm *swarm, uint32_t number)
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

/* Something lasts until then. */
static uint64_t lasts_until(struct swarm *swarm, uint32_t for_ms)
{
    uint64_t until_ms = sim_now_ms(swarm->sim) + for_ms;

    if (until_ms > swarm->calm_ms)
        swarm->calm_ms = until_ms;
    return until_ms;
}

/* One of the faults of the link to `parent`. */
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
                 lasts_until(swarm, step->numbers[3]));
}

/* A back-end sends a frame that no back-end may send. */
static bool tell_lie(struct swarm *swarm, uint32_t index, uint32_t which)
{
    static const uint8_t types[] = {FRAME_PROBE, FRAME_HEARD, FRAME_FAN_OUT,
                                    FRAME_STATUS, FRAME_SNAPSHOT};
    struct frame frame = {.type =
                              types[which % (sizeof(types) / sizeof(*types))]};

    return sim_role(swarm->sim, index) == NODE_BACKEND &&
           sim_lie(swarm->sim, index, &frame);
}

/* Its time has come. Returns whether it has an effect. */
static bool strike(struct swarm *swarm, const struct schedule_step *step)
{
    struct sim *sim = swarm->sim;
    uint32_t index = node_of(swarm, step->numbers[0]);
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
        lasts_until(swarm, step->numbers[2]);
        return true;
    }
    if (!alive || !swarm->launched)
        return false;
    if (step->verb == SCHEDULE_ISOLATE) {
        sim_isolate(sim, index, lasts_until(swarm, step->numbers[2]));
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

/* The fault of this step, now or in some time. */
static void plan_fault(struct swarm *swarm, const struct schedule_step *step)
{
    struct swarm_fault *fault;
    uint32_t in_ms = step->numbers[1];

    if (swarm->fault_count == SWARM_FAULTS)
        return;
    fault = &swarm->faults[swarm->fault_count++];
    *fault = (struct swarm_fault){swarm, *step};
    sim_at(swarm->sim, lasts_until(swarm, in_ms), strike_now, fault);
}

/* Filters that are slow for a while, some longer than a node may be silent. */
static bool slow_down(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = node_of(swarm, step->numbers[0]);

    if (index == SIM_NONE || sim_now_ms(swarm->sim) < swarm->quick_ms)
        return false;
    swarm->slow = index;
    swarm->quick_ms = lasts_until(swarm, step->numbers[2]);
    sim_set_filter_ms(swarm->sim, index, step->numbers[1]);
    sim_at(swarm->sim, swarm->quick_ms, quicken, swarm);
    return true;
}

/* Filter calls of a commnode hang from now on. */
static bool hang_filters(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = node_of(swarm, step->numbers[0]), rank;

    if (index == SIM_NONE || !sim_is_alive(swarm->sim, index) ||
        sim_role(swarm->sim, index) != NODE_COMMNODE)
        return false;
    rank = sim_rank(swarm->sim, index);
    ranks_add(&swarm->hung, rank, rank);
    sim_set_filter_ms(swarm->sim, index, SWARM_HANG_MS);
    return true;
}

/* ---- waiting ---- */

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

/* What was in by the sync has been taken too. */
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

/* Wait for it. Returns 0, or -EIO with the failure noted. */
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
            char *lack = done == is_whole
                             ? healing_lack(&swarm->healing, swarm->sim)
                             : NULL;

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

/* Sync all streams and hold the result against the model. */
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

/* ---- steps ---- */

static void set_app(struct swarm *swarm, uint32_t index, uint32_t take_ms)
{
    struct sim_app app = {.arg = swarm, .take_ms = take_ms};

    if (index == 0)
        app.two_threads = true;
    else
        app.taken = answer;
    sim_set_app(swarm->sim, index, &app);
}

static bool take_join(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t parent = node_of(swarm, step->numbers[0]);

    if (!swarm->launched || swarm->joiner_count == SWARM_JOINERS)
        return false;
    if (parent == SIM_NONE || !sim_is_alive(swarm->sim, parent) ||
        sim_role(swarm->sim, parent) == NODE_BACKEND)
        parent = 0;
    swarm->joiner_count++;
    set_app(swarm, sim_attach(swarm->sim, parent), 0);
    return true;
}

static bool take_leave(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = node_of(swarm, step->numbers[0]);

    if (index == SIM_NONE || !sim_is_alive(swarm->sim, index) ||
        sim_role(swarm->sim, index) != NODE_BACKEND || !swarm->launched)
        return false;
    /* A back-end that is told to leave twice ends at once, without FAREWELL
     * (PROTOCOL 17.7). */
    if (swarm->healing.nodes[index].left && traffic_has_totals(&swarm->traffic))
        return false;
    swarm->healing.nodes[index].left = true;
    return sim_shutdown(swarm->sim, index) == 0;
}

/* A step about one node as it is, before or after the launch. */
static bool prepare(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t index = node_of(swarm, step->numbers[0]);

    if (index == SIM_NONE)
        return false;
    if (step->verb == SCHEDULE_APP)
        set_app(swarm, index, step->numbers[1]);
    else if (step->verb == SCHEDULE_FILTER)
        sim_set_filter_ms(swarm->sim, index, step->numbers[1]);
    else
        swarm->traps[index] = 1 + step->numbers[1];
    return step->verb != SCHEDULE_TRAP;
}

/* Traffic of the front-end's. */
static bool take_traffic(struct swarm *swarm, const struct schedule_step *step)
{
    struct traffic *traffic = &swarm->traffic;

    if (step->verb == SCHEDULE_WITH)
        return traffic_with(traffic, step);
    if (step->verb == SCHEDULE_EXACT)
        return traffic_exact(traffic, step);
    if (step->verb == SCHEDULE_OPEN)
        return traffic_open(traffic, swarm->sim, step);
    if (step->verb == SCHEDULE_CHATTER)
        return traffic_chatter(traffic, swarm->sim, step);
    if (step->verb == SCHEDULE_SEND)
        return traffic_send(traffic, swarm->sim, step);
    if (step->verb == SCHEDULE_POISON)
        return traffic_poison(traffic, step);
    if (step->verb == SCHEDULE_PARAMETERS)
        return traffic_parameters(traffic, swarm->sim, step);
    return traffic_close(traffic, swarm->sim, step);
}

/* Take one step. Returns 1 if it had an effect, 0 if not, or -EIO. */
static int take_step(struct swarm *swarm, const struct schedule_step *step)
{
    switch (step->verb) {
    case SCHEDULE_BUDGET:
    case SCHEDULE_RATE:
    case SCHEDULE_SKIP:
    case SCHEDULE_ABSENT:
        return 1; /* from the begin on */
    case SCHEDULE_APP:
    case SCHEDULE_FILTER:
    case SCHEDULE_TRAP:
        return prepare(swarm, step);
    case SCHEDULE_WITH:
    case SCHEDULE_EXACT:
    case SCHEDULE_OPEN:
    case SCHEDULE_CHATTER:
    case SCHEDULE_SEND:
    case SCHEDULE_PARAMETERS:
    case SCHEDULE_CLOSE:
    case SCHEDULE_POISON:
        return swarm->launched && take_traffic(swarm, step);
    case SCHEDULE_OPENED:
        return wait_for(swarm, is_open, "opening") < 0 ? -EIO : 1;
    case SCHEDULE_SYNC:
        return sync_all(swarm) < 0 ? -EIO : 1;
    case SCHEDULE_JOIN:
        return take_join(swarm, step);
    case SCHEDULE_LEAVE:
        return take_leave(swarm, step);
    case SCHEDULE_SLOW:
        return slow_down(swarm, step);
    case SCHEDULE_HANG:
        return hang_filters(swarm, step);
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
        plan_fault(swarm, step);
        return 0; /* counted when it strikes */
    case SCHEDULE_VERB_COUNT:
        break;
    }
    return 0;
}

/* Whether a step may come before the launch is over. */
static bool is_before_launch(enum schedule_verb verb)
{
    return verb == SCHEDULE_APP || verb == SCHEDULE_FILTER ||
           verb == SCHEDULE_BUDGET || verb == SCHEDULE_RATE ||
           verb == SCHEDULE_SKIP || verb == SCHEDULE_ABSENT ||
           verb == SCHEDULE_KILL || verb == SCHEDULE_FREEZE;
}

/* Wait for the launch, and see whether it went as it should. */
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

/* A trap that no orphan has stepped into is no fault. A call that hangs is
 * ended by its time-out. No other call hangs or crashes from now on. */
static void disarm(struct swarm *swarm)
{
    memset(swarm->traps, 0, swarm->room * sizeof(*swarm->traps));
    traffic_cure(&swarm->traffic);
    for (uint32_t i = 0; i < swarm->room; i++) {
        if (!ranks_has(&swarm->hung, i))
            continue;
        sim_set_filter_ms(swarm->sim, node_of(swarm, i), 0);
        lasts_until(swarm, SWARM_FILTER_TIMEOUT_MS);
    }
}

/* Each back-end that was cut off for a lie was reported to the application. */
static void check_refusals(const struct swarm *swarm)
{
    struct sim *sim = swarm->sim;

    for (uint32_t i = 1; swarm->only_lies && i < sim_count(sim); i++)
        if (sim_is_caught(sim, i) &&
            !ranks_has(&swarm->refused, sim_rank(sim, i)))
            sim_fail(sim, "%u was cut off, and the front-end was not told why",
                     sim_rank(sim, i));
}

/* Faults have ended: the tree heals, and what is sent now all comes. */
static int converge(struct swarm *swarm)
{
    struct schedule_step send = {.verb = SCHEDULE_SEND};

    disarm(swarm);
    traffic_hush(&swarm->traffic);
    if (wait_for(swarm, is_whole, "healing") < 0 || sync_all(swarm) < 0)
        return -EIO;
    if (swarm->faulty)
        healing_check(&swarm->healing, swarm->sim);
    check_refusals(swarm);
    traffic_check_poison(&swarm->traffic, swarm->sim);
    for (uint32_t i = 0; i < swarm->traffic.count; i++) {
        send.numbers[0] = swarm->traffic.streams[i].number;
        send.numbers[1] = SWARM_ANSWERS;
        traffic_send(&swarm->traffic, swarm->sim, &send);
    }
    if (sync_all(swarm) < 0 || wait_for(swarm, is_told, "closing") < 0)
        return -EIO;
    if (traffic_is_lossy(&swarm->traffic))
        sim_fail(swarm->sim, "a sync is lossy though nothing has failed since");
    return sim_failure(swarm->sim) ? -EIO : 0;
}

static void run_schedule(struct swarm *swarm)
{
    look_often(swarm->sim, swarm);
    if (take_steps(swarm) < 0)
        return;
    if (swarm->launched && converge(swarm) < 0)
        return;
    swarm->over = true;
    if (swarm->crash)
        sim_crash(swarm->sim, 0);
    else
        sim_shutdown(swarm->sim, 0);
    wait_for(swarm, is_ended, "ending");
}

/* ---- one schedule ---- */

/* What the schedule has in it says what may be promised. */
static void read_features(struct swarm *swarm)
{
    bool joins = false;

    swarm->only_lies = true;
    swarm->traffic.only_poison = !swarm->skips;
    for (size_t i = 0; i < swarm->schedule->count; i++) {
        const struct schedule_step *step = &swarm->schedule->steps[i];

        joins |= step->verb == SCHEDULE_JOIN;
        swarm->deadly |= step->verb == SCHEDULE_KILL;
        swarm->only_lies &=
            !schedule_is_fault(step->verb) || step->verb == SCHEDULE_LIE;
        swarm->traffic.only_poison &=
            step->verb != SCHEDULE_JOIN && step->verb != SCHEDULE_LEAVE &&
            step->verb != SCHEDULE_RATE &&
            (!schedule_is_fault(step->verb) || step->verb == SCHEDULE_POISON);
        swarm->faulty |=
            step->verb == SCHEDULE_LEAVE ||
            (schedule_is_fault(step->verb) && step->verb != SCHEDULE_SLOW &&
             step->verb != SCHEDULE_FREEZE) ||
            (step->verb == SCHEDULE_FREEZE &&
             step->numbers[2] > LIMIT_FAILURE_TIMEOUT_MS / 2);
    }
    swarm->traffic.calm = !swarm->faulty;
    swarm->traffic.exact = !swarm->faulty && !joins;
    swarm->traffic.torn = &swarm->healing.torn;
    swarm->traffic.hung = &swarm->hung;
}

static void be_absent(struct swarm *swarm, const struct schedule_step *step)
{
    uint32_t rank = step->numbers[0];

    if (rank == 0 || sim_find(swarm->sim, rank) == SIM_NONE)
        return;
    if (step->numbers[1])
        sim_hang(swarm->sim, rank);
    else
        sim_missing(swarm->sim, rank, "nobody is there");
}

static void watch_world(struct swarm *swarm)
{
    sim_watch(swarm->sim, &(struct sim_watch){
                              .taken = watch_taken,
                              .sent = watch_sent,
                              .told = watch_told,
                              .parted = watch_parted,
                              .dialled = watch_dialled,
                              .wrote = watch_wrote,
                              .accused = watch_accused,
                              .arg = swarm,
                          });
}

static void begin_world(struct swarm *swarm)
{
    const struct tree *tree = sim_tree(swarm->sim);

    swarm->room = tree_next_rank(tree) + SWARM_JOINERS;
    swarm->traffic.rank_count = swarm->room;
    swarm->traps = memory_new(swarm->room * sizeof(*swarm->traps));
    swarm->faults = memory_new(SWARM_FAULTS * sizeof(*swarm->faults));
    swarm->tally->nodes = tree->count;
    healing_init(&swarm->healing, swarm->room);
    read_features(swarm);
    watch_world(swarm);
    for (uint32_t i = 0; i < sim_count(swarm->sim); i++)
        set_app(swarm, i, 0);
    for (size_t i = 0; i < swarm->schedule->count; i++)
        if (swarm->schedule->steps[i].verb == SCHEDULE_ABSENT)
            be_absent(swarm, &swarm->schedule->steps[i]);
}

static void end_world(struct swarm *swarm, struct swarm_result *out, bool trace)
{
    struct sim *sim = swarm->sim;

    out->tally.virtual_ms = sim_now_ms(sim);
    out->tally.adoptions = swarm->healing.adoptions;
    out->tally.rises = swarm->healing.rose;
    if (sim_failure(sim))
        out->failure = memory_text(sim_failure(sim));
    if (trace)
        out->trace = memory_text(sim_trace_text(sim));
    sim_free(sim);
    healing_fini(&swarm->healing);
    traffic_fini(&swarm->traffic);
    free(swarm->traps);
    ranks_fini(&swarm->hung);
    ranks_fini(&swarm->refused);
    free(swarm->faults);
}

/* Whether `step` may keep an OPEN, or its claim, from passing for longer than
 * open_timeout though its member is covered. A node that stands still for long
 * finds only then that a child is silent. */
static bool is_delaying(const struct schedule_step *step)
{
    return step->verb == SCHEDULE_MUTE || step->verb == SCHEDULE_HOLD ||
           (step->verb == SCHEDULE_FREEZE &&
            (step->numbers[0] == 0 ||
             step->numbers[2] > LIMIT_FAILURE_TIMEOUT_MS));
}

/* Whether filter calls may do the same: a member of a cumulative stream answers
 * OPEN on a new link with TOTAL, which waits for the calls that are out (17.4).
 */
static bool has_slow_totals(const struct schedule *schedule)
{
    bool slow = false, total = false;

    for (size_t i = 0; i < schedule->count; i++) {
        const struct schedule_step *step = &schedule->steps[i];

        slow |= step->verb == SCHEDULE_SLOW && step->numbers[1] >= 1000;
        total |= step->verb == SCHEDULE_OPEN && step->numbers[1] == MODEL_TOTAL;
    }
    return slow && total;
}

static bool is_poison(struct sim *sim,
                      uint32_t index,
                      const struct node_call *call,
                      void *arg)
{
    struct swarm *swarm = arg;

    return traffic_is_poison(&swarm->traffic, sim, index, call);
}

static int run_world(const struct schedule *schedule,
                     bool trace,
                     sim_tamper_fn tamper,
                     void *arg,
                     struct swarm_result *out)
{
    struct sim_config config = {
        .tamper = tamper,
        .tamper_arg = arg,
        .seed = schedule->seed,
        .delay_min_ms = schedule->delay_min_ms,
        .delay_max_ms = schedule->delay_max_ms,
        .fragment_percent = schedule->fragment_percent,
        .start_max_ms = schedule->start_max_ms,
        .trace = trace ? SIM_TRACE_ALL : 0,
    };
    struct swarm *swarm = memory_new(sizeof(*swarm));
    int r;

    config.poison = is_poison;
    config.poison_arg = swarm;
    *out = (struct swarm_result){.tally = {.seeds = 1}};
    for (size_t i = 0; i < schedule->count; i++) {
        swarm->skips |= schedule->steps[i].verb == SCHEDULE_SKIP;
        if (schedule->steps[i].verb == SCHEDULE_BUDGET)
            config.budget = schedule->steps[i].numbers[0];
        swarm->traffic.may_open_late |= is_delaying(&schedule->steps[i]);
        if (schedule->steps[i].verb == SCHEDULE_HANG)
            config.times.filter_timeout_ms = SWARM_FILTER_TIMEOUT_MS;
        if (schedule->steps[i].verb == SCHEDULE_RATE)
            config.bytes_per_ms = schedule->steps[i].numbers[0];
    }
    swarm->traffic.budget = config.budget;
    swarm->traffic.is_rated = config.bytes_per_ms > 0;
    swarm->traffic.may_open_late |=
        config.bytes_per_ms > 0 || has_slow_totals(schedule);
    if (swarm->skips)
        config.missing = COP_MISSING_SKIP;
    swarm->schedule = schedule;
    swarm->tally = &out->tally;
    r = sim_new(&swarm->sim, schedule->tree, &config);
    if (r == 0) {
        begin_world(swarm);
        run_schedule(swarm);
        end_world(swarm, out, trace);
    } else {
        out->failure = memory_text(strerror(-r));
    }
    free(swarm);
    out->tally.failed = out->failure != NULL;
    return out->failure ? -EIO : 0;
}

int swarm_run(const struct schedule *schedule,
              bool trace,
              struct swarm_result *out)
{
    return run_world(schedule, trace, NULL, NULL, out);
}

int swarm_run_tampered(const struct schedule *schedule,
                       sim_tamper_fn tamper,
                       void *arg,
                       struct swarm_result *out)
{
    return run_world(schedule, false, tamper, arg, out);
}

void swarm_result_fini(struct swarm_result *result)
{
    free(result->failure);
    free(result->trace);
    result->failure = result->trace = NULL;
}
