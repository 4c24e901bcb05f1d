/* test_scenario_filter.c - filters that fail, are slow, or differ by role
 * (PROTOCOL 5). */
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 5.3: a filter that fails is an event that names the node, and the
 * wave goes without the failed part. */
SCENARIO(a_failure_is_an_event, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    CHECK_OK(sim_send(sim, 3, stream, 100, "%s", "text"));
    sim_send_int(sim, 4, stream, 1);
    sim_send_int(sim, 2, stream, 100);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT(strstr(sim_text(TELL_FILTER_ERROR), "sum") != NULL);
    sim_send_all(sim, stream, 2, 4, 5);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 100 (1 back-end)\n"
                 "[ 12] 0 deliver stream 1 wave 2: \"%d\" 15 (3 back-ends)\n");
}

/* PROTOCOL 2.4: the front-end's filter is called with what is there, and a failed
 * call counts none of its back-ends, with or without a guarantee. */
SCENARIO(a_failed_call_counts_nobody, "0(1(3,4),2(5,6))")
{
    for (unsigned exact = 0; exact < 2; exact++) {
        uint32_t stream = sim_open_filter(
            sim, "avg", .kind = exact ? STREAM_WAVES : STREAM_PLAIN);

        sim_trace_only(sim, SIM_TRACE_DELIVER);
        CHECK_OK(sim_send(sim, 3, stream, 100, "%lf", 1.));
        sim_send_int(sim, 4, stream, 1);
        sim_send_int(sim, 5, stream, 100);
        sim_send_int(sim, 6, stream, 102);
        sim_run(sim, 10);
        expect(sim, "wave 1: \"%d\" 101 (2 back-ends)");
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1 + exact);
        CHECK_IS(sim_sync_now(sim, stream), 0);
    }
}

/* PROTOCOL 5.1: a filter may compute longer than a node may be silent; its
 * node's heartbeats go on, and no node is lost. */
SCENARIO(a_slow_filter_stops_no_heartbeat, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 1, 10000);
    sim_send_all(sim, stream, 2, 4, 5);
    sim_run(sim, 20000);
    expect_trace(
        sim, "[10002] 0 deliver stream 1 wave 1: \"%d\" 15 (3 back-ends)\n");
}

/* PROTOCOL 5.1: after `filter_timeout` a commnode ends. An event names stream
 * and node, its children find another parent, other streams continue, and a
 * sync reports the possible loss. */
TEST(a_call_of_a_commnode_has_an_end)
{
    struct sim *sim = sim_launch(TREE, .times = {.filter_timeout_ms = 1000});
    uint32_t stream = sim_open_filter(sim, "sum");
    uint32_t other = sim_open_filter(sim, "max");

    sim_set_filter_ms(sim, 1, 1000000);
    sim_send_all(sim, stream, 2, 4, 5);
    sim_run(sim, 1001);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 0);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT(strstr(sim_text(TELL_FILTER_ERROR), "node 1") != NULL);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT(sim_has_exited(sim, 1));
    sim_run(sim, 9000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_send_int(sim, rank, other, (int)rank);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, other), 4);
    CU_ASSERT_EQUAL(sim_sync_now(sim, stream), 1);
    sim_send_all(sim, stream, 2, 4, 6);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 18);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
    sim_end(sim);
}

/* PROTOCOL 5.1: front-end and back-ends do not end: the wave continues without
 * the call, and the late result is dropped. */
TEST(a_call_of_an_end_has_an_end)
{
    struct sim *sim = sim_launch(TREE, .times = {.filter_timeout_ms = 1000});
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 0, 5000);
    sim_send_all(sim, stream, 2, 4, 5);
    sim_run(sim, 1500);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT(strstr(sim_text(TELL_FILTER_ERROR), "node 0") != NULL);
    sim_set_filter_ms(sim, 0, 0);
    sim_run(sim, 9000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    sim_send_all(sim, stream, 2, 4, 6);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 18);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    sim_end(sim);
}

/* PROTOCOL 6.2: a node that was stopped during a call does not end because of
 * it: the time of the stop does not count. */
TEST(a_stop_is_not_the_time_of_a_call)
{
    struct sim *sim = sim_launch(TREE, .times = {.filter_timeout_ms = 7000});
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 1, 8000);
    sim_send_all(sim, stream, 2, 4, 5);
    sim_run(sim, 4000);
    sim_freeze(sim, 1, LIMIT_FAILURE_TIMEOUT_MS - 100);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 15);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 0);
    sim_end(sim);
}

/* PROTOCOL 5.1, 6.2: a front-end without links still notices that a call does
 * not return. */
TEST(a_call_has_an_end_without_links)
{
    struct sim *sim =
        sim_launch("0(1,2)", .times = {.filter_timeout_ms = 6000});
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 0, 1000000);
    sim_send_int(sim, 1, stream, 5);
    sim_send_int(sim, 2, stream, 5);
    sim_run(sim, 100);
    sim_crash(sim, 1);
    sim_crash(sim, 2);
    sim_run(sim, 7000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 1);
    sim_end(sim);
}

