/* test_scenario_move.c - moves that the front-end plans (PROTOCOL 18). */
#include <errno.h>

#include "test/sim/scenario.h"

#define TREE "0(1(3(5),4(6)),2(7))"

/* The front-end is told that `rank` has not moved, and why. */
static void expect_failure(struct sim *sim, uint32_t rank, const char *text)
{
    sim_wait(sim, 0, TELL_MOVE_FAILED);
    expect_told(sim, MOVE_FAILED, 1, rank);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_MOVE_FAILED), text);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 0);
}

/* `rank` moves below `parent`, and the front-end is told. */
static void move(struct sim *sim, uint32_t rank, uint32_t parent)
{
    CHECK_OK(sim_move(sim, rank, parent));
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CU_ASSERT_EQUAL(sim_about(TELL_NODE_MOVED), rank);
    CU_ASSERT_EQUAL(sim_parent(sim, rank), parent);
}

/* PROTOCOL 18.1, 18.5: a move, with packets in both directions before, during and
 * after it. Later waves are whole, and a second sync finds no loss. */
SCENARIO(a_commnode_moves, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_move(sim, 3, 2));
    for (int value = 2; value <= 9; value++) {
        sim_send_int(sim, 0, stream, value);
        sim_run(sim, 1);
    }
    sim_wait(sim, 0, TELL_NODE_MOVED);
    expect_told(sim, NODE_MOVED, 1, 3);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 2);
    sim_send_int(sim, 0, stream, 10);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    for (uint32_t rank = 5; rank <= 7; rank++)
        expect_taken(sim, rank, stream, 10, 10);
    sim_send_all(sim, stream, 5, 7, 100);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 300);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
}

/* A back-end moves, with packets in both directions. */
SCENARIO(a_backend_moves, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_move(sim, 5, 2));
    for (int value = 2; value <= 9; value++) {
        sim_send_int(sim, 0, stream, value);
        sim_run(sim, 1);
    }
    sim_wait(sim, 0, TELL_NODE_MOVED);
    expect_told(sim, NODE_MOVED, 1, 5);
    CU_ASSERT_EQUAL(sim_parent(sim, 5), 2);
    CHECK_IS(sim_move(sim, 5, 2), -EALREADY);
    sim_send_int(sim, 0, stream, 10);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    for (uint32_t rank = 5; rank <= 7; rank++)
        expect_taken(sim, rank, stream, 10, 10);
    sim_send_all(sim, stream, 5, 7, 100);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 300);
    move(sim, 5, 0);
    move(sim, 5, 4); /* while its last parent claims it, too */
    sim_send_all(sim, stream, 5, 7, 100);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 300);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
}

/* A back-end dies while it moves. */
SCENARIO(a_mover_without_children_dies, TREE)
{
    CHECK_OK(sim_move(sim, 5, 2));
    sim_crash(sim, 5);
    expect_failure(sim, 5, "it was lost");
    expect_told(sim, BACKEND_LOST, 1, 5);
}

/* It moves up, down and up again: each node below it has one path. */
SCENARIO(a_commnode_moves_again, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    move(sim, 3, 0);
    move(sim, 3, 2);
    move(sim, 3, 1);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_all(sim, stream, 5, 7, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 30);
    expect_told(sim, NODE_MOVED, 3, 3);
}

/* Streams with a guarantee lose nothing by a move while packets are on the way. */
SCENARIO(guarantees_hold, TREE)
{
    uint32_t set = sim_open_filter(sim, "int_union");
    uint32_t exact =
        sim_open_filter(sim, "sum", .kind = STREAM_WAVES, .redo_limit = 8);
    uint32_t total = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL);
    int value;

    for (int i = 1; i <= 8; i++) {
        for (uint32_t rank = 5; rank <= 7; rank++)
            sim_send_set(sim, rank, set, i);
        sim_send_all(sim, exact, 5, 7, i);
        sim_send_all(sim, total, 5, 7, i);
        if (i == 2)
            CHECK_OK(sim_move(sim, 3, 2));
        sim_run(sim, 1);
    }
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CHECK_IS(sim_sync_now(sim, set), 0);
    CHECK_IS(sim_sync_now(sim, exact), 0);
    CHECK_IS(sim_sync_now(sim, total), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, set), 8);
    expect_taken(sim, 0, exact, 8, 3 * 8);
    CHECK_OK(sim_state_now(sim, total, &value));
    CU_ASSERT_EQUAL(value, 3 * 36);
}

