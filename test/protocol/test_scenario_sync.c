/* test_scenario_sync.c - claims, stability, syncs and epochs (PROTOCOL 10). */
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 10.6: when a sync returns, everything that was answered to what was
 * sent before it has been delivered. */
SCENARIO(all_answers_are_in, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_send_ints(sim, 0, stream, 1, 10);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 10, 30);
}

/* PROTOCOL 10.6: it waits for an application that takes its time, and for a
 * filter that does. */
SCENARIO(a_sync_waits_for_slow_members, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint64_t began_ms;

    sim_echo(sim);
    sim_by_hand(sim, 4);
    sim_set_filter_ms(sim, 1, 200);
    sim_send_ints(sim, 0, stream, 1, 5);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    began_ms = sim_now_ms(sim);
    for (int i = 1; i <= 5; i++) {
        CHECK_IS(sim_receive(sim, 4, stream), 1);
        sim_send_int(sim, 4, stream, i);
    }
    sim_run(sim, 3000);
    /* It has answered, and not called receive again: it might send more. */
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    CU_ASSERT(sim_now_ms(sim) > began_ms + 1000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 5);
    CHECK_IS(sim_receive(sim, 4, stream), 0);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
}

/* PROTOCOL 10.6: a marker is settled when the packets before it are, whatever
 * waits behind it. So the answers to what follows are in one wave. */
SCENARIO(a_marker_is_settled_at_its_place, "0(1,2)")
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_by_hand(sim, 2);
    for (int i = 1; i <= 3; i++) {
        sim_send_int(sim, 0, stream, i * 10);
        CHECK_OK(sim_sync(sim, stream, NULL));
        sim_run(sim, 5);
    }
    for (int i = 1; i <= 3; i++) {
        CHECK_IS(sim_receive(sim, 2, stream), 1);
        sim_send_int(sim, 2, stream, i * 10);
        sim_run(sim, 5);
        expect_taken(sim, 0, stream, (unsigned)i, i * 20);
    }
}

/* PROTOCOL 10.6: a member that takes "start" and then only sends says settle.
 */
SCENARIO(a_member_that_only_sends_settles, "0(1)")
{
    uint32_t stream = sim_open_filter(sim, "");

    sim_by_hand(sim, 1);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 5);
    CHECK_IS(sim_receive(sim, 1, stream), 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_send_ints(sim, 1, stream, 1, 5);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    CHECK_OK(sim_settle(sim, 1, stream));
    sim_run(sim, 5);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 5);
}

/* PROTOCOL 10.6: at once if none was ever taken and none waits. */
SCENARIO(a_member_without_packets_settles_at_once, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_by_hand(sim, rank);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CU_ASSERT_EQUAL(sim_waiting(sim, 4), 0);
}

/* PROTOCOL 4.1, 10.6: unequal numbers of packets make short waves at a sync;
 * after it the first meets the first again. */
SCENARIO(epochs_pair_again, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_ints(sim, 3, stream, 1, 3);
    sim_send_int(sim, 4, stream, 10);
    sim_run(sim, 10);
    expect_trace(sim, "");
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3);
    sim_run(sim, 1000);
    sim_trace(sim, SIM_TRACE_DELIVER);
    sim_send_all(sim, stream, 2, 4, 100);
    sim_run(sim, 10);
    expect_trace(
        sim, "[  2] 0 deliver stream 1 wave 1.1: \"%d\" 300 (3 back-ends)\n");
}

/* PROTOCOL 4.1, 10.6: the same, seen wave by wave. */
SCENARIO(short_waves_count_their_back_ends, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_ints(sim, 3, stream, 1, 3);
    sim_send_int(sim, 4, stream, 10);
    sim_send_int(sim, 2, stream, 100);
    sim_send_int(sim, 2, stream, 200);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 111 (3 back-ends)\n"
                 "[  4] 0 deliver stream 1 wave 2: \"%d\" 202 (2 back-ends)\n"
                 "[  4] 0 deliver stream 1 wave 3: \"%d\" 3 (1 back-end)\n");
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
}

/* PROTOCOL 10.6: a sync hurries what waits for a time-out, at each node as it
 * hears of it: so what waits at two nodes comes in two parts. */
