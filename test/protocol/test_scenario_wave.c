/* test_scenario_wave.c - waves, seen from the front-end (PROTOCOL 4). */
#include "test/sim/scenario.h"
#include "wire/messages.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 4.3: the n-th packet of one meets the n-th of the others, however
 * early it came. */
SCENARIO(the_nth_meets_the_nth, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_int(sim, 3, stream, 10);
    sim_send_int(sim, 3, stream, 20);
    sim_send_int(sim, 4, stream, 1);
    sim_send_int(sim, 2, stream, 100);
    sim_send_int(sim, 2, stream, 200);
    sim_run(sim, 10);
    sim_send_int(sim, 4, stream, 2);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 111 (3 back-ends)\n"
                 "[ 12] 0 deliver stream 1 wave 2: \"%d\" 222 (3 back-ends)\n");
}

/* PROTOCOL 4.6: without waiting, each packet goes up alone and at once. */
SCENARIO(packets_of_an_unaligned_stream_do_not_wait, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .sync = COP_DO_NOT_WAIT);

    sim_send_int(sim, 3, stream, 10);
    sim_run(sim, 2);
    expect_taken(sim, 0, stream, 1, 10);
    sim_send_int(sim, 3, stream, 20);
    sim_send_int(sim, 4, stream, 1);
    sim_run(sim, 2);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3);
}

/* PROTOCOL 4.6: what came within the time goes up together, when it is over and
 * not a millisecond before; a later packet is in the next. */
SCENARIO(a_time_out_gathers_what_came, "0(1,2,3)")
{
    uint32_t stream = sim_open_filter(sim, "sum", .sync = COP_TIME_OUT,
                                      .wave_timeout_ms = 20);

    sim_send_int(sim, 1, stream, 10);
    sim_run(sim, 10);
    sim_send_int(sim, 2, stream, 5);
    sim_run(sim, 10); /* 20 ms: the first packet arrived at 1 ms */
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    sim_run(sim, 1);
    expect_taken(sim, 0, stream, 1, 15);
    sim_send_int(sim, 3, stream, 7);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 1);
    sim_run(sim, 1);
    expect_taken(sim, 0, stream, 2, 7);
}

/* PROTOCOL 4.2: "nothing new" is an answer, so the wave behind it is not
 * paired with the wrong one. */
SCENARIO(nothing_new_is_an_answer, TREE)
{
    uint32_t stream = sim_open_filter(sim, "int_union");

    for (int i = 0; i < 2; i++) {
        sim_send_set(sim, 2, stream, 5);
        sim_send_set(sim, 3, stream, 5);
        sim_send_set(sim, 4, stream, 5);
    }
    sim_run(sim, 10);
    sim_send_set(sim, 4, stream, 5);
    sim_send_set(sim, 3, stream, 6);
    sim_send_set(sim, 2, stream, 5);
    sim_run(sim, 10);
    expect_trace(
        sim, "[  2] 0 deliver stream 1 wave 1: \"%ad\" [5] (3 back-ends)\n"
             "[ 12] 0 deliver stream 1 wave 3: \"%ad\" [6] (3 back-ends)\n");
}

/* PROTOCOL 4.4: a wave that waits only for a child that dies goes at once, and
 * later waves go without it. */
SCENARIO(a_lost_child_is_not_waited_for, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_int(sim, 3, stream, 10);
    sim_send_int(sim, 2, stream, 100);
    sim_kill_at(sim, 4, 25);
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 2, stream, 2);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[ 27] 0 deliver stream 1 wave 1: \"%d\" 110 (2 back-ends)\n"
                 "[ 27] 0 told back-end lost 4\n"
                 "[ 52] 0 deliver stream 1 wave 2: \"%d\" 3 (2 back-ends)\n");
}

