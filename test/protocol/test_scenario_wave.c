/* test_scenario_wave.c - waves, seen from the front-end (PROTOCOL 4). */
#include "test/sim/script.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 4.3: the n-th packet of one meets the n-th of the others, however
 * early it came. */
TEST(the_nth_meets_the_nth)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    SIM_SEND(sim, 3, stream, 10);
    SIM_SEND(sim, 3, stream, 20);
    SIM_SEND(sim, 4, stream, 1);
    SIM_SEND(sim, 2, stream, 100);
    SIM_SEND(sim, 2, stream, 200);
    SIM_RUN(sim, 10);
    SIM_SEND(sim, 4, stream, 2);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%d\" 111 (3 back-ends)\n"
              "[ 12] 0 deliver stream 1 wave 2: \"%d\" 222 (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 4.6: without waiting, each packet goes up alone and at once. */
TEST(nobody_waits_where_none_is_to)
{
    struct sim *sim = SIM_TREE(TREE);
    char sum[] = "sum";
    struct stream_definition definition = {.up_filter = sum,
                                           .sync = COP_DO_NOT_WAIT};
    uint32_t stream = script_open(sim, &definition);

    SIM_SEND(sim, 3, stream, 10);
    SIM_RUN(sim, 2);
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 1);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 10);
    SIM_SEND(sim, 3, stream, 20);
    SIM_SEND(sim, 4, stream, 1);
    SIM_RUN(sim, 2);
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 3);
    SIM_END(sim);
}

/* PROTOCOL 4.6: what came within the time goes up together, when it is over
 * and not a millisecond before; who comes later is in the next. */
TEST(a_time_out_gathers_what_came)
{
    struct sim *sim = SIM_TREE("0(1,2,3)");
    char sum[] = "sum";
    struct stream_definition definition = {
        .up_filter = sum, .sync = COP_TIME_OUT, .wave_timeout_ms = 20};
    uint32_t stream = script_open(sim, &definition);

    SIM_SEND(sim, 1, stream, 10);
    SIM_RUN(sim, 10);
    SIM_SEND(sim, 2, stream, 5);
    SIM_RUN(sim, 10); /* 20: the first came at 1 */
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 0);
    SIM_RUN(sim, 1);
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 1);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 15);
    SIM_SEND(sim, 3, stream, 7);
    SIM_RUN(sim, 20);
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 1);
    SIM_RUN(sim, 1);
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 2);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 7);
    SIM_END(sim);
}

static void send_set(struct sim *sim, uint32_t rank, uint32_t stream, int value)
{
    int32_t set[1] = {value};

    CHECK_OK(sim_send(sim, script_at(sim, rank), stream, 100, "%ad", set,
                      (uint32_t)1));
}

/* PROTOCOL 4.2: "nothing new" is an answer, so the wave behind it is not
 * paired with the wrong one. */
TEST(nothing_new_is_an_answer)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "int_union");

    for (int i = 0; i < 2; i++) {
        send_set(sim, 2, stream, 5);
        send_set(sim, 3, stream, 5);
        send_set(sim, 4, stream, 5);
    }
    SIM_RUN(sim, 10);
    send_set(sim, 4, stream, 5);
    send_set(sim, 3, stream, 6);
    send_set(sim, 2, stream, 5);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%ad\" [5] (3 back-ends)\n"
              "[ 12] 0 deliver stream 1 wave 3: \"%ad\" [6] (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 4.4: a wave that waits only for a child that dies goes at once, and
 * later waves go without it. */
TEST(a_lost_child_is_not_waited_for)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    SIM_SEND(sim, 3, stream, 10);
    SIM_SEND(sim, 2, stream, 100);
    SIM_KILL_AT(sim, 4, 25);
    SIM_RUN(sim, 50);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 1);
    sim_trace_only(sim, SIM_TRACE_DELIVER);
    SIM_SEND(sim, 3, stream, 1);
    SIM_SEND(sim, 2, stream, 2);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim, "[ 27] 0 deliver stream 1 wave 1: \"%d\" 110 (2 back-ends)\n"
                   "[ 27] 0 told back-end lost 4\n"
                   "[ 52] 0 deliver stream 1 wave 2: \"%d\" 3 (2 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 4.4: what it had delivered before it died keeps its place. */
