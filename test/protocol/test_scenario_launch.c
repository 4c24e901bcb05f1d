/* test_scenario_launch.c - starting, and joining late (PROTOCOL 12). */
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2)"
#define DEEP "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))"

/* PROTOCOL 12.2: READY comes up, the table goes down, and every node is told.
 */
SCENARIO(every_node_is_told_of_the_launch, DEEP)
{
    const struct ranks *backends = node_backends(sim_node(sim, 0));
    uint32_t rank;
    const char *address;
    size_t internals = 0;

    CU_ASSERT_EQUAL(ranks_size(backends), 8);
    CU_ASSERT_EQUAL(ranks_at(backends, 0), 7);
    for (uint32_t i = 0; i < sim_count(sim); i++) {
        CU_ASSERT_EQUAL(sim_told(sim, i, TELL_LAUNCHED), 1);
        CU_ASSERT_EQUAL(node_depth(sim_node(sim, i)),
                        tree_find(sim_tree(sim), sim_rank(sim, i))->depth);
        CU_ASSERT(!i || !node_internal(sim_node(sim, i), 0, &rank, &address));
    }
    while (node_internal(sim_node(sim, 0), internals, &rank, &address)) {
        CU_ASSERT(rank <= 6);
        internals++;
    }
    CU_ASSERT_EQUAL(internals, 7);
}

/* PROTOCOL 12.2: all levels of a deep tree start; children of one node start at
 * the same time, so 64 leaves take no longer than one. */
TEST(children_start_together)
{
    struct sim *sim = sim_begin("0(1,2,3,4,5,6,7,8)");

    sim_wait(sim, 0, TELL_LAUNCHED);
    CU_ASSERT(sim_now_ms(sim) <= 4);
    sim_end(sim);
}

static void all_end(struct sim *sim)
{
    sim_shutdown(sim, 0);
    sim_run(sim, 20000);
    for (uint32_t i = 0; i < sim_count(sim); i++) {
        if (sim_is_alive(sim, i))
            printf("\n%s%u is still there\n", sim_trace_text(sim),
                   sim_rank(sim, i));
        CU_ASSERT_FALSE(sim_is_alive(sim, i));
    }
    sim_end(sim);
}

/* PROTOCOL 12.2: if a node cannot be started, the launch fails with its rank
 * and the reason, and leaves no process. */
TEST(what_is_missing_is_named)
{
    struct sim *sim = sim_begin(TREE);

    sim_missing(sim, 4, "no route to that host");
    sim_wait(sim, 0, TELL_LAUNCH_FAILED);
    CU_ASSERT(strstr(sim_text(TELL_LAUNCH_FAILED), "no route to that host") !=
              NULL);
    CU_ASSERT(strstr(sim_text(TELL_LAUNCH_FAILED), "4") != NULL);
    CU_ASSERT(sim_code(TELL_LAUNCH_FAILED) < 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 0);
    all_end(sim);
}

/* PROTOCOL 12.2: if a link is lost before the table has arrived, at any time,
 * the launch fails. */
TEST(a_death_during_the_launch_ends_it)
{
    for (uint64_t at_ms = 0; at_ms <= 12; at_ms++) {
        for (uint32_t rank = 1; rank <= 4; rank++) {
            struct sim *sim = sim_begin(TREE, .trace = SIM_TRACE_ALL);

            sim_crash_at(sim, rank, at_ms);
            sim_run(sim, 1000);
            CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED) +
                                sim_told(sim, 0, TELL_LAUNCH_FAILED),
                            1);
            if (at_ms <= 2)
                CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCH_FAILED), 1);
            all_end(sim);
        }
    }
}

/* PROTOCOL 12.2: a child is ready and dies while its parent waits for another
 * one: the error names the child, not its parent. */
TEST(a_node_that_died_is_named)
{
    struct sim *sim = sim_begin("0(1(3,4),2)");

    sim_hang(sim, 4);
    sim_run(sim, 100);
    sim_crash(sim, 3);
    sim_wait(sim, 0, TELL_LAUNCH_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(sim_text(TELL_LAUNCH_FAILED), "rank 3"));
    CU_ASSERT_PTR_NULL(
        strstr(sim_text(TELL_LAUNCH_FAILED), "broke the protocol"));
    all_end(sim);
}

/* PROTOCOL 12.2: likewise two levels further down: a node that has not reported
 * yet names the dead node in its report. */
TEST(a_node_that_died_further_down_is_named)
{
    struct sim *sim = sim_begin("0(1(3(4(5,6)),7),2)");

    sim_hang(sim, 7);
    sim_run(sim, 100);
    sim_crash(sim, 5);
    sim_wait(sim, 0, TELL_LAUNCH_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(sim_text(TELL_LAUNCH_FAILED), "rank 5"));
    CU_ASSERT_PTR_NULL(
        strstr(sim_text(TELL_LAUNCH_FAILED), "broke the protocol"));
    all_end(sim);
}