/* PROTOCOL 4.4: what it had delivered before it died keeps its place. */
SCENARIO(what_a_lost_child_sent_stays, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_int(sim, 4, stream, 1);
    sim_send_int(sim, 4, stream, 2);
    sim_send_int(sim, 2, stream, 100);
    sim_send_int(sim, 2, stream, 200);
    sim_send_int(sim, 2, stream, 300);
    sim_kill_at(sim, 4, 10);
    sim_run(sim, 20);
    for (int i = 1; i <= 3; i++)
        sim_send_int(sim, 3, stream, 10 * i);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[ 22] 0 deliver stream 1 wave 1: \"%d\" 111 (3 back-ends)\n"
                 "[ 22] 0 deliver stream 1 wave 2: \"%d\" 222 (3 back-ends)\n"
                 "[ 22] 0 deliver stream 1 wave 3: \"%d\" 330 (2 back-ends)\n");
}

/* PROTOCOL 4.4: a branch of several back-ends is not waited for either; they
 * come back by another, and count from the wave that they say. */
SCENARIO(a_lost_branch_is_not_waited_for, "0(1(3,4),2(5,6))")
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_int(sim, 3, stream, 10);
    sim_send_int(sim, 4, stream, 1);
    sim_send_int(sim, 5, stream, 100);
    sim_kill_at(sim, 2, 25);
    sim_run(sim, 50);
    expect_trace(sim,
                 "[ 26] 0 deliver stream 1 wave 1: \"%d\" 11 (2 back-ends)\n");
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 5, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 6, TELL_NODE_ADOPTED), 1);
}

/* PROTOCOL 4.3: a child without members takes no part. */
SCENARIO(a_node_without_members_takes_no_part, "0(1(3,4),2(5,6))")
{
    struct stream_definition definition = {.up_filter = (char[]){"sum"},
                                           .members = sim_ranks(2, 3, 5)};
    uint32_t stream = sim_open_defined(sim, &definition);

    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 5, stream, 2);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (2 back-ends)\n");
    CHECK_IS(sim_send(sim, 4, stream, 100, "%d", 1), -ENOENT);
    ranks_fini(&definition.members);
}

static void inject(struct sim *sim,
                   uint32_t from,
                   uint32_t to,
                   uint32_t stream,
                   uint64_t wave,
                   int value)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = FRAME_LAST,
        .stream = stream,
        .tag = 100,
        .origin = from,
        .count = 1,
        .sequence = wave,
    };

    CHECK_OK(packet_pack(&frame.payload, "%d", value));
    sim_inject(sim, from, to, &frame);
}

/* PROTOCOL 4.5: a packet whose wave has gone passes straight up, alone, and
 * says that it is late; it disturbs no wave. */
SCENARIO(a_late_packet_says_so, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_all(sim, stream, 2, 4, 1);
    sim_run(sim, 10);
    inject(sim, 3, 1, stream, 1, 77);
    sim_run(sim, 10);
    sim_send_all(sim, stream, 2, 4, 2);
    sim_run(sim, 10);
    expect_trace(
        sim, "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (3 back-ends)\n"
             "[ 12] 0 deliver stream 1 wave 1 late: \"%d\" 77 (1 back-end)\n"
             "[ 22] 0 deliver stream 1 wave 2: \"%d\" 6 (3 back-ends)\n");
}

/* PROTOCOL 4.3b: a stream of waves only does not deliver it, and the next sync
 * says so, once. */
SCENARIO(a_late_packet_is_withheld, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .waves_only = true);

    sim_send_all(sim, stream, 2, 4, 1);
    sim_run(sim, 10);
    inject(sim, 3, 1, stream, 1, 77);
    sim_run(sim, 10);
    sim_send_all(sim, stream, 2, 4, 2);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (3 back-ends)\n"
                 "[ 22] 0 deliver stream 1 wave 2: \"%d\" 6 (3 back-ends)\n");
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_about(TELL_SYNCED), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_about(TELL_SYNCED), 0);
}

/* PROTOCOL 4.3b: of waves 2 and 3 nothing is left, as the commnode dies that
 * has them. Both are delivered without values, before wave 4. */
