/* test_scenario_replace.c - commnodes in the places of lost ones (PROTOCOL 20). */
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2(5,6))"

/* Check the news of place 1, for the `count`th time. */
static void expect_failed(struct sim *sim, unsigned count, const char *text)
{
    expect_told(sim, REPLACE_FAILED, count, 1);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_REPLACE_FAILED), text);
}

/* PROTOCOL 20.1: another commnode joins a second after the loss, and adopts the
 * next orphans. */
SCENARIO(a_place_is_filled, TREE, .replace = 1)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint64_t lost_ms;

    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_LOST);
    lost_ms = sim_now_ms(sim);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    expect(sim, "0 told node joined 7 in place of 1");
    CU_ASSERT(sim_now_ms(sim) >= lost_ms + 1000);
    CU_ASSERT(sim_now_ms(sim) < lost_ms + 1100);
    sim_run(sim, 10); /* its rank is on its way */
    sim_crash(sim, 2);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 5), 7);
    for (uint32_t rank = 3; rank <= 6; rank++)
        sim_send_int(sim, rank, stream, 10);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 40);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REPLACE_FAILED), 0);
}

/* Without `replace` nothing is started. */
SCENARIO(no_place_is_filled, TREE)
{
    sim_crash(sim, 1);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 0);
    CU_ASSERT_EQUAL(sim_count(sim), 7);
}

/* PROTOCOL 20.2: tries fail; the pause doubles, the application is told of each,
 * and they end. */
SCENARIO(tries_are_counted, TREE, .replace = 3, .replace_failures = UINT32_MAX)
{
    uint64_t before;

    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_REPLACE_FAILED);
    expect_failed(sim, 1, "try 1 of 3: has exited; the next one in 2 s");
    before = sim_now_ms(sim);
    sim_wait(sim, 0, TELL_REPLACE_FAILED);
    expect_failed(sim, 2, "try 2 of 3: has exited; the next one in 4 s");
    CU_ASSERT(sim_now_ms(sim) >= before + 2000);
    before = sim_now_ms(sim);
    sim_wait(sim, 0, TELL_REPLACE_FAILED);
    expect_failed(sim, 3, "try 3 of 3: has exited; there is no further one");
    CU_ASSERT(sim_now_ms(sim) >= before + 4000);
    sim_run(sim, 200000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REPLACE_FAILED), 3);
}

/* A holder of the place that is lost is replaced, too, and counts. */
SCENARIO(a_holder_is_replaced, TREE, .replace = 2)
{
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 1000);
    sim_crash(sim, 7);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    expect(sim, "0 told node joined 8 in place of 1");
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REPLACE_FAILED), 0);
    sim_run(sim, 1000);
    sim_crash(sim, 8);
    sim_wait(sim, 0, TELL_REPLACE_FAILED);
    expect_failed(sim, 1, "try 2 of 2: has exited; there is no further one");
}

static const char *const spares[] = {"s1", "s2", NULL};

/* The host of the lost one is tried first if it has answered, then the spares in
 * turn. */
SCENARIO(spares_take_turns,
         TREE,
         .replace = 4,
         .replace_failures = 3,
         .spares = spares,
         .trace = SIM_TRACE_LIFE)
{
    sim_trace(sim, SIM_TRACE_LIFE | SIM_TRACE_TELL);
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 replaces 1 on its own host"), 1);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 replaces 1 on s1"), 2);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 replaces 1 on s2"), 1);
    expect(sim, "0 told node joined 7 in place of 1");
}

/* A silent host is not tried again while there are spares. */
SCENARIO(a_silent_host_is_left, TREE, .replace = 1, .spares = spares)
{
    sim_trace(sim, SIM_TRACE_LIFE | SIM_TRACE_TELL);
    sim_vanish(sim, 1);
    sim_run(sim, 60000);
    sim_wait(sim, 0, TELL_NODE_LOST);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 replaces 1 on s1"), 1);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 replaces 1 on its own host"), 0);
}

/* A commnode that joins by itself takes no place, and is not replaced. */
SCENARIO(who_joins_by_hand_has_no_place, TREE, .replace = 2)
{
    sim_join(sim, 0);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 10);
    sim_crash(sim, 7);
    sim_wait(sim, 0, TELL_NODE_LOST);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 1);
    CU_ASSERT_EQUAL(sim_count(sim), 8);
}

/* PROTOCOL 20.2: a try that does not join is killed after start_timeout. */
SCENARIO(a_try_that_hangs_is_killed, TREE, .replace = 2, .replace_hangs = 1)
{
    uint64_t lost_ms;

    sim_trace(sim, SIM_TRACE_LIFE | SIM_TRACE_TELL);
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_LOST);
    lost_ms = sim_now_ms(sim);
    sim_wait(sim, 0, TELL_REPLACE_FAILED);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 stops 1: has not joined for"), 1);
    expect_failed(sim, 1,
                  "try 1 of 2: has not joined for 20000 ms (start_timeout); "
                  "the next one in 2 s");
    CU_ASSERT_EQUAL(sim_now_ms(sim), lost_ms + 1000 + 20000 + 1);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    expect(sim, "0 told node joined 7 in place of 1");
}

/* PROTOCOL 11.4: the end of one that was silent is noted, of the launch or not.
 * At the end the others are named. */