/* A move when nothing is on the way costs a plain stream nothing. */
SCENARIO(a_move_after_a_sync_is_free, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_all(sim, stream, 5, 7, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    move(sim, 3, 2);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_send_all(sim, stream, 5, 7, 20);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 2, 60);
}

#define WAVES 40

/* Every back-end sends WAVES numbers, one each millisecond, while `mover` moves
 * below `next`. Each wave has every member, on time, no wave is sent again, and a
 * sync returns 0 (PROTOCOL 18.6). */
static void play_move_under_load(const struct stream_definition *definition,
                                 uint32_t mover,
                                 uint32_t next,
                                 uint32_t at)
{
    struct sim *sim = sim_launch(TREE);
    uint32_t stream = sim_open_defined(sim, definition);
    bool is_total = definition->kind == STREAM_TOTAL;
    int total = 0;

    for (uint32_t i = 1; i <= WAVES; i++) {
        if (i == at)
            CHECK_OK(sim_move(sim, mover, next));
        for (uint32_t rank = 5; rank <= 7; rank++)
            sim_post_int(sim, rank, stream, (int)i);
        sim_run(sim, 1);
    }
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 1);
    CU_ASSERT_EQUAL(sim_parent(sim, mover), next);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
    for (uint32_t rank = 0; rank < sim_count(sim); rank++)
        CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_LOSSY), 0);
    if (is_total) {
        CHECK_IS(sim_state_now(sim, stream, &total), 0);
        CU_ASSERT_EQUAL(total, 3 * WAVES * (WAVES + 1) / 2);
    } else {
        CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), WAVES);
        CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 3 * WAVES);
    }
    sim_end(sim);
}

TEST(a_move_under_load_costs_nothing)
{
    static const uint32_t moves[][2] = {{3, 2}, {3, 0}, {5, 2}, {5, 0},
                                        {5, 4}, {5, 1}, {7, 3}, {2, 1}};
    char sum[] = "sum";
    const struct stream_definition definitions[] = {
        {.up_filter = sum},
        {.up_filter = sum, .kind = STREAM_WAVES, .redo_limit = 8},
        {.up_filter = sum, .kind = STREAM_TOTAL},
    };

    for (size_t kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
            for (uint32_t at = 1; at < 20; at += 3)
                play_move_under_load(&definitions[kind], moves[i][0],
                                     moves[i][1], at);
}

/* The old parent dies at each moment of a move under load, alone or with its own
 * parent. What it had not passed on is lost, and no sync is silent about that. */
TEST(an_old_parent_that_dies_is_answered_for)
{
    for (uint64_t at_ms = 0; at_ms < 60; at_ms++) {
        bool both = at_ms % 2;
        struct sim *sim = sim_launch("0(1(2(4(6),5(7))),3(8))");
        uint32_t stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT);

        CHECK_OK(sim_move(sim, 4, at_ms % 4 < 2 ? 3 : 0));
        sim_kill_at(sim, 2, at_ms / 2);
        if (both)
            sim_kill_at(sim, 1, at_ms / 2);
        for (uint32_t i = 1; i <= WAVES; i++) {
            for (uint32_t rank = 6; rank <= 8; rank++)
                sim_post_int(sim, rank, stream, (int)i);
            sim_run(sim, 1);
        }
        if (sim_sync_now(sim, stream) == 0)
            CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3 * WAVES);
        for (uint32_t rank = 6; rank <= 8; rank++)
            sim_send_int(sim, rank, stream, 0);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        sim_end(sim);
    }
}

