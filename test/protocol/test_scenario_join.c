/* test_scenario_join.c - commnodes that join after the launch (PROTOCOL 19). */
#include "test/sim/scenario.h"

#include "protocol/state.h"

#define TREE "0(1(3,4),2(5,6))"

/* A commnode joins node `parent`, and the front-end is told. Returns its
 * rank. */
static uint32_t join(struct sim *sim, uint32_t parent)
{
    uint32_t index = sim_join(sim, parent);

    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 5); /* its rank is on its way */
    return sim_rank(sim, index);
}

/* Check that the tables of all nodes that live agree soon, and that no node has
 * broken the protocol: none has met an unknown rank. */
static void check_tables(struct sim *sim)
{
    uint64_t version;

    sim_run(sim, 8 * LIMIT_HEARTBEAT_MS);
    version = table_version(sim_node(sim, 0)->heal.table);
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        if (!sim_is_alive(sim, i))
            continue;
        CU_ASSERT_EQUAL(table_version(sim_node(sim, i)->heal.table), version);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 0);
}

/* PROTOCOL 19.1, 19.2: the joiner gets the next rank, and every node knows where
 * it is. */
SCENARIO(a_commnode_joins, TREE)
{
    struct table_entry entry;
    uint32_t joined = join(sim, 0);

    CU_ASSERT_EQUAL(joined, 7);
    CU_ASSERT_EQUAL(sim_about(TELL_NODE_JOINED), joined);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 1);
    for (uint32_t rank = 0; rank <= joined; rank++) {
        CHECK_OK(table_entry(sim_node(sim, rank)->heal.table, joined, &entry));
        CU_ASSERT_EQUAL(entry.parent, 0);
        CU_ASSERT_EQUAL(entry.incarnation, JOINED_INCARNATION);
        CU_ASSERT_EQUAL(entry.fan_out, 0);
    }
    check_tables(sim);
}

/* PROTOCOL 19.3: it has no children, so it adopts the first orphan. Waves and
 * packets are whole: on streams that were there before, and on later ones. */
SCENARIO(a_joined_commnode_adopts, TREE)
{
    uint32_t before = sim_open_filter(sim, "sum");
    uint32_t joined, after;

    sim_send_int(sim, 0, before, 1);
    sim_send_all(sim, before, 3, 6, 1);
    sim_run(sim, 20);
    joined = join(sim, 0);
    after = sim_open_filter(sim, "sum");
    sim_crash(sim, 1);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), joined);
    for (uint32_t rank = 3; rank <= 6; rank++) {
        sim_send_int(sim, rank, before, 10);
        sim_send_int(sim, rank, after, 10);
    }
    sim_send_int(sim, 0, before, 2);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, before), 40);
    CU_ASSERT_EQUAL(sim_last(sim, 0, after), 40);
    for (uint32_t rank = 3; rank <= 6; rank++)
        expect_taken(sim, rank, before, 2, 2);
    CHECK_IS(sim_sync_now(sim, after), 0);
    check_tables(sim);
}

/* PROTOCOL 3.4: also on streams that its host opens after its greeting and before
 * it has a rank. */
SCENARIO(a_stream_is_opened_while_it_joins, "0(1(3(5,6),4(7,8)),2(9,10))")
{
    uint32_t last, joined, index;

    last = sim_open_filter(sim, "");
    index = sim_join(sim, 1);
    for (int i = 0; i < 10; i++) {
        uint32_t stream;

        CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){""}));
        sim_run(sim, 1);
    }
    sim_run(sim, 100);
    joined = sim_rank(sim, index);
    sim_crash(sim, 3);
    sim_run(sim, 500);
    CU_ASSERT(sim_parent(sim, 5) == joined || sim_parent(sim, 6) == joined);
    for (uint32_t stream = last; stream <= last + 10; stream++) {
        sim_send_int(sim, 0, stream, 1);
        sim_run(sim, 100);
        expect_taken(sim, 5, stream, 1, 1);
        expect_taken(sim, 6, stream, 1, 1);
    }
}

/* PROTOCOL 19.3: on streams of whole waves and of totals, too. */
SCENARIO(a_joined_commnode_adopts_on_every_stream, TREE)
{
    uint32_t waves = sim_open_filter(sim, "sum", .kind = STREAM_WAVES);
    uint32_t total = sim_open_filter(sim, "int_union", .kind = STREAM_TOTAL);
    uint32_t joined = join(sim, 0);

    sim_send_all(sim, waves, 3, 6, 1);
    sim_crash(sim, 2);
    sim_send_all(sim, waves, 3, 6, 2);
    for (uint32_t rank = 3; rank <= 6; rank++)
        sim_send_set(sim, rank, total, (int)rank);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_parent(sim, 5), joined);
    CU_ASSERT_EQUAL(sim_last(sim, 0, waves), 8);
    CHECK_IS(sim_sync_now(sim, waves), 0);
    CHECK_IS(sim_sync_now(sim, total), 0);
    check_tables(sim);
}

