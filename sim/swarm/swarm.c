/* swarm.c - play a schedule. */
#include "sim/swarm/swarm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/swarm/detection.h"
#include "sim/swarm/play.h"
#include "sim/swarm/steps.h"
#include "sim/swarm/views.h"
#include "wire/limits.h"
#include "wire/messages.h"

#define SWARM_LOOK_MS    50 /* between checks of what nodes hold */
#define SWARM_SURVIVE_MS 60000
#define SWARM_RANKS      65 /* that a takeover may skip (PROTOCOL 23.3) */
#define SWARM_SHAPES     3  /* one world of so many gets its shape back */

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
    if (tell->tell == TELL_VIEW && !swarm->over)
        views_told(sim, tell, &swarm->view);
    if (tell->tell == TELL_NODE_REFUSED && tell->text && *tell->text)
        ranks_add(&swarm->refused, tell->rank, tell->rank);
    swarm->joined_count += tell->tell == TELL_BACKEND_JOINED;
    swarm->tally->steps[SCHEDULE_REPLACE] +=
        tell->tell == TELL_NODE_JOINED && tell->sequence > 0;
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
    struct msg_move move;

    (void)peer;
    (void)len;
    swarm->tally->frames++;
    if (index == 0 && frame->type == FRAME_MOVE && !swarm->over &&
        msg_move_decode(frame, &move) == 0)
        healing_moving(&swarm->healing, sim, move.number);
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

/* Kill the candidate of an orphan that was trapped. */
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

/* PROTOCOL 18.9: a move that takes so long goes on without some streams, whose
 * waves may then come late. */
static void look_at_move(struct swarm *swarm)
{
    if (!swarm->healing.moving || sim_now_ms(swarm->sim) + 2 * SWARM_LOOK_MS <
                                      swarm->healing.moving_ms + LIMIT_MOVE_MS)
        return;
    swarm->traffic.calm = false;
    swarm->traffic.exact = false;
}

static void look_often(struct sim *sim, void *arg)
{
    struct swarm *swarm = arg;

    if (swarm->over)
        return;
    look_at_move(swarm);
    if (sim_is_alive(sim, 0)) {
        traffic_look(&swarm->traffic, sim);
        detection_look(sim);
        healing_look(&swarm->healing, sim);
    }
    sim_at(sim, sim_now_ms(sim) + SWARM_LOOK_MS, look_often, swarm);
}

/* ---- one schedule ---- */

/* Derive from the schedule which promises hold. */
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
            step->verb != SCHEDULE_MOVE && step->verb != SCHEDULE_DRAIN &&
            step->verb != SCHEDULE_TAKEOVER &&
            (!schedule_is_fault(step->verb) || step->verb == SCHEDULE_LIE);
        swarm->traffic.only_poison &=
            step->verb != SCHEDULE_JOIN && step->verb != SCHEDULE_HELP &&
            step->verb != SCHEDULE_LEAVE && step->verb != SCHEDULE_MOVE &&
            step->verb != SCHEDULE_DRAIN && step->verb != SCHEDULE_RATE &&
            step->verb != SCHEDULE_REPLACE && step->verb != SCHEDULE_TAKEOVER &&
            (!schedule_is_fault(step->verb) || step->verb == SCHEDULE_POISON);
        swarm->faulty |=
            step->verb == SCHEDULE_LEAVE || step->verb == SCHEDULE_DRAIN ||
            step->verb == SCHEDULE_TAKEOVER ||
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

    swarm->room =
        tree_next_rank(tree) + SWARM_JOINERS + SCHEDULE_TRIES * tree->count;
    for (size_t i = 0; i < swarm->schedule->count; i++)
        if (swarm->schedule->steps[i].verb == SCHEDULE_TAKEOVER)
            swarm->room += SWARM_RANKS;
    swarm->traffic.rank_count = swarm->room;
    swarm->traps = memory_new(swarm->room * sizeof(*swarm->traps));
    swarm->tally->nodes = tree->count;
    healing_init(&swarm->healing, swarm->room);
    read_features(swarm);
    watch_world(swarm);
    for (uint32_t i = 0; i < sim_count(swarm->sim); i++)
        steps_set_app(swarm, i, 0);
    for (size_t i = 0; i < swarm->schedule->count; i++)
        if (swarm->schedule->steps[i].verb == SCHEDULE_ABSENT)
            be_absent(swarm, &swarm->schedule->steps[i]);
}

