/* test_scenario_owed.c - a child without members, whose former members' packets
 * still wait in it (PROTOCOL 18.7, 18.8). */
#include "test/sim/scenario.h"

#define TREE  "0(1(3),2(4))"
#define PART  (LIMIT_WINDOW_MAX / 4)
#define SMALL 16384 /* a quarter of the smallest window */

/* 3 sends more than the front-end takes: packets wait in 1 for credit. */
static void send_backlog(struct sim *sim,
                         uint32_t stream,
                         unsigned count,
                         size_t len)
{
    for (unsigned i = 0; i < count; i++) {
        CHECK_OK(sim_send_bytes(sim, 3, stream, len));
        sim_run(sim, 50);
    }
}

/* After such a backlog 3 leaves. */
static void leave_backlog(struct sim *sim,
                          uint32_t stream,
                          unsigned count,
                          size_t len)
{
    sim_by_hand(sim, 0);
    send_backlog(sim, stream, count, len);
    CU_ASSERT(sim_waiting(sim, 0) < count / 2);
    CHECK_OK(sim_shutdown(sim, 3));
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    expect_told(sim, BACKEND_LOST, 1, 3);
}

/* PROTOCOL 18.7: a sync waits for what a back-end had sent before it left, and
 * all of it is on time. */
SCENARIO(what_a_leaver_had_sent_is_on_time, TREE, .budget = 1)
{
    uint32_t stream = sim_open_stream(sim, .sync = COP_WAIT_FOR_ALL);

    leave_backlog(sim, stream, 12, SMALL);
    sim_trace(sim, SIM_TRACE_DELIVER);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 12);
    CU_ASSERT_EQUAL(sim_lines(sim, "late"), 0);
}

/* The same without waves, and with some that wait for a time only. */
TEST(a_sync_waits_for_what_a_leaver_had_sent)
{
    enum cop_sync syncs[] = {COP_DO_NOT_WAIT, COP_TIME_OUT};

    for (size_t i = 0; i < 2; i++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = sim_open_stream(sim, .sync = syncs[i]);

        leave_backlog(sim, stream, 12, PART);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        CU_ASSERT_EQUAL(sim_waiting(sim, 0), 12);
        sim_end(sim);
    }
}

/* PROTOCOL 18.7: an orphan without members brings such packets along. The sync
 * says that those in 1 were lost, and waits for those in 2, which are on time. */
SCENARIO(an_orphan_is_owed, "0(1(2(3)),4)")
{
    uint32_t stream = sim_open_stream(sim, .sync = COP_WAIT_FOR_ALL);

    sim_trace(sim, SIM_TRACE_DELIVER);
    leave_backlog(sim, stream, 15, PART);
    sim_crash(sim, 1);
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_parent(sim, 2), 0);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 9);
    CU_ASSERT_EQUAL(sim_lines(sim, "late"), 0);
}

/* PROTOCOL 18.7: 3 has changed its parent. The packets that wait in the former
 * one are still in their waves: there is nothing to send again. */
SCENARIO(an_adoption_needs_no_redo, TREE, .budget = 1)
{
    uint32_t stream = sim_open_stream(sim, .kind = STREAM_WAVES);

    send_backlog(sim, stream, 12, SMALL);
    sim_cut(sim, 3, 1);
    sim_run(sim, 200);
    CU_ASSERT(sim_parent(sim, 3) != 1);
    for (int i = 0; i < 12; i++)
        CHECK_OK(sim_send_bytes(sim, 4, stream, 1));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 18.8: 1 dies with the packets of a back-end that has left. No orphan
 * is there to say so: its parent, `parent`, does. */
static void lose_owed(const char *tree, uint32_t parent, unsigned count)
{
    struct sim *sim = sim_launch(tree);
    uint32_t stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT);
    struct ranks loser = sim_ranks(1, 1);
    char line[64];

    CHECK_IS(sim_sync_now(sim, stream), 0);
    leave_backlog(sim, stream, count, PART);
    sim_trace(sim, SIM_TRACE_TELL);
    sim_crash(sim, 1);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT(sim_waiting(sim, 0) < count);
    CU_ASSERT(ranks_equal(node_losers(sim_node(sim, 0), stream), &loser));
    snprintf(line, sizeof(line), "%u told lossy stream %u, link to 1", parent,
             stream);
    expect(sim, line);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    ranks_fini(&loser);
    sim_end(sim);
}

TEST(a_parent_says_that_packets_were_lost)
{
    lose_owed(TREE, 0, 12);
    lose_owed("0(5(1(3)),2(4))", 5, 16);
}

/* PROTOCOL 18.8: of what waits in 1 for credit the last was sent behind a marker,
 * and nothing of that epoch has come. So the sync after that marker, too, says
 * that packets were lost. */
SCENARIO(what_has_not_come_is_lost_too, TREE, .budget = 1)
{
    uint32_t stream = sim_open_stream(sim, .sync = COP_WAIT_FOR_ALL);

    sim_by_hand(sim, 4); /* the first sync waits for it */
    sim_send_int(sim, 0, stream, 1);
    send_backlog(sim, stream, 12, SMALL);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 50);
    send_backlog(sim, stream, 1, SMALL);
    CHECK_OK(sim_shutdown(sim, 3));
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    sim_crash(sim, 1);
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    CHECK_IS(sim_receive(sim, 4, stream), 1);
    CHECK_IS(sim_receive(sim, 4, stream), 0);
    sim_wait(sim, 0, TELL_SYNCED);
    CU_ASSERT_EQUAL(sim_code(TELL_SYNCED), 1);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 18.8: 1 has moved to a node that had no members, and so got no marker
 * until then. 1 dies in a filter call on packets that were sent behind a marker,
 * and nothing of that epoch has come from it. */
SCENARIO(an_adopter_learns_the_epoch, "0(5(1(3,6)),2(4))")
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_join(sim, 0);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_crash(sim, 5);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 7);
    sim_set_filter_ms(sim, 1, 1000);
    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 6, stream, 1);
    CHECK_OK(sim_shutdown(sim, 3));
    CHECK_OK(sim_shutdown(sim, 6));
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 2);
    sim_crash(sim, 1);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 18.8: the answer of 3, which has left, waits in 1 for that of 5 when 1
 * dies. 5 has sent nothing and so has nothing to say. */
static void lose_answer(const char *tree)
{
    struct sim *sim = sim_launch(tree);
    uint32_t stream = sim_open_filter(sim, "sum");

    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_send_int(sim, 3, stream, 1);
    CHECK_OK(sim_shutdown(sim, 3));
    sim_run(sim, 50);
    expect_told(sim, BACKEND_LOST, 1, 3);
    sim_crash(sim, 1);
    sim_run(sim, 500);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_end(sim);
}

TEST(a_member_that_is_left_says_nothing_of_others)
{
    lose_answer("0(1(3,5),2(4))");
    lose_answer("0(1(6(3),5),2(4))");
    lose_answer("0(6(1(3,5)),2(4))");
}

/* PROTOCOL 18.8: the same while the stream is being opened: 1 waits for the claim
 * of 5 before it sends its own, and has not sent any when 3 leaves. */
SCENARIO(a_leaver_may_have_sent_before_all_have_claimed, "0(1(3,5),2(4))")
{
    uint32_t stream;

    sim_freeze(sim, 5, 1000);
    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"sum"}));
    sim_run(sim, 4);
    sim_send_int(sim, 3, stream, 1);
    CHECK_OK(sim_shutdown(sim, 3));
    sim_run(sim, 20);
    expect_told(sim, BACKEND_LOST, 1, 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 0);
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_OPENED);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}
