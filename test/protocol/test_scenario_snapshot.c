/* test_scenario_snapshot.c - a node was stopped until the packets for it were
 * dropped, and gets a snapshot (PROTOCOL 3.1). */
#include "protocol/state.h"
#include "protocol/stream/waves.h"
#include "test/sim/scenario.h"

#define TREE "0(1(3(5)),2(6(7),4),8,9,10,11)"

/* Longer than a node may be silent, and than the adoptions that follow take. */
#define STOP_MS 6000
#define HEAL_MS 12000

static uint32_t parent_of(struct sim *sim, uint32_t rank)
{
    uint32_t index = sim_parent(sim, rank);

    return index == SIM_NONE ? RANK_NONE : sim_rank(sim, index);
}

/* Rank 3 is stopped; its only child leaves it. */
static void stop_commnode(struct sim *sim, uint64_t for_ms)
{
    sim_freeze(sim, 3, for_ms);
    sim_run(sim, STOP_MS - 1000);
    CU_ASSERT_NOT_EQUAL(parent_of(sim, 5), 3);
}

/* Kill all commnodes except 3 and its parent, so that 3 gets back-ends. */
static void use_stream(struct sim *sim)
{
    uint32_t parent = parent_of(sim, 3);

    for (uint32_t rank = 1; rank <= 6; rank++)
        if (sim_role(sim, rank) == NODE_COMMNODE && rank != 3 && rank != parent)
            sim_crash(sim, rank);
    sim_run(sim, 1000);
}

/* Whether rank 3 is the parent of any back-end. */
static bool is_used(struct sim *sim)
{
    for (uint32_t i = 1; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i) && sim_role(sim, i) == NODE_BACKEND &&
            sim_parent(sim, i) == 3)
            return true;
    return false;
}

/* PROTOCOL 3.1, 12.3: back-ends that joined meanwhile are members there, too.
 */
SCENARIO(a_snapshot_tells_of_members, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .grow = true);
    uint32_t joiners[4];

    sim_echo(sim);
    stop_commnode(sim, STOP_MS);
    for (int i = 0; i < 4; i++)
        joiners[i] = sim_attach(sim, 2);
    sim_echo(sim);
    sim_run(sim, HEAL_MS);
    use_stream(sim);
    CU_ASSERT(
        sim_parent(sim, joiners[0]) == 3 || sim_parent(sim, joiners[1]) == 3 ||
        sim_parent(sim, joiners[2]) == 3 || sim_parent(sim, joiners[3]) == 3);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 1000);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 1, 11);
}

/* PROTOCOL 3.1, 3.1b: parameters that were set meanwhile are in force there. */
SCENARIO(a_snapshot_tells_of_parameters, TREE)
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    CHECK_OK(sim_parameters(sim, stream, "%d", 6));
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 1000);
    stop_commnode(sim, STOP_MS);
    CHECK_OK(sim_parameters(sim, stream, "%d", 7));
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, HEAL_MS);
    use_stream(sim);
    CU_ASSERT(is_used(sim));
    sim_trace(sim, SIM_TRACE_FILTER);
    sim_send_int(sim, 0, stream, 3);
    sim_run(sim, 100);
    CU_ASSERT(sim_lines(sim, " 3 filter down stream 1 wave 3: from ") > 0);
    CU_ASSERT_EQUAL(sim_lines(sim, "with \"%d\" 6"), 0);
    for (const char *at = sim_trace_text(sim);
         (at = strstr(at, "filter down")) != NULL; at++)
        CU_ASSERT(strncmp(strchr(at, ','), ", with \"%d\" 7", 13) == 0);
}

/* The number of calls of rank 3's downward filter for wave `number` in the
 * trace; checks that all had `parameters`. */
static unsigned calls_for(struct sim *sim, unsigned number, int parameters)
{
    const char *at = sim_trace_text(sim);
    char call[80], with[80];
    unsigned count = 0;

    snprintf(call, sizeof(call), " 3 filter down stream 1 wave %u: ", number);
    snprintf(with, sizeof(with), ", with \"%%d\" %d,", parameters);
    for (; (at = strstr(at, call)) != NULL; at++, count++)
        CU_ASSERT(strncmp(strchr(at, ','), with, strlen(with)) == 0);
    return count;
}

/* PROTOCOL 16.7, 16_snapshot: two redos begin meanwhile. The snapshot tells their
 * generation. */
SCENARIO(scenario_16_snapshot, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_WAVES);
    const struct node *returned;

    sim_echo(sim);
    sim_trace(sim, SIM_TRACE_FRAME);
    sim_send_int(sim, 0, stream, 1);
    stop_commnode(sim, 2 * STOP_MS);
    for (int i = 0; i < 2; i++) {
        sim_send_int(sim, 0, stream, 1);
        sim_kill_at(sim, i == 0 ? 6 : 2, i == 0 ? 4 : 3);
        sim_run(sim, 1500);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 2);
    sim_run(sim, HEAL_MS);
    CU_ASSERT(sim_lines(sim, " 3 <- *snapshot") > 0);
    returned = sim_node(sim, 3);
    CU_ASSERT_FATAL(returned->stream_count == 2);
    CU_ASSERT_EQUAL(returned->streams[1]->waves->generation, 2);
    sim_send_int(sim, 0, stream, 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 4, 7);
}

/* PROTOCOL 3.1, 3.1b: packets that were sent before parameters were, and come
 * again below a node that learned of these by a snapshot, are filtered without. */
