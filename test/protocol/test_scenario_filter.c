/* test_scenario_filter.c - filters that fail, are slow, or differ by role
 * (PROTOCOL 5). */
#include "test/sim/script.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 5.3: a filter that fails is an event that names the node, and the
 * wave goes without the failed part. */
TEST(a_failure_is_an_event)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    CHECK_OK(sim_send(sim, script_at(sim, 3), stream, 100, "%s", "text"));
    SIM_SEND(sim, 4, stream, 1);
    SIM_SEND(sim, 2, stream, 100);
    SIM_RUN(sim, 10);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT(strstr(script_text(TELL_FILTER_ERROR), "sum") != NULL);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 5);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%d\" 100 (1 back-end)\n"
              "[ 12] 0 deliver stream 1 wave 2: \"%d\" 15 (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 5.1: a filter may compute longer than a node may be silent; its
 * node's heartbeats go on, and nobody is lost. */
TEST(a_slow_filter_stops_no_heartbeat)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_set_filter_ms(sim, script_at(sim, 1), 10000);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 5);
    SIM_RUN(sim, 20000);
    SIM_TRACE(sim,
              "[10002] 0 deliver stream 1 wave 1: \"%d\" 15 (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 5.1: after `filter_timeout` a commnode ends. An event names stream
 * and node, its children find another parent, other streams go on, and a sync
 * says that something was lost. */
TEST(a_call_of_a_commnode_has_an_end)
{
    struct sim_config config = {.trace = SCRIPT_TRACE,
                                .times = {.filter_timeout_ms = 1000}};
    struct sim *sim = script_tree(TREE, &config);
    uint32_t stream = SIM_OPEN(sim, "sum");
    uint32_t other = SIM_OPEN(sim, "max");

    sim_set_filter_ms(sim, script_at(sim, 1), 1000000);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 5);
    SIM_RUN(sim, 1001);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 0);
    SIM_RUN(sim, 100);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT(strstr(script_text(TELL_FILTER_ERROR), "node 1") != NULL);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT(sim_has_exited(sim, script_at(sim, 1)));
    SIM_RUN(sim, 9000);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_NODE_ADOPTED), 2);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 0);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, other, (int)rank);
    SIM_RUN(sim, 10);
    CU_ASSERT_EQUAL(script_last(sim, 0, other), 4);
    CU_ASSERT_EQUAL(script_sync(sim, stream), 1);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 6);
    SIM_RUN(sim, 10);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 18);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 1);
    SIM_END(sim);
}

/* PROTOCOL 5.1: at the front-end and at a back-end, which cannot end, the wave
 * goes without the call, and the late answer disturbs nothing. */
TEST(a_call_of_an_end_has_an_end)
{
    struct sim_config config = {.trace = SCRIPT_TRACE,
                                .times = {.filter_timeout_ms = 1000}};
    struct sim *sim = script_tree(TREE, &config);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_set_filter_ms(sim, script_at(sim, 0), 5000);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 5);
    SIM_RUN(sim, 1500);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT(strstr(script_text(TELL_FILTER_ERROR), "node 0") != NULL);
    sim_set_filter_ms(sim, script_at(sim, 0), 0);
    SIM_RUN(sim, 9000);
    CU_ASSERT_EQUAL(script_taken(sim, 0, stream), 0);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 6);
    SIM_RUN(sim, 10);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 18);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 1);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_NODE_LOST), 0);
    SIM_END(sim);
}

/* PROTOCOL 6.2: a node that was stopped in a call does not end because of it:
 * the time for which it stood still is not the call's. */
TEST(a_stop_is_not_the_time_of_a_call)
{
    struct sim_config config = {.trace = SCRIPT_TRACE,
                                .times = {.filter_timeout_ms = 7000}};
    struct sim *sim = script_tree(TREE, &config);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_set_filter_ms(sim, script_at(sim, 1), 8000);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 5);
    SIM_RUN(sim, 4000);
    sim_freeze(sim, script_at(sim, 1), LIMIT_FAILURE_TIMEOUT_MS - 100);
    SIM_RUN(sim, 5000);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 15);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 0);
    SIM_END(sim);
}

/* PROTOCOL 5.1, 6.2: a front-end that has lost all of its links still finds
 * that a call does not return. */
TEST(a_call_has_an_end_without_links)
{
    struct sim_config config = {.trace = SCRIPT_TRACE,
                                .times = {.filter_timeout_ms = 6000}};
    struct sim *sim = script_tree("0(1,2)", &config);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_set_filter_ms(sim, 0, 1000000);
    SIM_SEND(sim, 1, stream, 5);
    SIM_SEND(sim, 2, stream, 5);
    SIM_RUN(sim, 100);
    sim_crash(sim, script_at(sim, 1));
    sim_crash(sim, script_at(sim, 2));
    SIM_RUN(sim, 7000);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_FILTER_ERROR), 1);
    SIM_END(sim);
}

/* PROTOCOL 5.1: one call at a time in a node; other streams' wait in order.
 * (The world itself fails at a second one.) */
TEST(calls_wait_for_each_other)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t first = SIM_OPEN(sim, "sum");
    uint32_t second = SIM_OPEN(sim, "max");

    sim_set_filter_ms(sim, script_at(sim, 1), 100);
    for (int i = 0; i < 2; i++) {
        for (uint32_t rank = 2; rank <= 4; rank++) {
            SIM_SEND(sim, rank, first, (int)rank);
            SIM_SEND(sim, rank, second, (int)rank);
        }
    }
    sim_trace_from_here(sim);
    SIM_RUN(sim, 1000);
    CU_ASSERT_EQUAL(script_taken(sim, 0, first), 2);
    CU_ASSERT_EQUAL(script_taken(sim, 0, second), 2);
    CU_ASSERT_EQUAL(script_last(sim, 0, first), 9);
    CU_ASSERT_EQUAL(script_last(sim, 0, second), 4);
    SIM_END(sim);
}