/* PROTOCOL 18.11: what cannot be is refused at once, and nothing is sent. */
SCENARIO(impossible_moves_are_refused, TREE)
{
    CHECK_IS(sim_move(sim, 0, 1), -EINVAL);
    CHECK_IS(sim_move(sim, 3, 3), -EINVAL);
    CHECK_IS(sim_move(sim, 3, 7), -EINVAL);
    CHECK_IS(sim_move(sim, 99, 1), -ENOENT);
    CHECK_IS(sim_move(sim, 3, 99), -ENOENT);
    CHECK_IS(sim_move(sim, 1, 4), -ELOOP);
    CHECK_IS(sim_move(sim, 3, 1), -EALREADY);
    sim_crash(sim, 4);
    sim_run(sim, 5);
    CHECK_IS(sim_move(sim, 3, 2), -EAGAIN); /* 6 is an orphan */
    CHECK_IS(sim_move(sim, 3, 4), -EHOSTUNREACH);
    expect_told(sim, NODE_LOST, 1, 4);
    CHECK_IS(sim_move(sim, 4, 2), -EHOSTUNREACH);
    sim_run(sim, 2 * LIMIT_FAILURE_TIMEOUT_MS);
    sim_crash(sim, 7);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    CHECK_IS(sim_move(sim, 7, 0), -EHOSTUNREACH);
    move(sim, 3, 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
}

/* PROTOCOL 18.11: one move at a time. The end of the network ends a move. */
SCENARIO(one_node_moves_at_a_time, TREE)
{
    CHECK_OK(sim_move(sim, 3, 2));
    CHECK_IS(sim_move(sim, 4, 2), -EBUSY);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CHECK_OK(sim_move(sim, 4, 2));
    CHECK_OK(sim_shutdown(sim, 0));
    CHECK_IS(sim_move(sim, 3, 1), -ENOTCONN);
    sim_run(sim, 5000);
    CU_ASSERT(!sim_is_alive(sim, 0));
    expect_told(sim, NODE_MOVED, 1, 3);
}

/* PROTOCOL 18.3: the tree does not become higher. */
SCENARIO(a_move_makes_no_tree_higher, "0(1(3(5)),2(4))")
{
    CHECK_OK(sim_move(sim, 1, 2));
    expect_failure(sim, 1, "the tree would be higher than at launch");
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
}

/* PROTOCOL 18.1: the next parent dies before the mover calls it. */
SCENARIO(the_next_parent_dies, TREE)
{
    sim_crash(sim, 2);
    CHECK_OK(sim_move(sim, 3, 2));
    expect_failure(sim, 3, "it could not connect to the next parent");
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 1);
}

/* The mover dies. */
SCENARIO(the_mover_dies, TREE)
{
    CHECK_OK(sim_move(sim, 3, 2));
    sim_run(sim, 2);
    sim_crash(sim, 3);
    expect_failure(sim, 3, "it was lost");
    sim_run(sim, 2 * LIMIT_FAILURE_TIMEOUT_MS);
    move(sim, 4, 2);
}

/* PROTOCOL 18.10: the mover loses both parents, and a third node adopts it. */
SCENARIO(both_parents_die, TREE)
{
    CHECK_OK(sim_move(sim, 3, 2));
    sim_run(sim, 3);
    sim_crash(sim, 2);
    sim_crash(sim, 1);
    expect_failure(sim, 3, "it lost its parent, and 0 has adopted it");
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 0);
}

/* PROTOCOL 18.10: the mover loses its parent only: its attempt goes on. */
SCENARIO(the_old_parent_dies, TREE)
{
    CHECK_OK(sim_move(sim, 3, 2));
    sim_run(sim, 4);
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    expect_told(sim, NODE_MOVED, 1, 3);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 2);
}

/* A frame that is read and has no effect takes the place of each command: without
 * any, the link would be silent. */
static enum sim_tampering drop_moves(struct sim *sim,
                                     uint32_t index,
                                     struct action *action,
                                     void *arg)
{
    (void)sim;
    (void)arg;
    if (index == 1 && action->type == ACTION_SEND &&
        action->frame.type == FRAME_MOVE)
        action->frame = (struct frame){.type = FRAME_CREDIT, .stream = 99};
    return SIM_KEEP;
}

