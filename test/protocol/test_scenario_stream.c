/* test_scenario_stream.c - opening, closing and parameters (PROTOCOL 3). */
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 3.1a: a stream is open when every member has claimed its OPEN, and
 * not before. */
SCENARIO(open_waits_for_the_last_claim, TREE)
{
    uint32_t stream = 0;

    sim_freeze(sim, 4, 500);
    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, 499);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 0);
    sim_run(sim, 10);
    expect_trace(sim, "[502] 0 told opened stream 1\n");
}

/* PROTOCOL 3.1a: a filter that cannot be loaded is an error that names the
 * node and says why. */
SCENARIO(a_missing_filter_names_its_node, TREE)
{
    uint32_t stream = 0;

    CHECK_OK(sim_ask_open(sim, &stream,
                          .up_filter_backend = (char[]){"no_such_filter"}));
    sim_wait(sim, 0, TELL_OPENED);
    CHECK_IS(sim_code(TELL_OPENED), -ELIBBAD);
    CU_ASSERT(strstr(sim_text(TELL_OPENED), "no_such_filter") != NULL);
    CU_ASSERT(sim_about(TELL_OPENED) >= 2);
    /* The network still works. */
    stream = sim_open_filter(sim, "sum");
    sim_send_all(sim, stream, 2, 4, 1);
    sim_run(sim, 5);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 3);
}

/* PROTOCOL 3.1a: the same where only the commnode lacks it. */
SCENARIO(a_filter_missing_in_the_middle_is_found, TREE)
{
    uint32_t stream = 0;

    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"no_such_filter"},
                          .up_filter_frontend = (char[]){"sum"},
                          .up_filter_backend = (char[]){"sum"}));
    sim_wait(sim, 0, TELL_OPENED);
    CHECK_IS(sim_code(TELL_OPENED), -ELIBBAD);
    CU_ASSERT_EQUAL(sim_about(TELL_OPENED), 1);
}

/* PROTOCOL 3.1a: opening ends at its time-out, with an error. */
TEST(opening_has_an_end)
{
    struct sim *sim = sim_launch(TREE, .times = {.open_timeout_ms = 200});
    uint32_t stream = 0;

    sim_freeze(sim, 4, 1000);
    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, 199);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 0);
    sim_run(sim, 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CHECK_IS(sim_code(TELL_OPENED), -ETIMEDOUT);
    sim_end(sim);
}

/* PROTOCOL 3.1a, 11.1a: a node that dies meanwhile is not waited for. */
SCENARIO(opening_goes_on_without_the_dead, TREE)
{
    uint32_t stream = 0;

    sim_freeze(sim, 4, 2000);
    sim_kill_at(sim, 4, 50);
    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    CU_ASSERT_EQUAL(ranks_size(node_members(sim_node(sim, 0), stream)), 2);
}

/* 2 and 6 die together: no node knows what happened to 6. */
static struct sim *begin_limbo(void)
{
    struct sim *sim = sim_launch("0(1(3,4),2(5,6))");

    sim_crash(sim, 2);
    sim_crash(sim, 6);
    return sim;
}

/* PROTOCOL 3.1a: opening does not wait for a member that was uncovered for
 * failure_timeout when it began; it stays a member. */
TEST(opening_goes_on_without_limbo)
{
    struct sim *sim = begin_limbo();
    uint32_t stream = 0;

    sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS + 100);
    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    CU_ASSERT_EQUAL(ranks_size(node_members(sim_node(sim, 0), stream)), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    sim_end(sim);
}

/* PROTOCOL 3.1a: nor for one for which that time ends during the opening. */
TEST(opening_waits_until_limbo_begins)
{
    struct sim *sim = begin_limbo();
    uint32_t stream = 0;

    sim_run(sim, 100);
    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS - 200);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 0);
    sim_run(sim, 200);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    sim_end(sim);
}

/* Cut off the host of back-end 6 for 9 s from now. */
static struct sim *begin_absence(void)
{
    struct sim *sim = sim_launch("0(1(3,4),2(5,6))");