SCENARIO(a_sync_waits_for_no_time_out, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .sync = COP_TIME_OUT,
                                      .wave_timeout_ms = 50000);

    sim_send_all(sim, stream, 2, 3, 5);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(sim_now_ms(sim) < 1000);
    expect_taken(sim, 0, stream, 2, 5);
}

/* PROTOCOL 10.6: members send without a pause, so that one filter call follows
 * the other. The sync waits for the calls of packets before its marker only. */
SCENARIO(later_filter_calls_delay_no_sync, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 0, 10);
    for (int i = 0; i < 100; i++) {
        sim_send_all(sim, stream, 2, 4, 1);
        if (i == 10)
            CHECK_OK(sim_sync(sim, stream, NULL));
        sim_run(sim, 5);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CU_ASSERT(sim_taken(sim, 0, stream) < 60);
}

/* PROTOCOL 10.6, 11.1a: a member that dies is not waited for. */
SCENARIO(a_sync_skips_dead_members, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_by_hand(sim, 4);
    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    sim_kill_at(sim, 4, 0);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 2);
}

/* PROTOCOL 10.6: the members that a sync waits for can be named. */
SCENARIO(unsettled_members_are_named, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    struct ranks set = {0};

    sim_echo(sim);
    sim_by_hand(sim, 2);
    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 3000);
    CHECK_OK(node_unsettled(sim_node(sim, 0), stream, &set));
    CU_ASSERT_EQUAL(ranks_size(&set), 1);
    CU_ASSERT(ranks_has(&set, 2));
    ranks_fini(&set);
}

/* PROTOCOL 10.6: syncs follow each other; each has its own end. */
SCENARIO(syncs_follow_each_other, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    for (int i = 1; i <= 20; i++) {
        sim_send_int(sim, 0, stream, i);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        expect_taken(sim, 0, stream, (unsigned)i, 3 * i);
    }
}