/* A joiner that dies is lost like a launched commnode. */
SCENARIO(a_joined_commnode_dies, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint32_t joined = join(sim, 0);

    sim_crash(sim, 1);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), joined);
    sim_crash(sim, joined);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 2);
    sim_send_all(sim, stream, 3, 6, 10);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 40);
    sim_run(sim, LIMIT_ORPHAN_TIMEOUT_MS + 10000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 2);
    check_tables(sim);
}

/* A joiner that dies during its join, at any millisecond, leaves nothing that
 * waits, and no table that differs. */
TEST(a_joiner_that_dies_half_way_does_no_harm)
{
    for (uint64_t at_ms = 0; at_ms < 20; at_ms++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = sim_open_filter(sim, "sum");

        sim_crash_at(sim, sim_join(sim, 1), sim_now_ms(sim) + at_ms);
        sim_run(sim, 2000);
        check_tables(sim);
        sim_send_all(sim, stream, 3, 6, 10);
        sim_run(sim, 30);
        CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 40);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        sim_run(sim, LIMIT_ORPHAN_TIMEOUT_MS + 10000);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST),
                        sim_told(sim, 0, TELL_NODE_JOINED));
        sim_end(sim);
    }
}

/* PROTOCOL 19.2, 19_2_flood: its host dies at any millisecond after the join,
 * with or without the host's parent, which may be all that know of it. It ends
 * if it was not welcome yet, or is adopted by a node that has never heard of
 * it; no node meets an unknown rank. */
static void check_host_dies(uint64_t at_ms, bool both)
{
    struct sim *sim = sim_launch("0(1(3(7,8),4),2(5(9,10),6))");
    uint32_t joiner = sim_join(sim, 3);

    sim_crash_at(sim, 3, sim_now_ms(sim) + at_ms);
    if (both)
        sim_crash_at(sim, 1, sim_now_ms(sim) + at_ms);
    sim_run(sim, 3000);
    check_tables(sim);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED),
                    sim_is_alive(sim, joiner));
    if (sim_is_alive(sim, joiner))
        CU_ASSERT_NOT_EQUAL(sim_parent(sim, joiner), SIM_NONE);
    sim_end(sim);
}

TEST(the_host_dies)
{
    for (uint64_t at_ms = 0; at_ms < 20; at_ms++) {
        check_host_dies(at_ms, false);
        check_host_dies(at_ms, true);
    }
}

/* PROTOCOL 19.2, 19_2_moved_host: the host loses its parent between JOIN and
 * JOINED, and sends JOIN again: one node comes, and at most one rank is never
 * used. */
TEST(the_host_moves)
{
    for (uint64_t at_ms = 0; at_ms < 12; at_ms++) {
        struct sim *sim = sim_launch("0(1(3(7,8),4),2(5(9,10),6))");
        uint32_t joiner = sim_join(sim, 3);

        sim_crash_at(sim, 1, sim_now_ms(sim) + at_ms);
        sim_run(sim, 3000);
        CU_ASSERT(sim_is_alive(sim, joiner));
        CU_ASSERT_EQUAL(sim_parent(sim, joiner), 3);
        CU_ASSERT(sim_rank(sim, joiner) == 11 || sim_rank(sim, joiner) == 12);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 1);
        check_tables(sim);
        sim_end(sim);
    }
}

/* Many join at once, below each other too; then all others die. */
SCENARIO(many_join_at_once, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (uint32_t i = 0; i < 12; i++)
        sim_join(sim, i % 3);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 12);
    check_tables(sim);
    sim_crash(sim, 1);
    sim_crash(sim, 2);
    sim_run(sim, 3000);
    sim_send_all(sim, stream, 3, 6, 10);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 40);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 3), 0);
    check_tables(sim);
}

/* PROTOCOL 19.3: where the tree would become higher it adopts nobody. */
SCENARIO(a_joined_commnode_that_is_too_deep_adopts_nobody, TREE)
{
    uint32_t joined = join(sim, 1);

    sim_crash(sim, 2);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, joined), 1);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 5), joined);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 6), joined);
    check_tables(sim);
}

/* PROTOCOL 10.2: it sends an orphan nothing of stream 0 before it has adopted
 * it, if the answer to its probe takes longer than a heartbeat. */
SCENARIO(an_orphan_waits_for_a_joined_commnode, "0(1(3(5,6),4(7,8)),2(9,10))")
{
    uint32_t joined = join(sim, 0);

    sim_crash(sim, 1);
    sim_run(sim, 2);
    sim_freeze(sim, 0, 2 * LIMIT_HEARTBEAT_MS);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), joined);
    CU_ASSERT_EQUAL(sim_told(sim, 3, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_node(sim, 3)->incarnation, 1); /* the first asked */
    check_tables(sim);
}

/* The network ends with it. */
SCENARIO(a_joined_commnode_ends_with_the_network, TREE)
{
    uint32_t joined = join(sim, 2);

    sim_shutdown(sim, 0);
    sim_run(sim, 1000);
    CU_ASSERT_FALSE(sim_is_alive(sim, joined));
}