    sim_isolate(sim, 6, sim_now_ms(sim) + 3 * LIMIT_FAILURE_TIMEOUT_MS);
    sim_run(sim, 2 * LIMIT_FAILURE_TIMEOUT_MS + 500);
    return sim;
}

/* PROTOCOL 3.1a: a back-end that returns from limbo gets the stream, with all
 * packets sent on it in between. */
TEST(a_back_end_back_from_limbo_gets_the_stream)
{
    struct sim *sim = begin_absence();
    uint32_t stream = 0;

    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    sim_send_int(sim, 0, stream, 7);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_taken(sim, 6, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 5, stream), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 6, stream, 1, 7);
    sim_end(sim);
}

/* PROTOCOL 3.1a: its answer after the opening is an event, also if it cannot
 * load the stream's filter. */
TEST(a_missing_filter_after_limbo_is_reported)
{
    struct sim *sim = begin_absence();
    struct stream_definition definition = {
        .members = sim_ranks(1, 6),
        .up_filter_backend = (char[]){"no_such_filter"},
    };
    uint32_t stream = 0;

    CHECK_OK(sim_ask_defined(sim, &definition, &stream));
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    sim_wait(sim, 0, TELL_FILTER_ERROR);
    sim_run(sim, 5000);
    expect_told(sim, FILTER_ERROR, 1, 6);
    CU_ASSERT(strstr(sim_text(TELL_FILTER_ERROR), "no_such_filter") != NULL);
    ranks_fini(&definition.members);
    sim_end(sim);
}

/* PROTOCOL 3.1, 3.2: packets directly after an OPEN reach every member, which
 * knows the stream by then. */
SCENARIO(packets_may_follow_at_once,
         "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))")
{
    uint32_t stream = 0;

    CHECK_OK(sim_ask_open(sim, &stream, .sync = COP_WAIT_FOR_ALL));
    for (int i = 1; i <= 5; i++)
        sim_post_int(sim, 0, stream, i);
    sim_run(sim, 50);
    for (uint32_t rank = 7; rank <= 14; rank++)
        expect_taken(sim, rank, stream, 5, 5);
}

/* PROTOCOL 3.3: a stream of one member reaches that one only. */
SCENARIO(singlecast_reaches_one, TREE)
{
    struct stream_definition definition = {.members = sim_ranks(1, 4)};
    uint32_t stream = sim_open_defined(sim, &definition);

    sim_send_int(sim, 0, stream, 5);
    sim_run(sim, 5);
    sim_send_int(sim, 4, stream, 6);
    sim_run(sim, 5);
    expect_trace(sim,
                 "[  2] 4 deliver stream 1: \"%d\" 5\n"
                 "[  7] 0 deliver stream 1 wave 1: \"%d\" 6 (1 back-end)\n");
    ranks_fini(&definition.members);
}

/* PROTOCOL 3.1b: parameters take effect behind what was sent before them, and
 * before what was sent after. */
SCENARIO(parameters_come_in_order_with_data, "0(1(2))")
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    sim_send_int(sim, 0, stream, 1);
    CHECK_OK(sim_parameters(sim, stream, "%d", 7));
    sim_send_int(sim, 0, stream, 2);
    sim_trace(sim, SIM_TRACE_FILTER);
    sim_run(sim, 5);
    expect_trace(sim,
                 "[  1] 1 filter down stream 1 wave 1: from 0, gives 0 up, 1 "
                 "down\n"
                 "[  1] 1 filter init stream 1, with \"%d\" 7, gives 0 up, 0 "
                 "down\n"
                 "[  1] 1 filter down stream 1 wave 2: from 0, with \"%d\" 7, "
                 "gives 0 up, 1 down\n"
                 "[  2] 2 filter down stream 1 wave 1: from 1, gives 0 up, 1 "
                 "down\n"
                 "[  2] 2 filter init stream 1, with \"%d\" 7, gives 0 up, 0 "
                 "down\n"
                 "[  2] 2 filter down stream 1 wave 2: from 1, with \"%d\" 7, "
                 "gives 0 up, 1 down\n");
}