static void end_world(struct swarm *swarm, struct swarm_result *out, bool trace)
{
    struct sim *sim = swarm->sim;

    out->tally.virtual_ms = sim_now_ms(sim);
    out->tally.adoptions = swarm->healing.adoptions;
    out->tally.moves = swarm->healing.moves;
    out->tally.rises = swarm->healing.rose;
    for (uint32_t i = 0; i < swarm->traffic.count; i++)
        out->tally.kinds[traffic_kind(&swarm->traffic.streams[i])] = 1;
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

/* Whether `step` may delay an OPEN, or its claim, for longer than open_timeout
 * although its member is covered. A node that is stopped for long notices a
 * child's silence only afterwards. */
static bool is_delaying(const struct schedule_step *step)
{
    return step->verb == SCHEDULE_MUTE || step->verb == SCHEDULE_HOLD ||
           step->verb == SCHEDULE_HANG ||
           (step->verb == SCHEDULE_SLOW && step->numbers[1] >= 1000) ||
           (step->verb == SCHEDULE_FREEZE &&
            (step->numbers[0] == 0 ||
             step->numbers[2] > LIMIT_FAILURE_TIMEOUT_MS));
}

static bool is_poison(struct sim *sim,
                      uint32_t index,
                      const struct node_call *call,
                      void *arg)
{
    struct swarm *swarm = arg;

    return traffic_is_poison(&swarm->traffic, sim, index, call);
}

static bool is_refused(struct sim *sim,
                       uint32_t index,
                       const struct node_call *call,
                       void *arg)
{
    struct swarm *swarm = arg;

    return call->init && traffic_is_refused(&swarm->traffic, sim, index, call);
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
        .views = views_enabled(schedule->seed),
        .keep_shape = schedule->seed % SWARM_SHAPES == 0,
    };
    struct swarm *swarm = memory_new(sizeof(*swarm));
    int r;

    config.poison = is_poison;
    config.refuse = is_refused;
    config.filter_arg = swarm;
    *out = (struct swarm_result){.tally = {.seeds = 1}};
    for (size_t i = 0; i < schedule->count; i++) {
        swarm->skips |= schedule->steps[i].verb == SCHEDULE_SKIP;
        if (schedule->steps[i].verb == SCHEDULE_BUDGET)
            config.budget = schedule->steps[i].numbers[0];
        if (schedule->steps[i].verb == SCHEDULE_REPLACE) {
            config.replace = schedule->steps[i].numbers[0] < SCHEDULE_TRIES
                                 ? schedule->steps[i].numbers[0]
                                 : SCHEDULE_TRIES;
            config.replace_failures = schedule->steps[i].numbers[1];
            config.replace_hangs = schedule->steps[i].numbers[2];
        }
        if (schedule->steps[i].verb == SCHEDULE_TAKEOVER)
            config.survive_ms = SWARM_SURVIVE_MS;
        if (schedule->steps[i].verb == SCHEDULE_DRAIN)
            config.hosts = schedule->steps[i].numbers[1];
        swarm->traffic.may_open_late |= is_delaying(&schedule->steps[i]);
        if (schedule->steps[i].verb == SCHEDULE_HANG)
            config.times.filter_timeout_ms = SWARM_FILTER_TIMEOUT_MS;
        if (schedule->steps[i].verb == SCHEDULE_RATE)
            config.bytes_per_ms = schedule->steps[i].numbers[0];
    }
    if (config.survive_ms > 0) { /* these are not built together (23.10) */
        config.views = config.keep_shape = false;
        config.replace = 0;
        swarm->traffic.may_open_late = true;
    }
    swarm->traffic.budget = config.budget;
    swarm->traffic.is_rated = config.bytes_per_ms > 0;
    swarm->traffic.may_open_late |= config.bytes_per_ms > 0;
    if (swarm->skips)
        config.missing = COP_MISSING_SKIP;
    swarm->schedule = schedule;
    swarm->view = 1;
    swarm->tally = &out->tally;
    r = sim_new(&swarm->sim, schedule->tree, &config);
    if (r == 0) {
        begin_world(swarm);
        look_often(swarm->sim, swarm);
        steps_take_all(swarm);
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