/* PROTOCOL 10.1: a sync of one stream does not wait for another. */
SCENARIO(a_sync_is_of_one_stream, "0(1(2,3))")
{
    uint32_t stuck = sim_open_filter(sim, "sum");
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_by_hand(sim, 3);
    sim_send_int(sim, 0, stuck, 1);
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 5);
    CHECK_IS(sim_receive(sim, 3, stream), 1);
    CHECK_IS(sim_receive(sim, 3, stream), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 10.2, 10.5: what every member has is not kept. */
SCENARIO(what_is_stable_is_dropped, "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))")
{
    uint32_t stream = sim_open_filter(sim, "");

    for (int i = 0; i < 10; i++)
        CHECK_OK(sim_send_bytes(sim, 0, stream, 1000));
    CU_ASSERT(node_held_bytes(sim_node(sim, 0), stream) >= 10000);
    sim_run(sim, 3000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_EQUAL(node_held_bytes(sim_node(sim, i), stream), 0);
}

/* PROTOCOL 3.5: of syncs that time out not so many markers wait that they fill
 * the memory: behind one no other is sent while too much is not stable. */
SCENARIO(markers_that_wait_are_bounded, "0(1(2,3))")
{
    uint32_t stream = sim_open_filter(sim, "");
    uint64_t marker;

    sim_freeze(sim, 3, 2000);
    while (sim_send_bytes(sim, 0, stream, 100000) == 0)
        ;
    CHECK_OK(sim_sync(sim, stream, &marker)); /* the first is always allowed */
    CHECK_IS(sim_sync(sim, stream, &marker), -EAGAIN);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 10.1a: claims of small packets go once per heartbeat, and what has
 * not changed is not said again. */
SCENARIO(claims_are_few, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_run(sim, 3000);
    sim_trace(sim, SIM_TRACE_FRAME);
    for (int i = 0; i < 100; i++) {
        sim_send_int(sim, 0, stream, i);
        sim_run(sim, 10);
    }
    sim_run(sim, 1000);
    CU_ASSERT(sim_lines(sim, "1 <- 4 claim stream 1") >= 1);
    CU_ASSERT(sim_lines(sim, "1 <- 4 claim stream 1") <= 4);
    CU_ASSERT(sim_lines(sim, "0 <- 1 claim stream 1") <= 6);
    sim_trace_from_here(sim);
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(sim_lines(sim, " claim "), 0);
}

/* PROTOCOL 10.4: each child is fed by its own cursor: one that stands still
 * delays no other, and gets everything in order, once. */
SCENARIO(a_slow_child_delays_no_other, TREE)
{
    uint32_t stream = sim_open_filter(sim, "");

    sim_freeze(sim, 4, 2000);
    sim_send_ints(sim, 0, stream, 1, 50);
    sim_run(sim, 5);
    CU_ASSERT_EQUAL(sim_taken(sim, 3, stream), 50);
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 50);
    CU_ASSERT_EQUAL(sim_taken(sim, 4, stream), 0);
    CU_ASSERT(node_held_bytes(sim_node(sim, 1), stream) > 0);
    sim_trace(sim, SIM_TRACE_DELIVER);
    sim_run(sim, 3000);
    expect_taken(sim, 4, stream, 50, 50);
    expect(sim, "4 deliver stream 1: \"%d\" 7\n");
}

/* PROTOCOL 10.1, 10.6: a claim that waits for credit names the members that had
 * settled when it was made. A back-end that is adopted, sends and settles after
 * that is not in it: its packets wait behind the claim, at whatever moment the
 * link is held up. */
TEST(a_claim_that_waits_speaks_of_no_newcomer)
{
    enum {
        BYTES = 50000,
        COUNT = 41, /* a window, and not more */
        LATER = 35
    };

    for (uint64_t at_ms = 0; at_ms <= 5000; at_ms += 125) {
        struct sim *sim = sim_launch("0(1(3,4,2(5)),6,7,8)");
        uint32_t stream;

        sim_by_hand(sim, 5);
        stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT,
                                 .up_filter_frontend = (char[]){"count"});
        sim_set_filter_ms(sim, 0, 50);
        for (int i = 0; i < COUNT; i++)
            for (uint32_t rank = 3; rank <= 4; rank++)
                CHECK_OK(sim_send_bytes(sim, rank, stream, BYTES));
        sim_send_int(sim, 0, stream, 1);
        CHECK_OK(sim_sync(sim, stream, NULL));
        sim_run(sim, 50);
        sim_crash(sim, 2);
        sim_run(sim, 50);
        CHECK_IS(sim_receive(sim, 5, stream), 1);
        CU_ASSERT_EQUAL(sim_parent(sim, 5), 1);
        for (int i = 0; i < LATER; i++)
            CHECK_OK(sim_send_bytes(sim, 5, stream, BYTES));
        CHECK_OK(sim_settle(sim, 5, stream));
        sim_run(sim, at_ms);
        sim_hold(sim, 1, 0, sim_now_ms(sim) + 2000);
        sim_wait(sim, 0, TELL_SYNCED);
        CHECK_IS(sim_code(TELL_SYNCED), 0);
        CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 2 * COUNT + LATER);
        sim_end(sim);
    }
}

/* PROTOCOL 10.6a: a commnode is stopped while packets for it are in flight, and
 * its children find other parents. A sync returns 1, as the packets may be
 * lost. The commnode continues, is adopted, reads the packets, and sends them
 * on. They do not arrive after that sync, where they would count for the next
 * one. */
TEST(what_a_sync_gave_up_does_not_come)
{
    for (int mode = COP_WAIT_FOR_ALL; mode <= COP_TIME_OUT; mode++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream =
            sim_open_stream(sim, .sync = (enum cop_sync)mode,
                            .wave_timeout_ms = mode == COP_TIME_OUT ? 20 : 0);

        sim_freeze(sim, 1, 10000);
        sim_hold(sim, 3, 1, sim_now_ms(sim) + 10300);
        for (int i = 0; i < 5; i++)
            sim_send_int(sim, 3, stream, 1000 + i);
        sim_run(sim, 6000);
        CHECK_IS(sim_sync_now(sim, stream), 1);
        CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
        sim_run(sim, 10000);
        CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
        CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
        sim_send_all(sim, stream, 2, 4, 1);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3);
        sim_end(sim);
    }
}
