/* test_scenario_poison.c - filters that crash or hang in every node that gets
 * the same packet (PROTOCOL 11.5). */
#include "test/sim/scenario.h"

#define POISON 666

/* Whether a call's input has POISON: as a sample's value, or in a state. */
static bool has_poison(struct sim *sim,
                       uint32_t index,
                       const struct node_call *call,
                       void *arg)
{
    bool found = false;

    (void)sim;
    (void)index;
    (void)arg;
    for (size_t i = 0; i < call->input_count && !found; i++) {
        struct cop_packet *packet = NULL;
        const int *values;
        uint32_t count;
        int value;

        if (packet_open(&packet, call->inputs[i].payload) < 0)
            continue;
        if (cop_packet_unpack(packet, "%d", &value) == 0)
            found = value == POISON;
        else if (cop_packet_unpack(packet, "%ad", &values, &count) == 0)
            for (uint32_t k = 0; k < count; k++)
                found |= values[k] == POISON;
        cop_packet_free(packet);
    }
    return found;
}

/* Calls end after a second, and those that take POISON in crash their node. */
#define POISONED(name, tree)                                                   \
    SCENARIO(name, tree, .times = {.filter_timeout_ms = 1000},                 \
             .poison = has_poison)

static unsigned alive_count(struct sim *sim)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < sim_count(sim); i++)
        count += sim_is_alive(sim, i);
    return count;
}

#define TREE "0(1(5,6),2(7,8),3(9,10),4(11,12))"

/* PROTOCOL 11.5, 16.13, 16_13_poison: a stream of whole waves would put out the
 * packet again and again. It fails at the first crash that is reported, and the
 * tree lives. (Crashes without a report: too_many_redos_end_the_stream.) */
POISONED(scenario_16_13_poison, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_WAVES);
    uint32_t other = sim_open_filter(sim, "sum");

    for (uint32_t rank = 5; rank <= 12; rank++)
        sim_send_int(sim, rank, stream, rank == 5 ? POISON : 1);
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(alive_count(sim), 12);
    CU_ASSERT_FALSE(sim_is_alive(sim, 1));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 1);
    sim_send_all(sim, other, 5, 12, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, other), 8);
}

/* PROTOCOL 11.5: the orphan's packed state would crash each adopter and, in the
 * end, the tool. The stream fails at the first crash: one node is lost. The
 * event names node, stream, wave and signal; another stream goes on. */
POISONED(a_state_that_crashes_every_adopter, TREE)
{
    uint32_t stream = sim_open_filter(sim, "int_union");
    uint32_t other = sim_open_filter(sim, "int_union");

    sim_send_set(sim, 5, stream, 1);
    sim_send_set(sim, 6, stream, 2);
    sim_run(sim, 10);
    sim_send_set(sim, 5, stream, POISON);
    sim_send_set(sim, 6, stream, 4);
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(alive_count(sim), 12);
    CU_ASSERT_FALSE(sim_is_alive(sim, 1));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 0);
    CU_ASSERT_EQUAL(sim_about(TELL_STREAM_FAILED), 1);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_STREAM_FAILED),
                           "it has ended: filter \"int_union\" of stream 1 "
                           "crashed with signal 11 in wave 2 of epoch 0");
    for (uint32_t rank = 5; rank <= 12; rank++)
        CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_CLOSED), 1);
    CU_ASSERT_EQUAL(sim_send(sim, 5, stream, 100, "%d", 1), -ENOENT);
    CU_ASSERT_EQUAL(sim_sync(sim, stream, NULL), -ENOENT);
    for (uint32_t rank = 5; rank <= 12; rank++)
        sim_send_set(sim, rank, other, (int)rank);
    CU_ASSERT_EQUAL(sim_sync_now(sim, other), 0);
}

/* The same of a wave on a stream whose filter has no state, in a tree with two
 * levels of commnodes. */
POISONED(a_wave_that_crashes_its_node,
         "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))")
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint32_t other = sim_open_filter(sim, "sum");

    for (uint32_t rank = 7; rank <= 14; rank++)
        sim_send_int(sim, rank, stream, rank == 9 ? POISON : 1);
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(alive_count(sim), 14);
    expect_told(sim, STREAM_FAILED, 1, 4);
    sim_send_all(sim, other, 7, 14, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, other), 8);
}

