/* test_scenario_recovery.c - the front-end's report of each recovery (PROTOCOL
 * 6.7). */
#include "test/sim/scenario.h"

/* 1 has two back-ends, 2 has a commnode and a back-end. */
#define TREE "0(1(4,5),2(3(6,7),8))"

static void parts_fit(const struct cop_recovery *recovery)
{
    CU_ASSERT(recovery->overall_us > 0);
    CU_ASSERT_EQUAL(recovery->choose_us + recovery->connect_us +
                        recovery->compensate_us + recovery->cleanup_us,
                    recovery->overall_us);
}

/* PROTOCOL 6.7: every adopted node reports once, back-ends too. */
TEST(every_orphan_reports)
{
    struct node_adoption adoption;
    struct sim *sim = sim_launch(TREE);

    sim_open_filter(sim, "int_union");
    sim_kill_at(sim, 2, 0);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 2);
    CU_ASSERT_EQUAL_FATAL(sim_adopted(3, &adoption), 1);
    CU_ASSERT_EQUAL(adoption.lost_parent, 2);
    CU_ASSERT_EQUAL(adoption.parent, sim_parent(sim, 3));
    CU_ASSERT_EQUAL(adoption.recovery.attempts, 1);
    parts_fit(&adoption.recovery);
    CU_ASSERT_EQUAL_FATAL(sim_adopted(8, &adoption), 1);
    CU_ASSERT_EQUAL(adoption.lost_parent, 2);
    parts_fit(&adoption.recovery);
    sim_end(sim);
}

/* PROTOCOL 9.4: what the opening has proved about the filters holds while a
 * child that was adopted has not claimed yet. */
SCENARIO(a_stream_is_recoverable_all_the_time, TREE)
{
    uint32_t stream = sim_open_filter(sim, "int_union");

    CU_ASSERT(node_is_recoverable(sim_node(sim, 0), stream));
    sim_kill_at(sim, 2, 0);
    sim_kill_at(sim, 1, 500);
    for (int i = 0; i < 2000; i++) {
        sim_run(sim, 1);
        CU_ASSERT_FATAL(node_is_recoverable(sim_node(sim, 0), stream));
    }
    CU_ASSERT(sim_told(sim, 0, TELL_NODE_ADOPTED) >= 4);
}

/* PROTOCOL 6.7: a filter that takes long to pack its state prolongs the
 * recovery, and the report shows which part took long. */
TEST(the_part_that_took_long_is_named)
{
    struct node_adoption adoption;
    struct sim *sim = sim_launch(TREE);
    uint32_t stream = sim_open_filter(sim, "int_union");

    CHECK_OK(sim_send(sim, 6, stream, 100, "%ad", (int[]){6}, 1u));
    sim_run(sim, 50);
    sim_set_filter_ms(sim, 3, 300);
    sim_kill_at(sim, 2, 0);
    sim_run(sim, 200);
    CU_ASSERT_EQUAL(sim_adopted(3, &adoption), 0);
    sim_run(sim, 200);
    CU_ASSERT_EQUAL_FATAL(sim_adopted(3, &adoption), 1);
    CU_ASSERT(adoption.recovery.compensate_us >= 300000);
    CU_ASSERT(adoption.recovery.connect_us < 100000);
    parts_fit(&adoption.recovery);
    sim_end(sim);
}

/* PROTOCOL 9.1, 9.3: an orphan whose output fills its window before its
 * adoption still packs its state. */
TEST(a_full_window_is_no_end)
{
    const uint32_t count = LIMIT_WINDOW_MAX / sizeof(int);
    struct node_adoption adoption;
    struct sim *sim = sim_launch(TREE);
    uint32_t stream = sim_open_filter(sim, "int_union");
    int *integers = calloc(count, sizeof(*integers));

    CU_ASSERT_FATAL(integers != NULL);
    sim_freeze(sim, 1, 5000);
    sim_freeze(sim, 0, 5000);
    sim_kill_at(sim, 2, 0);
    sim_run(sim, 100);
    for (uint32_t rank = 6; rank <= 7; rank++) {
        for (uint32_t i = 0; i < count; i++)
            integers[i] = (int)(2 * i + rank);
        CHECK_OK(sim_send(sim, rank, stream, 100, "%ad", integers, count));
    }
    free(integers);
    sim_run(sim, 30000);
    CU_ASSERT_EQUAL_FATAL(sim_adopted(3, &adoption), 1);
    CU_ASSERT(sim_taken(sim, 0, stream) >= 1);
    sim_end(sim);
}

/* PROTOCOL 6.7, 7.4: candidates that do not answer are counted, and their time
 * is in that of connecting; pauses are in no part. */
TEST(failed_attempts_are_counted)
{
    struct node_adoption adoption;
    struct sim *sim = sim_launch("0(1(3,4),2(5,6))");

    sim_freeze(sim, 2, 10000);
    sim_freeze(sim, 0, 10000);
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 30000);
    for (uint32_t rank = 3; rank <= 4; rank++) {
        const struct cop_recovery *recovery = &adoption.recovery;

        CU_ASSERT_EQUAL_FATAL(sim_adopted(rank, &adoption), 1);
        CU_ASSERT_EQUAL(adoption.lost_parent, 1);
        CU_ASSERT(recovery->attempts > 2);
        CU_ASSERT(recovery->connect_us > 6000000);
        /* at least one pause */
        CU_ASSERT(recovery->choose_us + recovery->connect_us +
                      recovery->compensate_us + recovery->cleanup_us + 250000 <=
                  recovery->overall_us);
    }
    sim_end(sim);
}

/* PROTOCOL 6.7: a report that is lost by another failure, at any moment, is
 * repeated; and no report is delivered twice. */
TEST(a_lost_report_is_repeated)
{
    for (uint64_t at_ms = 1; at_ms <= 30; at_ms++) {
        /* Besides the front-end, only 1 and nodes below can adopt 6 and 7. */
        struct sim *sim = sim_launch("0(1(2(3(6,7),4(8,9)),5(10)))");
        struct node_adoption adoption;

        sim_open_filter(sim, "int_union");
        sim_kill_at(sim, 3, 0);
        sim_kill_at(sim, 2, at_ms);
        sim_kill_at(sim, 1, at_ms + 1);
        sim_run(sim, 20000);
        for (uint32_t rank = 6; rank <= 7; rank++) {
            uint32_t index = rank;

            CU_ASSERT_FATAL(sim_adopted(rank, &adoption) >= 1);
            CU_ASSERT_EQUAL(adoption.parent, sim_parent(sim, index));
            CU_ASSERT_EQUAL(sim_adopted(rank, &adoption),
                            sim_told(sim, rank, TELL_NODE_ADOPTED));
        }
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 3);
        sim_end(sim);
    }
}