/* PROTOCOL 3.1b: the same when a slow filter keeps the data behind. */
SCENARIO(parameters_wait_for_slow_data, "0(1(2))")
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    sim_set_filter_ms(sim, 1, 100);
    sim_send_int(sim, 0, stream, 1);
    sim_send_int(sim, 0, stream, 2);
    CHECK_OK(sim_parameters(sim, stream, "%d", 7));
    sim_send_int(sim, 0, stream, 3);
    sim_trace(sim, SIM_TRACE_FILTER);
    sim_run(sim, 500);
    expect_trace(sim,
                 "[  1] 1 filter down stream 1 wave 1: from 0, gives 0 up, 1 "
                 "down\n"
                 "[101] 1 filter down stream 1 wave 2: from 0, gives 0 up, 1 "
                 "down\n"
                 "[102] 2 filter down stream 1 wave 1: from 1, gives 0 up, 1 "
                 "down\n"
                 "[201] 1 filter init stream 1, with \"%d\" 7, gives 0 up, 0 "
                 "down\n"
                 "[202] 2 filter down stream 1 wave 2: from 1, gives 0 up, 1 "
                 "down\n"
                 "[202] 2 filter init stream 1, with \"%d\" 7, gives 0 up, 0 "
                 "down\n"
                 "[301] 1 filter down stream 1 wave 3: from 0, with \"%d\" 7, "
                 "gives 0 up, 1 down\n"
                 "[402] 2 filter down stream 1 wave 3: from 1, with \"%d\" 7, "
                 "gives 0 up, 1 down\n");
}

/* PROTOCOL 3.1b: a stream closes behind what was sent on it. */
SCENARIO(close_comes_behind_the_data, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_ints(sim, 0, stream, 1, 50);
    CHECK_OK(sim_close(sim, 0, stream));
    CHECK_IS(sim_send(sim, 0, stream, 100, "%d", 51), -ENOENT);
    sim_run(sim, 50);
    for (uint32_t rank = 2; rank <= 4; rank++) {
        CU_ASSERT_EQUAL(sim_taken(sim, rank, stream), 50);
        CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_CLOSED), 1);
        CHECK_IS(sim_send(sim, rank, stream, 100, "%d", 1), -ENOENT);
    }
}

/* PROTOCOL 3.2: a number is never used again. */
SCENARIO(numbers_are_never_used_again, TREE)
{
    uint32_t first = sim_open_filter(sim, "sum");
    uint32_t second;

    CHECK_OK(sim_close(sim, 0, first));
    sim_run(sim, 1000);
    second = sim_open_filter(sim, "sum");
    CU_ASSERT(second > first);
    sim_send_int(sim, 0, second, 1);
    sim_run(sim, 5);
    CU_ASSERT_EQUAL(sim_taken(sim, 3, second), 1);
}

/* PROTOCOL 3.1b, 10.2: when all is done, no node holds a packet. */
SCENARIO(nothing_is_held_in_the_end, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_send_ints(sim, 0, stream, 1, 50);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 50);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_EQUAL(node_held_bytes(sim_node(sim, i), stream), 0);
}

/* Only the front-end may open, close for all, or set parameters. */
SCENARIO(requests_need_the_right_role, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    CHECK_IS(sim_sync(sim, 99, NULL), -ENOENT);
    CHECK_IS(sim_close(sim, 0, 99), -ENOENT);
    CHECK_IS(sim_send(sim, 0, 99, 100, "%d", 1), -ENOENT);
    CHECK_IS(sim_settle(sim, 3, 99), -ENOENT);
    CHECK_IS(sim_send(sim, 0, 0, 100, "%d", 1), -ENOENT);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 5);
    CU_ASSERT_EQUAL(sim_taken(sim, 4, stream), 1);
}