/* PROTOCOL 18.11: a move that nobody reports is over some time. */
SCENARIO(a_move_is_not_reported, TREE, .tamper = drop_moves)
{
    CHECK_OK(sim_move(sim, 3, 2));
    sim_run(sim, LIMIT_ORPHAN_TIMEOUT_MS);
    CHECK_IS(sim_move(sim, 4, 2), -EBUSY);
    sim_wait(sim, 0, TELL_MOVE_FAILED);
    expect_told(sim, MOVE_FAILED, 1, 3);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(sim_text(TELL_MOVE_FAILED), "it has reported nothing for "));
    CU_ASSERT_NOT_EQUAL(sim_move(sim, 3, 2), -EBUSY);
}

/* PROTOCOL 20: a commnode is replaced, and its orphans move below the one that has
 * its place. */
SCENARIO(orphans_move_below_a_replacement, TREE, .replace = 1)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    expect(sim, "0 told node joined 8 in place of 1");
    sim_run(sim, 5); /* its rank is on its way */
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    for (uint32_t rank = 3; rank <= 4; rank++)
        move(sim, rank, 8);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_all(sim, stream, 5, 7, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 30);
}

/* What is lost on the way, once: the command, or the report of what became of it. */
static enum sim_tampering lose_once(struct sim *sim,
                                    uint32_t index,
                                    struct action *action,
                                    void *arg)
{
    uint8_t *type = arg;

    (void)sim;
    if (index != 0 && index != 1 && index != 2)
        return SIM_KEEP;
    if (action->type != ACTION_SEND || action->frame.type != *type)
        return SIM_KEEP;
    *type = 0;
    return SIM_DROP;
}

static uint8_t lost_type;

/* PROTOCOL 18.11: it is sent again, and the move is made once. */
SCENARIO(a_lost_command_is_repeated,
         TREE,
         .tamper = lose_once,
         .tamper_arg = &lost_type)
{
    lost_type = FRAME_MOVE;
    move(sim, 3, 2);
    CU_ASSERT_EQUAL(lost_type, 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
    lost_type = FRAME_RECOVERED;
    move(sim, 3, 1);
    CU_ASSERT_EQUAL(lost_type, 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 1);
}

/* So is the reason why there was no move. */
SCENARIO(a_lost_reason_is_repeated,
         TREE,
         .tamper = lose_once,
         .tamper_arg = &lost_type)
{
    lost_type = FRAME_MOVED;
    CHECK_OK(sim_move(sim, 5, 2));
    sim_run(sim, 1);
    sim_crash(sim, 2); /* the mover cannot reach it */
    sim_wait(sim, 0, TELL_MOVE_FAILED);
    CU_ASSERT_EQUAL(lost_type, 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 5), 3);
}

/* PROTOCOL 18.11: of many calls the first one counts. */
SCENARIO(moves_are_not_queued, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    CHECK_OK(sim_move(sim, 3, 2));
    for (int i = 1; i < 64; i++)
        CHECK_IS(sim_move(sim, i % 2 ? 4 : 5, 2), -EBUSY);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_all(sim, stream, 5, 7, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 30);
}

/* PROTOCOL 18.1, 18.10: the next parent is stopped (SIGSTOP) at each moment of a move,
 * for longer than a silence may last. There is one end of the move, nobody is lost, and
 * everybody has a path. */
TEST(the_next_parent_is_stopped)
{
    for (uint32_t after_ms = 0; after_ms <= 14; after_ms++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = sim_open_filter(sim, "sum");

        CHECK_OK(sim_move(sim, 3, 2));
        sim_run(sim, after_ms);
        sim_freeze(sim, 2, 3 * LIMIT_FAILURE_TIMEOUT_MS);
        sim_run(sim, 6 * LIMIT_FAILURE_TIMEOUT_MS);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED) +
                            sim_told(sim, 0, TELL_MOVE_FAILED),
                        1);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
        CU_ASSERT(sim_sync_now(sim, stream) >= 0);
        sim_send_all(sim, stream, 5, 7, 10);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 30);
        sim_end(sim);
    }
}