TEST(what_a_lost_child_sent_stays)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    SIM_SEND(sim, 4, stream, 1);
    SIM_SEND(sim, 4, stream, 2);
    SIM_SEND(sim, 2, stream, 100);
    SIM_SEND(sim, 2, stream, 200);
    SIM_SEND(sim, 2, stream, 300);
    SIM_KILL_AT(sim, 4, 10);
    SIM_RUN(sim, 20);
    for (int i = 1; i <= 3; i++)
        SIM_SEND(sim, 3, stream, 10 * i);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[ 22] 0 deliver stream 1 wave 1: \"%d\" 111 (3 back-ends)\n"
              "[ 22] 0 deliver stream 1 wave 2: \"%d\" 222 (3 back-ends)\n"
              "[ 22] 0 deliver stream 1 wave 3: \"%d\" 330 (2 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 4.4: a branch of several back-ends is not waited for either; they
 * come back by another, and count from the wave that they say. */
TEST(a_lost_branch_is_not_waited_for)
{
    struct sim *sim = SIM_TREE("0(1(3,4),2(5,6))");
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    SIM_SEND(sim, 3, stream, 10);
    SIM_SEND(sim, 4, stream, 1);
    SIM_SEND(sim, 5, stream, 100);
    SIM_KILL_AT(sim, 2, 25);
    SIM_RUN(sim, 50);
    SIM_TRACE(sim,
              "[ 26] 0 deliver stream 1 wave 1: \"%d\" 11 (2 back-ends)\n");
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(script_told(sim, 5, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(script_told(sim, 6, TELL_NODE_ADOPTED), 1);
    SIM_END(sim);
}

/* PROTOCOL 4.3: a child without members takes no part. */
TEST(who_has_no_member_takes_no_part)
{
    struct sim *sim = SIM_TREE("0(1(3,4),2(5,6))");
    char sum[] = "sum";
    struct stream_definition definition = {.up_filter = sum,
                                           .members = script_ranks(2, 3, 5)};
    uint32_t stream = script_open(sim, &definition);

    SIM_SEND(sim, 3, stream, 1);
    SIM_SEND(sim, 5, stream, 2);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim, "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (2 back-ends)\n");
    CHECK_IS(sim_send(sim, script_at(sim, 4), stream, 100, "%d", 1), -ENOENT);
    ranks_fini(&definition.members);
    SIM_END(sim);
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
    sim_inject(sim, script_at(sim, from), script_at(sim, to), &frame);
}

/* PROTOCOL 4.5: a packet whose wave has gone passes straight up, alone, and
 * says that it is late; it disturbs no wave. */
TEST(who_comes_late_says_so)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 1);
    SIM_RUN(sim, 10);
    inject(sim, 3, 1, stream, 1, 77);
    SIM_RUN(sim, 10);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 2);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (3 back-ends)\n"
              "[ 12] 0 deliver stream 1 wave 1 late: \"%d\" 77 (1 back-end)\n"
              "[ 22] 0 deliver stream 1 wave 2: \"%d\" 6 (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 4.5: a number answers all lower ones. */
TEST(a_number_answers_all_lower_ones)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    for (int i = 1; i <= 3; i++) {
        SIM_SEND(sim, 2, stream, i);
        SIM_SEND(sim, 4, stream, 10 * i);
    }
    inject(sim, 3, 1, stream, 3, 100);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%d\" 11 (2 back-ends)\n"
              "[  2] 0 deliver stream 1 wave 2: \"%d\" 22 (2 back-ends)\n"
              "[  2] 0 deliver stream 1 wave 3: \"%d\" 133 (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 2.4: an empty packet is a packet, and its sender is counted. */
TEST(a_packet_without_values_counts)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "count");

    for (uint32_t rank = 2; rank <= 4; rank++)
        CHECK_OK(sim_send(sim, script_at(sim, rank), stream, 100, ""));
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%ud\" 3 (3 back-ends)\n");
    SIM_END(sim);
}

int main(void)
{
    return check_run("waves");
}