/* PROTOCOL 11.5: packets that are not stable are sent again to each adopted
 * child. The stream is gone before they reach the nodes below. */
POISONED(a_packet_that_crashes_on_its_way_down,
         "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))")
{
    struct stream_definition definition = {.down_filter = (char[]){"max"}};
    uint32_t stream = sim_open_defined(sim, &definition);

    sim_by_hand(sim, 14); /* no packet becomes stable */
    CHECK_OK(sim_send(sim, 0, stream, 100, "%d", 1));
    CHECK_OK(sim_send(sim, 0, stream, 100, "%d", POISON));
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(alive_count(sim), 13); /* 1 and 2 got it at the same time */
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
}

/* PROTOCOL 11.5: a node that is killed in the middle of a filter call is no
 * reason to end a stream. */
POISONED(a_kill_during_a_call_is_not_the_filters, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (uint32_t node = 1; node <= 3; node++) {
        for (uint32_t rank = 1; rank <= 4; rank++)
            if (sim_is_alive(sim, rank))
                sim_set_filter_ms(sim, rank, 500);
        sim_send_all(sim, stream, 5, 12, 1);
        sim_run(sim, 100);
        sim_crash(sim, node);
        sim_run(sim, 60000);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 0);
    CU_ASSERT_EQUAL(sim_sync_now(sim, stream), 1);
    sim_send_all(sim, stream, 5, 12, 1);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 8);
}

/* PROTOCOL 11.5: a report that reaches an orphan goes no further. The next crash
 * is reported. */
POISONED(a_report_that_is_lost, "0(1(2(3(7,8),4(9,10)),5(11,12)),6(13,14))")
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_crash(sim, 1);
    sim_run(sim, 1);
    sim_send_all(sim, stream, 7, 8, POISON);
    sim_run(sim, 60000);
    CU_ASSERT_FALSE(sim_is_alive(sim, 3));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 0);
    sim_send_all(sim, stream, 9, 10, POISON);
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 1);
}

/* PROTOCOL 11.5: of a filter that hangs, the second node is the last. */
POISONED(a_call_that_hangs_at_every_adopter, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (uint32_t node = 1; node <= 2; node++) {
        sim_set_filter_ms(sim, node, 1000000);
        sim_send_all(sim, stream, 5, 12, 1);
        sim_run(sim, 60000);
        CU_ASSERT(sim_has_exited(sim, node));
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), node);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), node - 1);
    }
    CU_ASSERT_PTR_NOT_NULL(
        strstr(sim_text(TELL_STREAM_FAILED),
               "a filter of stream 1 has hung in a second node, so the stream "
               "has ended: node 2: "));
    CU_ASSERT_EQUAL(alive_count(sim), 11);
}

/* A stream that fails while it opens: the opening fails. */
POISONED(an_opening_ends_with_its_stream, TREE)
{
    struct stream_definition definition = {.up_filter = (char[]){"sum"}};
    uint32_t stream;

    sim_freeze(sim, 12, 3000);
    CHECK_OK(sim_ask_defined(sim, &definition, &stream));
    sim_run(sim, 100);
    sim_send_int(sim, 5, stream, POISON);
    sim_send_int(sim, 6, stream, 1);
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CU_ASSERT_EQUAL(sim_code(TELL_OPENED), -EIO);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 1);
    CU_ASSERT_EQUAL(alive_count(sim), 12);
}

/* A node whose own call of the stream runs when the stream fails: it removes
 * the stream when the call returns, and nobody calls the filter again. */
POISONED(a_call_that_is_out_when_its_stream_fails, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 2, 500);
    for (int wave = 0; wave < 2; wave++)
        for (uint32_t rank = 5; rank <= 12; rank++)
            sim_send_int(sim, rank, stream, rank == 5 ? POISON : 1);
    sim_trace(sim, SIM_TRACE_FILTER);
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 1);
    CU_ASSERT_EQUAL(sim_lines(sim, "] 2 *stream 1"), 1);
    CU_ASSERT_EQUAL(alive_count(sim), 12);
}
