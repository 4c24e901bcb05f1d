/* test_scenario_end.c - leaving and ending (PROTOCOL 11). */
#include "protocol/members/control.h"
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 11.4: a shutdown reaches every node, every node ends, and every
 * application is told. */
SCENARIO(a_shutdown_ends_every_node,
         "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))")
{
    sim_open_filter(sim, "sum");
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 100);
    for (uint32_t i = 0; i < sim_count(sim); i++) {
        CU_ASSERT(sim_has_exited(sim, i));
        if (sim_role(sim, i) != NODE_COMMNODE)
            CU_ASSERT_EQUAL(sim_told(sim, i, TELL_ENDED), 1);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
}

/* PROTOCOL 11.4: after it nothing can be asked. */
SCENARIO(after_the_end_there_is_nothing, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    CHECK_OK(sim_shutdown(sim, 0));
    CHECK_IS(sim_send(sim, 0, stream, 100, "%d", 1), -ENOTCONN);
    CHECK_IS(sim_sync(sim, stream, NULL), -ENOTCONN);
    sim_run(sim, 100);
    CHECK_IS(sim_send(sim, 3, stream, 100, "%d", 1), -ENOTCONN);
}

/* PROTOCOL 11.4: a node that hangs does not keep the others from ending. */
SCENARIO(a_node_that_hangs_delays_no_shutdown, TREE)
{
    sim_freeze(sim, 4, 1000000);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 20000);
    for (uint32_t rank = 0; rank <= 3; rank++)
        CU_ASSERT(sim_has_exited(sim, rank));
}

/* Stop `rank` for ever, and begin to end the network after `wait_ms`. Returns
 * after how many milliseconds every node has ended. */
static uint64_t end_with_stopped(struct sim *sim,
                                 uint32_t rank,
                                 uint64_t wait_ms)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint64_t begin_ms;
    bool alive = true;

    sim_send_int(sim, 0, stream, 1);
    sim_freeze(sim, rank, 10000000);
    sim_run(sim, wait_ms);
    begin_ms = sim_now_ms(sim);
    CHECK_OK(sim_begin_end(sim));
    sim_sync_now(sim, stream);
    CHECK_OK(sim_shutdown(sim, 0));
    while (alive && sim_now_ms(sim) < begin_ms + 60000) {
        sim_run(sim, 10);
        alive = false;
        for (uint32_t i = 0; i < sim_count(sim); i++)
            alive |= sim_is_alive(sim, i);
    }
    return sim_now_ms(sim) - begin_ms;
}

/* PROTOCOL 11.4: a shutdown kills those that are suspected when it begins, at
 * once: a back-end, and a commnode whose children have other parents. */
TEST(a_shutdown_kills_suspects_at_once)
{
    for (uint32_t rank = 1; rank <= 3; rank++) {
        struct sim *sim = sim_launch(TREE);
        uint64_t took_ms =
            end_with_stopped(sim, rank, 3 * LIMIT_FAILURE_TIMEOUT_MS);

        CU_ASSERT(took_ms <= 100);
        sim_end(sim);
    }
}

/* PROTOCOL 11.4: a node that is stopped before a shutdown, or during it, is
 * killed when it has been silent for failure_timeout. */
TEST(a_shutdown_kills_silent_nodes)
{
    for (uint32_t rank = 1; rank <= 3; rank++) {
        struct sim *sim = sim_launch(TREE);
        uint64_t took_ms = end_with_stopped(sim, rank, 500);

        CU_ASSERT(took_ms <= LIMIT_FAILURE_TIMEOUT_MS + LIMIT_HEARTBEAT_MS);
        sim_end(sim);
    }
    for (uint32_t rank = 1; rank <= 3; rank++) {
        struct sim *sim = sim_launch(TREE);

        sim_freeze(sim, rank, 10000000);
        CHECK_OK(sim_shutdown(sim, 0));
        sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS + LIMIT_HEARTBEAT_MS);
        for (uint32_t i = 0; i < sim_count(sim); i++)
            CU_ASSERT(!sim_is_alive(sim, i));
        sim_end(sim);
    }
}

/* PROTOCOL 11.4: a node that learns of ENDING by a snapshot passes it on: node 2
 * below it kills a child that is silent. */
SCENARIO(an_ending_in_a_snapshot_is_passed_on, "0(1(2(3,4)))")
{
    struct control control = {.type = CONTROL_ENDING};
    struct frame frame;

    CHECK_OK(control_encode(&control, &frame));
    sim_inject(sim, 0, 1, &frame);
    sim_freeze(sim, 3, 10000000);
    sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS + 2 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT(!sim_is_alive(sim, 3));
    CU_ASSERT(sim_is_alive(sim, 4));
}

/* End the network. Returns whether 3 is astray at the end, and no other. */
static bool ends_without_3(struct sim *sim)
{
    CHECK_OK(sim_shutdown(sim, 0));
    sim_wait(sim, 0, TELL_ENDED);
    for (uint32_t rank = 4; rank < sim_count(sim); rank++)
        CU_ASSERT(!sim_was_astray(rank));
    return sim_was_astray(3);
}

/* PROTOCOL 11.4: a back-end is stopped, and the commnode that has started it is
 * dead: the front-end knows that it may not have ended. It is stopped before
 * that death or when it has another parent, and a while or directly before the
 * end. A node that has exited is not astray. */