/* PROTOCOL 3.1b: parameters that were set behind a marker are in force for the
 * packet behind both, though all came while the filter computed. */
TEST(parameters_keep_their_place)
{
    static char count[] = "count";
    struct sim *sim = SIM_TREE(TREE);
    struct stream_definition definition = {.down_filter = count};
    uint32_t stream = script_open(sim, &definition);

    CHECK_OK(sim_parameters(sim, stream, "%d", 6));
    SIM_RUN(sim, 10);
    sim_trace_only(sim, SIM_TRACE_FILTER);
    sim_set_filter_ms(sim, script_at(sim, 1), 100);
    SIM_SEND(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    CHECK_OK(sim_parameters(sim, stream, "%d", 7));
    SIM_SEND(sim, 0, stream, 2);
    SIM_RUN(sim, 1000);
    CU_ASSERT(strstr(sim_trace_text(sim),
                     " 1 filter down stream 1 wave 1: from "
                     "0, with \"%d\" 6,") != NULL);
    CU_ASSERT(strstr(sim_trace_text(sim),
                     " 1 filter down stream 1 wave 3: from "
                     "0, with \"%d\" 7,") != NULL);
    SIM_END(sim);
}

/* PROTOCOL 5.1: what comes while the filter computes is not lost, and a
 * stream that is closed meanwhile closes. */
TEST(a_stream_may_close_during_a_call)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");
    uint32_t other = SIM_OPEN(sim, "sum");

    sim_set_filter_ms(sim, script_at(sim, 1), 1000);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 5);
    SIM_RUN(sim, 10);
    CHECK_OK(sim_close(sim, 0, stream));
    SIM_RUN(sim, 2000);
    sim_set_filter_ms(sim, script_at(sim, 1), 0);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, other, 5);
    SIM_RUN(sim, 10);
    CU_ASSERT_EQUAL(script_last(sim, 0, other), 15);
    SIM_END(sim);
}

/* PROTOCOL 5.4: filters are named by role where they differ. */
TEST(filters_differ_by_role)
{
    struct sim *sim = SIM_TREE(TREE);
    char sum[] = "sum";
    struct stream_definition definition = {.up_filter_frontend = sum};
    uint32_t stream = script_open(sim, &definition);

    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, (int)rank);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim, "[  2] 0 deliver stream 1 wave 1: \"%d\" 9 (3 back-ends)\n");
    SIM_END(sim);
}

/* PROTOCOL 5.5: a downstream filter runs on the way, one packet for one. */
TEST(a_downstream_filter_runs_on_the_way)
{
    struct sim *sim = SIM_TREE(TREE);
    char count[] = "count";
    struct stream_definition definition = {.down_filter = count};
    uint32_t stream = script_open(sim, &definition);

    for (int i = 1; i <= 20; i++)
        SIM_SEND(sim, 0, stream, i);
    SIM_RUN(sim, 50);
    for (uint32_t rank = 2; rank <= 4; rank++) {
        CU_ASSERT_EQUAL(script_taken(sim, rank, stream), 20);
        CU_ASSERT_EQUAL(script_last(sim, rank, stream), 20);
    }
    SIM_END(sim);
}

/* PROTOCOL 5.5: one that is not one to one makes the stream not replayable:
 * packets pass, and a sync says so. */
TEST(not_one_to_one_is_not_replayable)
{
    struct sim *sim = SIM_TREE(TREE);
    char int_union[] = "int_union";
    struct stream_definition definition = {.down_filter = int_union};
    uint32_t stream = script_open(sim, &definition);
    int32_t set[2] = {1, 2};

    for (int i = 0; i < 3; i++) {
        set[0] = i;
        CHECK_OK(sim_send(sim, 0, stream, 100, "%ad", set, (uint32_t)2));
    }
    SIM_RUN(sim, 5000);
    CU_ASSERT(script_taken(sim, 3, stream) > 0);
    CHECK_IS(sim_sync(sim, stream, NULL), -EOPNOTSUPP);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_EQUAL(node_held_bytes(sim_node(sim, i), stream), 0);
    SIM_END(sim);
}

/* PROTOCOL 5.5, 3.1b: packets that a filter numbers anew do not keep a stream
 * from closing. */
TEST(what_is_not_replayable_closes)
{
    struct sim *sim = SIM_TREE(TREE);
    char int_union[] = "int_union";
    struct stream_definition definition = {.down_filter = int_union};
    uint32_t stream = script_open(sim, &definition);
    int32_t set[2] = {1, 2};

    for (int i = 0; i < 3; i++) /* nothing new after the first */
        CHECK_OK(sim_send(sim, 0, stream, 100, "%ad", set, (uint32_t)2));
    SIM_RUN(sim, 100);
    CU_ASSERT(script_taken(sim, 3, stream) > 0);
    CHECK_OK(sim_close(sim, 0, stream));
    SIM_RUN(sim, 5000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_PTR_NULL(node_members(sim_node(sim, i), stream));
    SIM_END(sim);
}

int main(void)
{
    return check_run("filters");
}