/* PROTOCOL 5.1: one call at a time in a node; other streams' wait in order.
 * (The world itself fails at a second one.) */
SCENARIO(calls_wait_for_each_other, TREE)
{
    uint32_t first = sim_open_filter(sim, "sum");
    uint32_t second = sim_open_filter(sim, "max");

    sim_set_filter_ms(sim, 1, 100);
    for (int i = 0; i < 2; i++) {
        for (uint32_t rank = 2; rank <= 4; rank++) {
            sim_send_int(sim, rank, first, (int)rank);
            sim_send_int(sim, rank, second, (int)rank);
        }
    }
    sim_trace_from_here(sim);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, first), 2);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, second), 2);
    CU_ASSERT_EQUAL(sim_last(sim, 0, first), 9);
    CU_ASSERT_EQUAL(sim_last(sim, 0, second), 4);
}

/* PROTOCOL 3.1b: parameters that were set behind a marker are in force for the
 * packet behind both, though all came while the filter computed. */
SCENARIO(parameters_keep_their_place, TREE)
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    CHECK_OK(sim_parameters(sim, stream, "%d", 6));
    sim_run(sim, 10);
    sim_trace_only(sim, SIM_TRACE_FILTER);
    sim_set_filter_ms(sim, 1, 100);
    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    CHECK_OK(sim_parameters(sim, stream, "%d", 7));
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 1000);
    CU_ASSERT(sim_lines(sim, " 1 filter down stream 1 wave 1: from "
                             "0, with \"%d\" 6,") > 0);
    CU_ASSERT(sim_lines(sim, " 1 filter down stream 1 wave 3: from "
                             "0, with \"%d\" 7,") > 0);
}

/* ---- `init` (PROTOCOL 3.2) ---- */

/* Ask to open a stream with the filter "histogram" and these parameters. */
static uint32_t ask_histogram(struct sim *sim, double lowest, double highest)
{
    struct payload *parameters = NULL;
    uint32_t stream = 0;

    CHECK_OK(packet_pack(&parameters, "%lf %lf %ud", lowest, highest, 2u));
    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"histogram"},
                          .sync = COP_WAIT_FOR_ALL, .grow = true,
                          .parameters = parameters));
    payload_free(parameters);
    sim_wait(sim, 0, TELL_OPENED);
    return stream;
}

/* PROTOCOL 3.2: `init` runs in every node while the stream is opened, with its
 * parameters. If it fails, the opening does, with the filter's sentence. */
SCENARIO(a_filter_refuses_its_parameters, TREE)
{
    ask_histogram(sim, 5, 5);
    CHECK_IS(sim_code(TELL_OPENED), -ELIBBAD);
    CU_ASSERT(sim_about(TELL_OPENED) >= 2);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(sim_text(TELL_OPENED), "histogram: the stream's parameters "));
    ask_histogram(sim, 5, 6);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 0);
}

/* PROTOCOL 3.2: parameters that the filters refuse later are an event of each
 * node that refuses them, at once; the old ones stay. */
SCENARIO(new_parameters_are_refused, TREE)
{
    uint32_t stream = ask_histogram(sim, 0, 10);

    CHECK_OK(sim_parameters(sim, stream, "%lf %lf %ud", 3., 2., 2u));
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(sim_text(TELL_FILTER_ERROR), "these stay"));
    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_all(sim, stream, 2, 4, 7);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 3);
    expect(sim, "\"%lf %lf %auld\" 0 10 [0, 0, 3, 0, ");
    CHECK_OK(sim_parameters(sim, stream, "%lf %lf %ud", 0., 5., 2u));
    sim_run(sim, 10);
    sim_trace_only(sim, SIM_TRACE_DELIVER);
    sim_send_all(sim, stream, 2, 4, 7);
    sim_run(sim, 10);
    expect(sim, "\"%lf %lf %auld\" 0 5 [0, 0, 0, 3, ");
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_FILTER_ERROR), 3);
}

/* PROTOCOL 3.2, 12.3: `init` that fails in a back-end that joins later is an
 * event, for each of them. */
SCENARIO(a_joiner_refuses_its_parameters, TREE)
{
    uint32_t stream = ask_histogram(sim, 0, 10);

    CHECK_OK(sim_parameters(sim, stream, "%lf %lf %ud", 3., 2., 2u));
    sim_run(sim, 10);
    sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_run(sim, 100);
    expect_told(sim, FILTER_ERROR, 4, 5);
    sim_attach(sim, 0);
    sim_run(sim, 2000);
    expect_told(sim, FILTER_ERROR, 5, 6);
}

/* PROTOCOL 3.2, 5.1: `init` may take long; no node is lost, and the stream opens
 * behind it. A packet that is sent meanwhile waits. */