SCENARIO(a_lost_wave_has_its_place, "0(1(2,3))")
{
    uint32_t stream = sim_open_filter(sim, "sum", .waves_only = true);

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_all(sim, stream, 2, 3, 1);
    sim_run(sim, 10);
    for (int i = 2; i <= 3; i++)
        sim_send_all(sim, stream, 2, 3, i);
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 90);
    sim_send_all(sim, stream, 2, 3, 4);
    sim_run(sim, 10);
    expect(sim, "0 deliver stream 1 wave 1: \"%d\" 2 (2 back-ends)");
    expect(sim, "0 deliver stream 1 wave 3: lost, and 1 before it");
    expect(sim, "0 deliver stream 1 wave 4: \"%d\" 8 (2 back-ends)");
    CU_ASSERT(sim_line_ms(sim, "wave 3") < 100);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 4.3b, 3.4: lost waves wait like packets while the application takes
 * none, whatever numbers a child names. */
SCENARIO(lost_waves_are_bounded, "0(1(2))")
{
    uint32_t stream = sim_open_filter(sim, "sum", .waves_only = true);
    size_t most = LIMIT_WINDOW_MAX / FRAME_HEADER_LEN;

    sim_trace_only(sim, 0);
    sim_by_hand(sim, 0);
    for (uint64_t level = 1; level < most + 1000; level++) {
        struct frame frame = msg_resume_encode(&(struct msg_resume){
            .stream = stream,
            .sender = 1,
            .level = level,
        });

        sim_inject(sim, 1, 0, &frame);
    }
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_waiting_on(sim, 0, stream), most);
    CHECK_IS(sim_receive(sim, 0, stream), 1);
    CU_ASSERT_EQUAL(sim_waiting_on(sim, 0, stream), most);
}

/* PROTOCOL 4.3b: so has one that is lost after its members have ended its epoch:
 * they have settled a marker when they come to another parent. Node 4 may still
 * answer, until it dies. */
SCENARIO(a_lost_wave_of_an_ended_epoch_has_its_place, "0(1(2,3),4)")
{
    uint32_t stream = sim_open_filter(sim, "sum", .waves_only = true);

    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_by_hand(sim, rank);
    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 10);
    for (uint32_t rank = 2; rank <= 3; rank++) {
        CHECK_IS(sim_receive(sim, rank, stream), 1);
        sim_send_int(sim, rank, stream, 1);
        CHECK_IS(sim_receive(sim, rank, stream), 0);
    }
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 90);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 deliver stream 1"), 0);
    sim_kill_at(sim, 4, 0);
    sim_run(sim, 90);
    expect(sim, "0 deliver stream 1 wave 1: lost");
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CU_ASSERT_EQUAL(sim_code(TELL_SYNCED), 1);
}

/* PROTOCOL 4.3b: so has one that is lost while the front-end is in a filter call
 * for the wave before, and whose members have settled a marker meanwhile. */
SCENARIO(a_lost_wave_has_its_place_behind_a_filter_call, "0(1(3),2(4))")
{
    uint32_t stream = sim_open_filter(sim, "sum", .waves_only = true);

    sim_by_hand(sim, 3);
    sim_by_hand(sim, 4);
    for (int i = 1; i <= 2; i++) {
        sim_send_int(sim, 0, stream, i);
        if (i == 2)
            CHECK_OK(sim_sync(sim, stream, NULL));
        sim_run(sim, 10);
        sim_set_filter_ms(sim, 0, 300);
        for (uint32_t rank = 3; rank <= 4; rank++) {
            CHECK_IS(sim_receive(sim, rank, stream), 1);
            sim_send_int(sim, rank, stream, i);
            CHECK_IS(sim_receive(sim, rank, stream), 0);
        }
        if (i == 1)
            sim_run(sim, 10);
    }
    sim_trace(sim, SIM_TRACE_DELIVER);
    sim_kill_at(sim, 1, 0);
    sim_kill_at(sim, 2, 0);
    sim_run(sim, 800);
    CU_ASSERT_EQUAL(sim_code(TELL_SYNCED), 1);
    sim_set_filter_ms(sim, 0, 0);
    sim_send_all(sim, stream, 3, 4, 3);
    sim_run(sim, 10);
    expect(sim, "0 deliver stream 1 wave 1: \"%d\" 2 (2 back-ends)");
    expect(sim, "0 deliver stream 1 wave 2: lost");
    expect(sim, "0 deliver stream 1 wave 1.1: \"%d\" 6 (2 back-ends)");
    CU_ASSERT(sim_line_ms(sim, "wave 1:") <= sim_line_ms(sim, "wave 2:"));
}