TEST(a_stopped_node_without_its_starter_is_astray)
{
    for (int how = 0; how < 4; how++) {
        struct sim *sim = sim_launch("0(1(3,4),2(5,6))");

        if (how == 0)
            sim_freeze(sim, 3, 10000000);
        if (how == 3)
            sim_crash(sim, 3);
        sim_run(sim, 100);
        sim_crash(sim, 1);
        sim_run(sim, 1000);
        if (how == 1 || how == 2)
            sim_freeze(sim, 3, 10000000);
        sim_run(sim, how == 2 ? 0 : 10000);
        CU_ASSERT_EQUAL(ends_without_3(sim), how < 3);
        sim_end(sim);
    }
}

/* PROTOCOL 11.4: the node that was given up is astray, too. */
SCENARIO(a_node_that_was_given_up_is_astray, TREE)
{
    sim_freeze(sim, 3, 10000000);
    sim_crash(sim, 1);
    sim_run(sim, 150000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT(ends_without_3(sim));
}

/* PROTOCOL 11.1, 11.1a: a back-end that leaves is given up at once; what it
 * sent before stays, and the others go on without it. */
SCENARIO(a_back_end_may_leave, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_all(sim, stream, 2, 4, 1);
    CHECK_OK(sim_shutdown(sim, 4));
    sim_run(sim, 20);
    CU_ASSERT(sim_has_exited(sim, 4));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    sim_send_int(sim, 2, stream, 10);
    sim_send_int(sim, 3, stream, 10);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (3 back-ends)\n"
                 "[ 22] 0 deliver stream 1 wave 2: \"%d\" 20 (2 back-ends)\n");
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 12.5: an agent tells the front-end that back-end 4 has ended, while
 * packets of 4 are in flight: these still count, then 4 is given up at once. */
TEST(what_a_back_end_sent_comes_before_its_agents_word)
{
    struct sim *sim = sim_launch(TREE, .agents = true, .bytes_per_ms = 1000);
    uint32_t stream = sim_open_stream(sim, .sync = COP_WAIT_FOR_ALL);

    sim_by_hand(sim, 0);
    sim_send_int(sim, 2, stream, 1);
    sim_send_int(sim, 3, stream, 1);
    CHECK_OK(sim_send_bytes(sim, 4, stream, 50000));
    CHECK_OK(sim_shutdown(sim, 4));
    sim_run(sim, 200);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    sim_end(sim);
}

/* PROTOCOL 12.5: nodes that an agent saw die are lost without a time-out. */
TEST(an_agents_word_is_certain)
{
    struct sim *sim = sim_launch_as(TREE, &(struct sim_config){.agents = true});

    sim_crash(sim, 3);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    sim_crash(sim, 1);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    sim_end(sim);
}

/* PROTOCOL 11.1a: when every back-end has gone, the front-end is still there,
 * and what it asks has an end. */
SCENARIO(a_network_without_back_ends_works, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_crash(sim, rank);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CHECK_IS(sim_sync(sim, stream, NULL), -ENODEV);
    CHECK_IS(sim_send(sim, 0, stream, 100, "%d", 1), -ENODEV);
    CU_ASSERT(node_is_drained(sim_node(sim, 0), stream));
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 100);
    CU_ASSERT(sim_has_exited(sim, 0));
    CU_ASSERT(sim_has_exited(sim, 1));
}

#define BACKLOG 12
#define PART    (LIMIT_WINDOW_MAX / 4) /* 3 windows in all */

/* PROTOCOL 10.1b: members have sent more than goes up while the front-end takes
 * nothing, and have left: there is no member any more, but what they had sent
 * still comes, and only then is the stream drained. */
SCENARIO(what_the_last_member_sent_still_comes, "0(1(2(3)))")
{
    uint32_t stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT), i,
             taken = 0;

    sim_by_hand(sim, 0);
    for (i = 0; i < BACKLOG; i++) {
        CHECK_OK(sim_send_bytes(sim, 3, stream, PART));
        sim_run(sim, 50);
    }
    CHECK_OK(sim_shutdown(sim, 3));
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT(node_is_deserted(sim_node(sim, 0), stream));
    CHECK_IS(sim_sync(sim, stream, NULL), -ENODEV);
    CU_ASSERT(sim_waiting(sim, 0) < BACKLOG);
    for (i = 0; i < BACKLOG; i++) {
        CU_ASSERT(!node_is_drained(sim_node(sim, 0), stream) ||
                  taken + sim_waiting(sim, 0) == BACKLOG);
        taken += (uint32_t)sim_receive(sim, 0, stream);
        sim_run(sim, 50);
    }
    CU_ASSERT_EQUAL(taken, BACKLOG);
    CU_ASSERT(node_is_drained(sim_node(sim, 0), stream));
}

/* PROTOCOL 3.1, 11.1: a lost back-end is lost to every node: streams opened
 * later are without it. */
SCENARIO(the_lost_are_in_no_later_stream, TREE)
{
    uint32_t stream;

    sim_crash(sim, 4);
    sim_run(sim, 100);
    stream = sim_open_filter(sim, "sum");
    CU_ASSERT_EQUAL(ranks_size(node_members(sim_node(sim, 0), stream)), 2);
    sim_send_int(sim, 2, stream, 1);
    sim_send_int(sim, 3, stream, 1);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 2);
}