SCENARIO(parameters_stay_behind_their_packets, TREE)
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});
    unsigned sent = 0, calls = 0;

    sim_by_hand(sim, 7);
    CHECK_OK(sim_parameters(sim, stream, "%d", 6));
    sim_run(sim, 1000);
    stop_commnode(sim, 2 * STOP_MS);
    while (sim_send_bytes(sim, 0, stream, 1 << 20) == 0) {
        sim_run(sim, 600);
        sent++;
    }
    CU_ASSERT(sent > 4); /* more than the window for 7 */
    CHECK_OK(sim_parameters(sim, stream, "%d", 7));
    sim_run(sim, STOP_MS + HEAL_MS);
    sim_trace(sim, SIM_TRACE_FILTER);
    use_stream(sim);
    CU_ASSERT_EQUAL(sim_parent(sim, 7), 3);
    while (sim_receive(sim, 7, stream) > 0)
        sim_run(sim, 100);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 100);
    for (unsigned i = 1; i <= sent; i++)
        calls += calls_for(sim, i, 6);
    CU_ASSERT(calls > 0);
    CU_ASSERT_EQUAL(calls_for(sim, sent + 1, 7), 1);
}

/* PROTOCOL 3.1: a stream that was opened and closed meanwhile was there all the
 * same: a child that has it still, as it had stood still for a part of that
 * time, says so with what an adopted one says first, and is no liar. */
SCENARIO(a_snapshot_tells_of_what_has_been, TREE)
{
    uint32_t stream, child = SIM_NONE;
    struct frame frame = {.type = FRAME_COMPENSATION};

    stop_commnode(sim, 2 * STOP_MS);
    stream = sim_open_filter(sim, "int_union");
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, STOP_MS + HEAL_MS);
    use_stream(sim);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i) && sim_parent(sim, i) == 3)
            child = i;
    CU_ASSERT_FATAL(child != SIM_NONE);
    for (uint32_t id = stream; id <= stream + 1; id++) {
        frame.origin = sim_rank(sim, child);
        frame.stream = id; /* no node ever had the second stream */
        sim_inject(sim, child, 3, &frame);
        sim_run(sim, 3);
        CU_ASSERT_EQUAL(sim_parent(sim, child) == 3, id == stream);
    }
    sim_run(sim, HEAL_MS);
}

/* Delay the frames of rank 3 to its parent once a joiner has its rank. */
static enum sim_tampering hold_claims(struct sim *sim,
                                      uint32_t index,
                                      struct action *action,
                                      void *arg)
{
    (void)arg;
    if (index == 0 && action->type == ACTION_SEND &&
        action->frame.type == FRAME_JOINED)
        sim_hold(sim, 3, sim_parent(sim, 3), sim_now_ms(sim) + 100);
    return SIM_KEEP;
}

/* PROTOCOL 3.1, 12.3: a snapshot names a joiner below, whose ENTER follows it:
 * from the ENTER on the joiner is fed, and counts. */
TEST(an_enter_lies_behind_a_snapshot)
{
    struct sim *sim = sim_launch(TREE, .tamper = hold_claims);
    uint32_t stream = sim_open_filter(sim, "sum", .grow = true);
    uint32_t joiner;

    sim_echo(sim);
    stop_commnode(sim, STOP_MS);
    sim_run(sim, HEAL_MS);
    CU_ASSERT_NOT_EQUAL(parent_of(sim, 3), RANK_NONE);
    CU_ASSERT_FALSE(is_used(sim));
    joiner = sim_attach(sim, 3);
    sim_echo(sim);
    while (sim_rank(sim, joiner) == RANK_NONE)
        sim_run(sim, 1);
    /* 3 hears nothing from now on, but the joiner's claim goes up */
    sim_mute(sim, sim_parent(sim, 3), 3);
    CHECK_OK(sim_parameters(sim, stream, "%d", 6));
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, HEAL_MS);
    CU_ASSERT_EQUAL(sim_parent(sim, joiner), 3);
    CU_ASSERT(ranks_has(node_members(sim_node(sim, 0), stream),
                        sim_rank(sim, joiner)));
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_taken(sim, sim_rank(sim, joiner), stream), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 16);
    sim_end(sim);
}

/* The time at which a node was asked to unload a stream's filters. */
struct unload {
    uint32_t index;
    uint64_t at_ms; /* 0: it was not asked */
};

static enum sim_tampering note_unload(struct sim *sim,
                                      uint32_t index,
                                      struct action *action,
                                      void *arg)
{
    struct unload *unload = arg;

    if (index == unload->index && action->type == ACTION_UNLOAD)
        unload->at_ms = sim_now_ms(sim);
    return SIM_KEEP;
}

/* PROTOCOL 3.1, 5.1: a stream that was closed during the stop is removed, but
 * if its filter is running, only when the call returns. */
TEST(a_snapshot_waits_for_a_filter)
{
    struct unload unload = {.index = SIM_NONE};
    struct sim *sim =
        sim_launch(TREE, .tamper = note_unload, .tamper_arg = &unload);
    uint32_t stream = sim_open_filter(sim, "count");
    uint64_t done_ms;

    unload.index = 3;
    sim_set_filter_ms(sim, unload.index, STOP_MS + HEAL_MS);
    sim_send_int(sim, 5, stream, 1);
    sim_run(sim, 10);
    done_ms = sim_now_ms(sim) + STOP_MS + HEAL_MS - 10;
    stop_commnode(sim, STOP_MS);
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, HEAL_MS);
    CU_ASSERT_NOT_EQUAL(parent_of(sim, 3), RANK_NONE);
    CU_ASSERT_EQUAL(unload.at_ms, 0);
    sim_run(sim, STOP_MS);
    CU_ASSERT(unload.at_ms >= done_ms);
    sim_end(sim);
}