/* PROTOCOL 12.2: a node dies after its parent's READY, before the table has
 * reached the parent: it is lost, and all nodes below it, which cannot live,
 * are gone at once. */
TEST(a_death_behind_a_ready_loses_the_branch)
{
    struct sim *sim = sim_begin("0(1(2(4,8(9)),3(6,7)))");

    sim_crash_at(sim, 2, 9);
    sim_run(sim, 9);
    CU_ASSERT_EQUAL(sim_told(sim, 1, TELL_LAUNCHED), 0);
    sim_run(sim, 11);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 2); /* 2 and 8 */
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 2);
    CU_ASSERT_EQUAL(ranks_size(node_backends(sim_node(sim, 0))), 2);
    CU_ASSERT_FALSE(sim_is_alive(sim, 4));
    CU_ASSERT_FALSE(sim_is_alive(sim, 8));
    CU_ASSERT_FALSE(sim_is_alive(sim, 9));
    sim_open_filter(sim, "sum");
    sim_end(sim);
}

/* PROTOCOL 12.2: a node that never reports ends the launch at `launch_timeout`,
 * and is named. */
TEST(the_launch_has_an_end)
{
    struct sim *sim = sim_begin(TREE, .times = {.launch_timeout_ms = 2000});

    sim_freeze(sim, 4, 1000000);
    sim_run(sim, 1900);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCH_FAILED), 0);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCH_FAILED), 1);
    CU_ASSERT(strstr(sim_text(TELL_LAUNCH_FAILED), "rank 4") != NULL);
    sim_freeze(sim, 4, 0);
    all_end(sim);
}

/* A launch in which `rank` stops for `for_ms` after it has run for `at_ms`. */
static struct sim *begin_slowly(uint64_t at_ms, uint32_t rank, uint64_t for_ms)
{
    struct sim *sim = sim_begin(DEEP);

    sim_run(sim, at_ms);
    sim_freeze(sim, rank, for_ms);
    return sim;
}

/* PROTOCOL 12.2b: during the launch, a node that starts, or that has starting
 * nodes below it, may be silent for longer than later: its parent and children
 * wait for it at any time. From the table on, silence is a failure within
 * failure_timeout and a heartbeat. */
TEST(a_slow_start_is_no_failure)
{
    const uint64_t slow_ms = 3 * LIMIT_FAILURE_TIMEOUT_MS;

    for (uint64_t at_ms = 1; at_ms <= 4; at_ms++) {
        for (uint32_t rank = 1; rank <= 3; rank++) {
            struct sim *sim = begin_slowly(at_ms, rank, slow_ms);
            uint64_t launched_ms;

            sim_wait(sim, 0, TELL_LAUNCHED);
            CU_ASSERT(sim_now_ms(sim) >= slow_ms);
            CU_ASSERT_EQUAL(ranks_size(node_backends(sim_node(sim, 0))), 8);
            launched_ms = sim_now_ms(sim);
            sim_run(sim, 10);
            for (uint32_t i = 0; i < sim_count(sim); i++)
                CU_ASSERT_EQUAL(sim_told(sim, i, TELL_LAUNCHED), 1);
            sim_freeze(sim, 1, 1000000);
            sim_wait(sim, 0, TELL_NODE_SUSPECTED);
            CU_ASSERT_EQUAL(sim_about(TELL_NODE_SUSPECTED), 1);
            CU_ASSERT(sim_now_ms(sim) - launched_ms <=
                      LIMIT_FAILURE_TIMEOUT_MS + LIMIT_HEARTBEAT_MS);
            sim_end(sim);
        }
    }
}

/* PROTOCOL 12.2b: a host that vanishes during the launch is named when the time
 * of a start is over, not at the end of launch_timeout. */