/* PROTOCOL 4.3b: a compensation is withheld, too, if it brings anything. The
 * state of the filter has all. */
SCENARIO(a_compensation_is_withheld, "0(1(2,3),4)")
{
    uint32_t stream = sim_open_filter(sim, "int_union", .waves_only = true);

    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_send_set(sim, rank, stream, (int)rank);
    sim_kill_at(sim, 1, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_lines(sim, "deliver"), 1);
    expect(sim, "0 deliver stream 1 wave 1: \"%ad\" [4] (1 back-end)");
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_about(TELL_SYNCED), 2);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 4.3b: a wave is lost, and the compensation brings nothing new: the
 * sync says so without a link, and without a packet that came too late. */
SCENARIO(a_lost_wave_alone_is_a_loss, "0(1(2,3))")
{
    uint32_t stream = sim_open_filter(sim, "int_union", .waves_only = true);

    for (int i = 0; i < 2; i++) {
        sim_send_set(sim, 2, stream, 5);
        sim_send_set(sim, 3, stream, 5);
        if (i == 0)
            sim_run(sim, 10);
    }
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 100);
    expect(sim, "0 deliver stream 1 wave 2: lost");
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CU_ASSERT_EQUAL(sim_about(TELL_SYNCED), 0);
    CU_ASSERT_EQUAL(node_losers(sim_node(sim, 0), stream)->count, 0);
}

/* PROTOCOL 4.3b, 12.3: what a joiner sends before it settles a marker is late
 * and withheld, but no loss. */
SCENARIO(a_joiner_is_no_loss, TREE)
{
    uint32_t stream =
        sim_open_filter(sim, "int_union", .waves_only = true, .grow = true);
    uint32_t joiner = sim_attach(sim, 1);

    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_by_hand(sim, 5);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 20);
    sim_send_set(sim, 5, stream, 5);
    sim_run(sim, 20);
    CHECK_IS(sim_receive(sim, joiner, stream), 1);
    CHECK_IS(sim_receive(sim, joiner, stream), 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    for (uint32_t rank = 2; rank <= 5; rank++)
        sim_send_set(sim, rank, stream, 6);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 1);
    expect(sim, "(4 back-ends)");
}

/* PROTOCOL 4.5: a number answers all lower ones. */
SCENARIO(a_number_answers_all_lower_ones, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (int i = 1; i <= 3; i++) {
        sim_send_int(sim, 2, stream, i);
        sim_send_int(sim, 4, stream, 10 * i);
    }
    inject(sim, 3, 1, stream, 3, 100);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 11 (2 back-ends)\n"
                 "[  2] 0 deliver stream 1 wave 2: \"%d\" 22 (2 back-ends)\n"
                 "[  2] 0 deliver stream 1 wave 3: \"%d\" 133 (3 back-ends)\n");
}

/* PROTOCOL 2.4: an empty packet is a packet, and its sender is counted. */
SCENARIO(a_packet_without_values_counts, TREE)
{
    uint32_t stream = sim_open_filter(sim, "count");

    for (uint32_t rank = 2; rank <= 4; rank++)
        CHECK_OK(sim_send(sim, rank, stream, 100, ""));
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%ud\" 3 (3 back-ends)\n");
}