SCENARIO(the_end_of_a_silent_one_is_noted, TREE, .replace = 1)
{
    static const uint32_t ranks[] = {1, 7};

    for (size_t i = 0; i < 2; i++) {
        sim_freeze(sim, ranks[i], 1000000);
        sim_run(sim, 60000);
        sim_wait(sim, 0, TELL_NODE_LOST);
        CU_ASSERT(ranks_has(node_astray(sim_node(sim, 0)), ranks[i]));
        sim_crash(sim, ranks[i]);
        sim_run(sim, 100);
        CU_ASSERT(!ranks_has(node_astray(sim_node(sim, 0)), ranks[i]));
        if (i == 0)
            sim_wait(sim, 0, TELL_NODE_JOINED);
        sim_run(sim, 100);
    }
}

/* Nothing is started while the network ends, which a frozen node delays. */
SCENARIO(an_ending_network_replaces_nobody, TREE, .replace = 2)
{
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_LOST);
    sim_freeze(sim, 5, 2000);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 1900);
    CU_ASSERT(sim_is_alive(sim, 0));
    sim_run(sim, 3100);
    CU_ASSERT_EQUAL(sim_count(sim), 7);
    CU_ASSERT(!sim_is_alive(sim, 0));
}

#define DEEP "0(1(3(7),4(8)),2(5(9),6(10)))"

/* Check that the children of the holders of places 1 and 2 are 3, 4 and 5, 6. */
static void check_shape(struct sim *sim, uint32_t first, uint32_t second)
{
    CU_ASSERT_EQUAL(sim_parent(sim, first), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, second), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), first);
    CU_ASSERT_EQUAL(sim_parent(sim, 4), first);
    CU_ASSERT_EQUAL(sim_parent(sim, 5), second);
    CU_ASSERT_EQUAL(sim_parent(sim, 6), second);
}

/* PROTOCOL 20.3: the orphans of a lost commnode move below the one that has its
 * place. So they do when the next one is lost. Waves are whole afterwards. */
SCENARIO(the_shape_comes_back, DEEP, .replace = 1, .keep_shape = true)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    check_shape(sim, 11, 2);
    sim_crash(sim, 2);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 10000);
    check_shape(sim, 11, 12);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 4);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_all(sim, stream, 7, 10, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 40);
}

/* A commnode of a lower level is replaced: the new one moves below the parent that
 * the lost one had, and the back-ends of that below the new one. One that has left
 * meanwhile does not. */
SCENARIO(a_lower_place_is_filled,
         "0(1(3(7),4(8)),2(5(9,11,12),6(10)))",
         .replace = 2,
         .keep_shape = true)
{
    static const uint32_t holders[] = {5, 13, 14};

    for (size_t i = 0; i < 2; i++) {
        sim_crash(sim, holders[i]);
        sim_wait(sim, 0, TELL_NODE_JOINED);
        if (i == 1)
            CHECK_OK(sim_shutdown(sim, 11));
        sim_run(sim, 10000);
        CU_ASSERT_EQUAL(sim_parent(sim, holders[i + 1]), 2);
        CU_ASSERT_EQUAL(sim_parent(sim, 9), holders[i + 1]);
        CU_ASSERT_EQUAL(sim_parent(sim, 12), holders[i + 1]);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 4 + 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
}

/* Back-ends return without a heartbeat between them. */
SCENARIO(backends_return_at_once, TREE, .replace = 1, .keep_shape = true)
{
    uint64_t joined_ms;

    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    joined_ms = sim_now_ms(sim);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CU_ASSERT(sim_now_ms(sim) < joined_ms + 100);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 7);
    CU_ASSERT_EQUAL(sim_parent(sim, 4), 7);
}

/* A link breaks, and no node is lost: the child returns to its parent's place. */
SCENARIO(a_child_of_a_living_parent_returns, DEEP, .keep_shape = true)
{
    sim_cut(sim, 3, 1);
    sim_run(sim, 10000);
    check_shape(sim, 1, 2);
}

/* A move by the application is undone; without keep_shape it is not. */
SCENARIO(moves_are_undone, DEEP, .keep_shape = true)
{
    CHECK_OK(sim_move(sim, 3, 2));
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 2);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    check_shape(sim, 1, 2);
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 2);
}

SCENARIO(moves_stay, DEEP)
{
    CHECK_OK(sim_move(sim, 3, 2));
    sim_wait(sim, 0, TELL_NODE_MOVED);
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 2);
}

static enum sim_tampering refuse_moves(struct sim *sim,
                                       uint32_t index,
                                       struct action *action,
                                       void *arg)
{
    unsigned *left = arg;

    (void)sim;
    if (index != 1 || action->type != ACTION_SEND ||
        action->frame.type != FRAME_ADOPTED || *left == 0)
        return SIM_KEEP;
    --*left;
    action->frame.tag = 4; /* it has enough children, it says */
    return SIM_KEEP;
}

/* A move that fails is tried again, after a second, then two. */
SCENARIO(failed_moves_are_repeated,
         DEEP,
         .keep_shape = true,
         .tamper = refuse_moves,
         .tamper_arg = &(unsigned){2})
{
    uint64_t first_ms;

    CHECK_OK(sim_move(sim, 3, 2));
    sim_wait(sim, 0, TELL_NODE_MOVED);
    sim_wait(sim, 0, TELL_MOVE_FAILED);
    first_ms = sim_now_ms(sim);
    CU_ASSERT_STRING_EQUAL(
        sim_text(TELL_MOVE_FAILED),
        "the next parent has as many children as it may have");
    sim_wait(sim, 0, TELL_MOVE_FAILED);
    CU_ASSERT(sim_now_ms(sim) >= first_ms + 1000);
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CU_ASSERT(sim_now_ms(sim) >= first_ms + 3000);
    check_shape(sim, 1, 2);
}