TEST(a_start_has_an_end)
{
    struct sim *sim = begin_slowly(4, 1, 30000);

    sim_wait(sim, 0, TELL_LAUNCH_FAILED);
    CU_ASSERT(sim_now_ms(sim) >= LIMIT_START_TIMEOUT_MS);
    CU_ASSERT(sim_now_ms(sim) <= LIMIT_START_TIMEOUT_MS + LIMIT_HEARTBEAT_MS);
    CU_ASSERT_PTR_NOT_NULL(strstr(sim_text(TELL_LAUNCH_FAILED), "rank 1"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(sim_text(TELL_LAUNCH_FAILED), "for 20000 ms (start_timeout)"));
    all_end(sim);
}

/* PROTOCOL 12.3: a node that attaches gets the next rank, is in everyone's
 * communicator, and in the streams that grow; it learns of them from what
 * stream 0 amounts to, and its packets count from there. */
SCENARIO(a_late_joiner_joins_the_waves, TREE)
{
    uint32_t grows = sim_open_filter(sim, "sum", .grow = true);
    uint32_t stays = sim_open_filter(sim, "sum");
    uint32_t joiner;

    for (uint32_t rank = 2; rank <= 4; rank++) {
        sim_send_int(sim, rank, grows, 1);
        sim_send_int(sim, rank, stays, 1);
    }
    sim_send_int(sim, 0, grows, 99);
    sim_run(sim, 3000);
    CU_ASSERT_EQUAL(sim_last(sim, 0, grows), 3);
    joiner = sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    CU_ASSERT_EQUAL(sim_rank(sim, joiner), 5);
    CU_ASSERT_EQUAL(sim_about(TELL_BACKEND_JOINED), 5);
    CU_ASSERT(ranks_has(node_backends(sim_node(sim, 0)), 5));
    sim_run(sim, 20);
    CU_ASSERT(ranks_has(node_members(sim_node(sim, 0), grows), 5));
    CU_ASSERT_FALSE(ranks_has(node_members(sim_node(sim, 0), stays), 5));
    /* Packets sent before it joined are not for it. */
    CU_ASSERT_EQUAL(sim_taken(sim, 5, grows), 0);
    sim_send_int(sim, 0, grows, 7);
    sim_run(sim, 5);
    expect_taken(sim, 5, grows, 1, 7);
    sim_send_all(sim, grows, 2, 5, 10);
    sim_send_all(sim, stays, 2, 4, 10);
    sim_run(sim, 5);
    CU_ASSERT_EQUAL(sim_last(sim, 0, grows), 40);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stays), 30);
    CHECK_IS(sim_sync_now(sim, grows), 0);
}

/* PROTOCOL 12.3, 3.1: it learns of a stream that is opened after it joined. */
SCENARIO(a_late_joiner_is_a_back_end_like_any, TREE)
{
    uint32_t stream;

    sim_attach(sim, 0);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    stream = sim_open_filter(sim, "sum");
    sim_send_all(sim, stream, 2, 6, 1);
    sim_run(sim, 5);
    expect_trace(sim,
                 "[  2] 0 deliver stream 1 wave 1: \"%d\" 5 (5 back-ends)\n");
}

/* PROTOCOL 12.3: a joiner that dies during its join, at any millisecond, stalls
 * no stream. */
TEST(a_joiner_that_dies_half_way_stops_no_stream)
{
    for (uint64_t at_ms = 0; at_ms < 20; at_ms++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = sim_open_filter(sim, "sum", .grow = true);
        uint32_t joiner;

        sim_echo(sim);
        joiner = sim_attach(sim, 1);
        sim_crash_at(sim, joiner, sim_now_ms(sim) + at_ms);
        sim_run(sim, 30);
        sim_send_ints(sim, 0, stream, 1, 3);
        sim_run(sim, 30);
        expect_taken(sim, 0, stream, 3, 9);
        /* If it was a member already, its death is not certain. */
        sim_run(sim, LIMIT_ORPHAN_TIMEOUT_MS + 10000);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        CU_ASSERT_EQUAL(ranks_size(node_backends(sim_node(sim, 0))), 3);
        stream = sim_open_filter(sim, "sum");
        sim_end(sim);
    }
}

/* PROTOCOL 12.3: a node that has no parent just now asks for a joiner when it
 * has one. The node that passed the question on is not to blame. */
SCENARIO(a_joiner_waits_for_an_orphan, "0(1(2(4,5),3(6,7)))")
{
    uint32_t joiner;

    sim_freeze(sim, 0, 8000);
    sim_run(sim, 4500);
    joiner = sim_attach(sim, 2);
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_parent(sim, 2), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 1, TELL_NODE_ADOPTED), 0);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    CU_ASSERT_EQUAL(sim_told(sim, 1, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_parent(sim, joiner), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 2, TELL_NODE_ADOPTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* PROTOCOL 6.1, 12.3: a joiner without a rank may be told that it was silent.
 */
SCENARIO(a_silent_joiner_is_told_so, "0(1(2(4,5),3(6,7)))")
{
    uint32_t joiner;

    sim_freeze(sim, 0, 20000);
    sim_run(sim, 4500);
    joiner = sim_attach(sim, 2);
    sim_run(sim, 50);
    sim_freeze(sim, joiner, 2 * LIMIT_FAILURE_TIMEOUT_MS);
    sim_run(sim, 2 * LIMIT_FAILURE_TIMEOUT_MS + 10);
    CU_ASSERT(sim_has_exited(sim, joiner));
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_ENDED), "end of file");
}

/* PROTOCOL 12.3: if no rank is left, the joiner is refused, by the front-end
 * and by nodes below. */
TEST(a_joiner_without_a_rank_is_turned_away)
{
    struct sim *sim = sim_launch("0(1(3(4)),2)", .next_rank = LIMIT_NODES);

    for (uint32_t rank = 0; rank <= 3; rank++) {
        uint32_t joiner;

        if (rank == 2)
            continue; /* a back-end */
        joiner = sim_attach(sim, rank);
        sim_run(sim, 20);
        CU_ASSERT(sim_has_exited(sim, joiner));
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 1);
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
    sim_end(sim);
}