SCENARIO(init_may_take_long, TREE)
{
    uint32_t stream = 0;

    sim_set_filter_ms(sim, 1, 5000);
    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"sum"},
                          .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, 10);
    sim_send_int(sim, 2, stream, 1);
    sim_run(sim, 4980);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 0);
    sim_set_filter_ms(sim, 1, 0);
    sim_run(sim, 20);
    expect_told(sim, OPENED, 1, 0);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 4, stream, 1);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 3);
}

/* PROTOCOL 3.2: `init` of node `rank` does not return. The opening ends with
 * `code` at `filter_ms`, or at open_timeout if that is earlier, and the stream
 * leaves nothing behind. */
static void hang_in_init(uint32_t rank, uint32_t filter_ms, int code)
{
    struct sim *sim = sim_launch(TREE, .times = {.filter_timeout_ms = filter_ms,
                                                 .open_timeout_ms = 2000});
    uint32_t stream = 0, other;

    sim_set_filter_ms(sim, rank, 30000);
    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"sum"},
                          .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, (filter_ms < 2000 ? filter_ms : 2000) - 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 0);
    sim_run(sim, 10);
    expect_told(sim, OPENED, 1, code == -ETIMEDOUT ? 0 : rank);
    CHECK_IS(sim_code(TELL_OPENED), code);
    if (code != -EIO) /* else it has failed everywhere */
        CHECK_OK(sim_close(sim, 0, stream));
    sim_set_filter_ms(sim, rank, 0);
    sim_run(sim, 40000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i))
            CU_ASSERT_PTR_NULL(node_members(sim_node(sim, i), stream));
    other = sim_open_filter(sim, "sum");
    sim_send_all(sim, other, 2, 4, 1);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, other), 3);
    sim_end(sim);
}

TEST(init_does_not_return)
{
    for (uint32_t rank = 0; rank < 3; rank++)
        hang_in_init(rank, 9000, -ETIMEDOUT);
    hang_in_init(0, 1000, -ELIBBAD);
    hang_in_init(1, 1000, -EIO);
    hang_in_init(2, 1000, -ELIBBAD);
}

/* PROTOCOL 5.1: what comes while the filter computes is not lost, and a
 * stream that is closed meanwhile closes. */
SCENARIO(a_stream_may_close_during_a_call, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint32_t other = sim_open_filter(sim, "sum");

    sim_set_filter_ms(sim, 1, 1000);
    sim_send_all(sim, stream, 2, 4, 5);
    sim_run(sim, 10);
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, 2000);
    sim_set_filter_ms(sim, 1, 0);
    sim_send_all(sim, other, 2, 4, 5);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, other), 15);
}

/* PROTOCOL 5.4: filters are named by role where they differ. */
SCENARIO(filters_differ_by_role, TREE)
{
    uint32_t stream =
        sim_open_stream(sim, .up_filter_frontend = (char[]){"sum"});

    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_send_int(sim, rank, stream, (int)rank);
    sim_run(sim, 10);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 9 (3 back-ends)\n");
}

/* PROTOCOL 5.5: a downstream filter runs on the way, one packet for one. */
SCENARIO(a_downstream_filter_runs_on_the_way, TREE)
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    sim_send_ints(sim, 0, stream, 1, 20);
    sim_run(sim, 50);
    for (uint32_t rank = 2; rank <= 4; rank++)
        expect_taken(sim, rank, stream, 20, 20);
}

/* PROTOCOL 5.5: one that is not one to one makes the stream not replayable:
 * packets pass, and a sync says so. */
SCENARIO(not_one_to_one_is_not_replayable, TREE)
{
    uint32_t stream =
        sim_open_stream(sim, .down_filter = (char[]){"int_union"});
    int32_t set[2] = {1, 2};

    for (int i = 0; i < 3; i++) {
        set[0] = i;
        CHECK_OK(sim_send(sim, 0, stream, 100, "%ad", set, (uint32_t)2));
    }
    sim_run(sim, 5000);
    CU_ASSERT(sim_taken(sim, 3, stream) > 0);
    CHECK_IS(sim_sync(sim, stream, NULL), -EOPNOTSUPP);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_EQUAL(node_held_bytes(sim_node(sim, i), stream), 0);
}

/* PROTOCOL 5.5, 3.1b: packets that a filter numbers anew do not keep a stream
 * from closing. */
SCENARIO(what_is_not_replayable_closes, TREE)
{
    uint32_t stream =
        sim_open_stream(sim, .down_filter = (char[]){"int_union"});
    int32_t set[2] = {1, 2};

    for (int i = 0; i < 3; i++) /* nothing new after the first packet */
        CHECK_OK(sim_send(sim, 0, stream, 100, "%ad", set, (uint32_t)2));
    sim_run(sim, 100);
    CU_ASSERT(sim_taken(sim, 3, stream) > 0);
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, 5000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_PTR_NULL(node_members(sim_node(sim, i), stream));
}
