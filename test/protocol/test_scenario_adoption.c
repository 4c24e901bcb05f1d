/* test_scenario_adoption.c - how orphans find parents (PROTOCOL 6.5, 7, 8,
 * 11). */
#include "test/sim/scenario.h"

/* 1 and 2 have two children each, 3 and the front-end three. */
#define TREE "0(1(5,6),2(7,8),3(9,10,11))"

#define TRACE_MOST (SIM_TRACE_FRAME | SIM_TRACE_LIFE | SIM_TRACE_TELL)

/* PROTOCOL 6.5: a node that hears of its own failure while its path stands
 * says that it lives, and the front-end believes it. */
SCENARIO(a_live_node_refutes_its_death, "0(1(3,4),2(5,6))")
{
    sim_trace(sim, TRACE_MOST);
    sim_cut(sim, 1, 4);
    sim_run(sim, 100);
    expect_told(sim, NODE_SUSPECTED, 1, 1);
    expect_told(sim, NODE_BACK, 1, 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    expect_told(sim, NODE_ADOPTED, 1, 4);
    expect(sim, "0 <- 1 record*it lives");
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
    CU_ASSERT_EQUAL(sim_lines(sim, "1 link to 0 down"), 0);
    /* The front-end still believes its death, under its new incarnation. */
    sim_crash(sim, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
}

/* PROTOCOL 6.3, 6.5: one that dies with its refutation on its way, which a
 * child of it has read and the front-end has not, is lost once, not twice
 * (seed 8240). */
SCENARIO(a_loss_is_reported_once, "0(1(3,4),2(5,6))")
{
    sim_trace(sim, TRACE_MOST);
    sim_cut(sim, 1, 4);
    sim_mute(sim, 1, 0);
    sim_run(sim, 50);
    expect(sim, "3 <- 1 record*it lives");
    CU_ASSERT_EQUAL(sim_lines(sim, "0 <- 1 record"), 0);
    sim_crash(sim, 1);
    sim_run(sim, 100);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 3), SIM_NONE);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
}

/* PROTOCOL 7.2, 7.3: the orphans of one parent begin at different places of the
 * list, which is by fan-out and rank. */
SCENARIO(orphans_ask_in_order, TREE)
{
    sim_trace(sim, TRACE_MOST);
    sim_kill_at(sim, 3, 5);
    sim_run(sim, 7);
    /* each has two children now, so the order is by rank; r is 0, 1, 2 */
    expect(sim, " 9 dials 0");
    expect(sim, " 10 dials 1");
    expect(sim, " 11 dials 2");
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_parent(sim, 9), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 10), 1);
    CU_ASSERT_EQUAL(sim_parent(sim, 11), 2);
}

/* PROTOCOL 7.2: after a child is gone, its siblings get their new places with
 * the next heartbeat. */
SCENARIO(places_are_told_after_changes, TREE)
{
    sim_crash(sim, 9);
    sim_run(sim, 2 * LIMIT_HEARTBEAT_MS);
    sim_trace(sim, TRACE_MOST);
    sim_kill_at(sim, 3, 5);
    sim_run(sim, 7);
    expect(sim, " 10 dials 0");
    expect(sim, " 11 dials 1");
}

static struct sim *launch_spread(unsigned victims)
{
    char *tree = sim_spread_tree(victims);
    struct sim *sim = sim_launch(tree);

    free(tree);
    return sim;
}

/* The number of back-ends whose parent is node `rank`. */
static unsigned backends_of(struct sim *sim, uint32_t rank)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < sim_count(sim); i++)
        count += sim_role(sim, i) == NODE_BACKEND && sim_is_alive(sim, i) &&
                 sim_parent(sim, i) == rank;
    return count;
}

/* PROTOCOL 6.6: an adopter's number of back-ends is sent to every node, and the
 * next orphans choose by it. */
TEST(fan_outs_are_told)
{
    struct sim *sim = launch_spread(20);

    sim_kill_at(sim, 1, 0);
    sim_run(sim, 100);
    /* 16 that had one, and the front-end; the last three start again */
    for (uint32_t rank = 2; rank < SIM_SPREAD + 2; rank++)
        CU_ASSERT_EQUAL(backends_of(sim, rank), rank < 5 ? 3 : 2);
    CU_ASSERT_EQUAL(backends_of(sim, 0), 1);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    sim_kill_at(sim, 17, 0);
    sim_run(sim, 100);
    /* 2, 3 and 4 have more children than the others now */
    for (uint32_t rank = 2; rank < SIM_SPREAD + 1; rank++)
        CU_ASSERT_EQUAL(backends_of(sim, rank), rank < 7 ? 3 : 2);
    sim_end(sim);
}

/* PROTOCOL 6.6, 7.3: 128 orphans of one parent spread evenly over all
 * candidates, at the cost of a few frames on each link. */
TEST(many_orphans_spread_evenly)
{
    struct sim *sim = launch_spread(128);
    unsigned links;

    sim_trace(sim, TRACE_MOST);
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 10 * LIMIT_HEARTBEAT_MS);
    for (uint32_t rank = 2; rank < SIM_SPREAD + 2; rank++) {
        unsigned adopted = backends_of(sim, rank) - 1;

        CU_ASSERT(adopted == 128 / 17 || adopted == 128 / 17 + 1);
    }
    CU_ASSERT(backends_of(sim, 0) >= 128 / 17);
    links = sim_count(sim) - 1;
    CU_ASSERT(sim_lines(sim, " fan-out ") > links / 2);
    CU_ASSERT(sim_lines(sim, " fan-out ") <= 3 * links);
    CU_ASSERT(sim_lines(sim, "<- 2 fan-out ") <= 3 * (backends_of(sim, 2) + 1));
    sim_end(sim);
}

/* PROTOCOL 6.4: a late joiner is told which nodes have died since the
 * launch. */
SCENARIO(a_joiner_is_told_of_the_dead, "0(1(4),2(5),3(6))")
{
    uint32_t joiner;

    sim_kill_at(sim, 1, 0);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    joiner = sim_attach(sim, 2);
    sim_run(sim, LIMIT_HEARTBEAT_MS / 4); /* before any heartbeat repairs it */
    sim_trace(sim, TRACE_MOST);
    sim_kill_at(sim, 2, 5);
    sim_kill_at(sim, 3, 5);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_lines(sim, " dials 1"), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, joiner), 0);
}

/* PROTOCOL 11.1a, 12.3: a joiner that the front-end adopts before its ENTER is
 * still a member, unless it ends; so is a joiner below a node that is adopted
 * at that time. */
TEST(a_joiner_is_adopted_by_the_front_end)
{
    static const struct {
        const char *tree;
        uint32_t at;
    } places[] = {{"0(1(4))", 1}, {"0(1(2(4)))", 2}};
    unsigned joined = 0;
    uint32_t joiner;

    for (size_t i = 0; i < 2; i++)
        for (uint64_t at_ms = 1; at_ms <= 14; at_ms++) {
            struct sim *sim = sim_launch(places[i].tree);

            joiner = sim_attach(sim, places[i].at);
            sim_kill_at(sim, 1, at_ms);
            sim_run(sim, 20000);
            if (sim_is_alive(sim, joiner)) {
                joined += sim_told(sim, 0, TELL_BACKEND_JOINED);
                CU_ASSERT(ranks_has(node_backends(sim_node(sim, 0)),
                                    sim_rank(sim, joiner)));
            }
            sim_end(sim);
        }
    CU_ASSERT(joined > 0);
}

/* PROTOCOL 6.1: a difference of two tables that stays is made good, one that
 * passes is left alone. */
SCENARIO(tables_are_compared, "0(1(4,5),2(6,7),3(8,9))")
{
    struct frame odd = {.type = FRAME_HEARTBEAT, .origin = 1, .sequence = 7};

    sim_kill_at(sim, 3, 0);
    sim_run(sim, 6 * LIMIT_HEARTBEAT_MS);
    sim_trace(sim, TRACE_MOST);
    sim_inject(sim, 1, 0, &odd);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_lines(sim, "1 <- 0 record"), 0);
    odd.count++; /* not a mere repetition, so it is read at once (6.1e) */
    sim_inject(sim, 1, 0, &odd);
    sim_run(sim, 10);
    expect(sim, "1 <- 0 record*[3]");
    expect(sim, "1 <- 0 fan-out");
    sim_run(sim, 20 * LIMIT_HEARTBEAT_MS);
    expect(sim, "<- 0 record");
    CU_ASSERT_EQUAL(sim_lines(sim, "0 <- 1 record"), 0);
}

/* PROTOCOL 7.4: a dead candidate does not answer, and the next one is asked. */
SCENARIO(the_next_is_asked, TREE)
{
    sim_trace(sim, TRACE_MOST);
    sim_kill_at(sim, 1, 5);
    sim_kill_at(sim, 3, 5);
    sim_run(sim, 100);
    for (uint32_t rank = 5; rank <= 11; rank++)
        if (rank < 7 || rank > 8)
            CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_NODE_ADOPTED), 1);
    CU_ASSERT(sim_lines(sim, "cannot reach") >= 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 2);
}

/* PROTOCOL 7.4: a frozen candidate costs no more than its two timeouts. */
SCENARIO(a_frozen_candidate_is_left, TREE)
{
    sim_trace(sim, TRACE_MOST);
    sim_freeze(sim, 1, 2000000);
    sim_kill_at(sim, 3, 5);
    sim_run(sim, LIMIT_CONNECT_TIMEOUT_MS + LIMIT_PROBE_TIMEOUT_MS - 10);
    CU_ASSERT_EQUAL(sim_told(sim, 10, TELL_NODE_ADOPTED), 0);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 10, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 10), 1);
}

/* PROTOCOL 8.2, 8.3, 8.5: an orphan adopts no node. A commnode and the
 * back-ends of a dead one, cut off together, end up in one tree. */
TEST(an_orphan_adopts_no_node)
{
    for (uint64_t at_ms = 0; at_ms <= 12; at_ms++) {
        struct sim *sim = sim_launch("0(1(2(3,4),5(6)),7(8(9)))");

        sim_trace(sim, TRACE_MOST);
        sim_crash(sim, 2);
        sim_run(sim, at_ms);
        sim_crash(sim, 1);
        sim_run(sim, 2000);
        for (uint32_t rank = 3; rank <= 9; rank++) {
            uint32_t index = rank;

            CU_ASSERT(sim_is_alive(sim, index));
            for (int hops = 0; index != 0 && hops < 4; hops++) {
                index = sim_parent(sim, index);
                CU_ASSERT_FATAL(index != SIM_NONE);
            }
            CU_ASSERT_EQUAL(index, 0);
        }
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
        sim_end(sim);
    }
}

/* PROTOCOL 8.4: if an adopter dies during the adoption, at any moment, no other
 * node is lost. */
TEST(an_adopter_may_die)
{
    for (uint64_t at_ms = 1; at_ms <= 20; at_ms++) {
        struct sim *sim = sim_launch("0(1(2(4,5),3(6,7)))");
        uint32_t stream = sim_open_filter(sim, "int_union");

        sim_kill_at(sim, 2, 0);
        sim_kill_at(sim, 3, at_ms);
        sim_run(sim, 1000);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 2);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
        for (uint32_t rank = 4; rank <= 7; rank++)
            sim_send_set(sim, rank, stream, (int)rank);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        CU_ASSERT_EQUAL(ranks_size(node_backends(sim_node(sim, 0))), 4);
        sim_end(sim);
    }
}

/* PROTOCOL 6.1c: an orphan that dies with its adopter, at any moment, is
 * reported lost at once: its children know the number of its attempt. */
TEST(an_orphan_may_die_with_its_adopter)
{
    uint64_t adopter_ms;

    for (adopter_ms = 1; adopter_ms <= 12; adopter_ms++)
        for (uint64_t orphan_ms = 1; orphan_ms <= 15; orphan_ms++) {
            struct sim *sim = sim_launch("0(1(3(7),4(8,9)),2(5(10),6(11)))");

            sim_kill_at(sim, 1, 0);
            sim_kill_at(sim, 2, adopter_ms);
            sim_kill_at(sim, 4, orphan_ms);
            sim_run(sim, 1000);
            CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 3);
            CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
            sim_end(sim);
        }
}

/* PROTOCOL 6.8: nodes die together with every node that could notice. The
 * front-end connects to their hosts, which refuse the connection. */
TEST(the_front_end_knocks)
{
    static const uint32_t dead[] = {1, 3, 5, 6, 7, 8, 9};
    struct sim *sim = sim_launch("0(1(3(5(7,8),6(9)),4(10)),2(11))");

    for (size_t i = 0; i < sizeof(dead) / sizeof(*dead); i++)
        sim_kill_at(sim, dead[i], 0);
    sim_run(sim, 2 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 1);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 0);
    sim_end(sim);
}

/* PROTOCOL 6.8: if the hosts are dead too, nothing answers, and the time of
 * 11.1 decides. */
TEST(the_front_end_doubts)
{
    static const uint32_t dead[] = {1, 3, 5, 6};
    struct sim *sim = sim_launch("0(1(3(5,6),4(7)),2(8))");

    for (size_t i = 0; i < 4; i++)
        sim_vanish(sim, dead[i]);
    sim_run(sim, 60000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    sim_run(sim, 20000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 2);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 0);
    sim_end(sim);
}

/* PROTOCOL 6.8: a link that breaks with both ends alive is a suspicion, and the
 * adoption ends it. */
SCENARIO(a_broken_link_is_a_suspicion, "0(1(3,4),2(5,6))")
{
    sim_cut(sim, 1, 0);
    sim_run(sim, 100);
    expect_told(sim, NODE_SUSPECTED, 1, 1);
    expect_told(sim, NODE_ADOPTED, 1, 1);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
}

/* Links carry 21 kB/s, and 1.6 MB are on their way down to back-end 12, which
 * is then cut off: it accuses its parent, 3, to the front-end. The record and
 * its refutation take longer than give_up_timeout. */
static struct sim *accuse_behind_data(const char *tree)
{
    struct sim *sim = sim_launch(tree, .bytes_per_ms = 21);
    uint32_t stream = sim_open_filter(sim, "concat");

    for (unsigned i = 0; i < 20; i++)
        CHECK_OK(sim_send_bytes(sim, 0, stream, 80000));
    sim_isolate(sim, 12, sim_now_ms(sim) + 7000);
    sim_run(sim, 15000);
    CU_ASSERT_EQUAL(sim_about(TELL_NODE_SUSPECTED), 3);
    CU_ASSERT_EQUAL(sim_parent(sim, 12), 0);
    return sim;
}

/* PROTOCOL 6.8, 6.9: a live commnode is not reported lost if its refutation
 * takes longer than give_up_timeout, with or without members (seed 2603921). It
 * is reported lost when it dies. */
TEST(a_slow_refutation_is_waited_for)
{
    static const char *const trees[] = {"0(1(2(3(8,12))),7)",
                                        "0(1(2(3(12))),7)"};

    for (size_t i = 0; i < 2; i++) {
        struct sim *sim = accuse_behind_data(trees[i]);

        sim_run(sim, 300000);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
        CU_ASSERT_EQUAL(sim_about(TELL_NODE_BACK), 3);
        sim_vanish(sim, 3);
        sim_run(sim, 80000);
        expect_told(sim, NODE_LOST, 1, 3);
        sim_end(sim);
    }
}

/* PROTOCOL 6.8, 6.9: likewise if it becomes an orphan before its refutation is
 * read: it is adopted, not expelled, and its back-end stays a member. */
TEST(an_accused_orphan_is_adopted)
{
    struct sim *sim = accuse_behind_data("0(1(2(3(8,12))),7)");

    sim_run(sim, 45000);
    sim_isolate(sim, 3, sim_now_ms(sim) + 15000);
    sim_run(sim, 300000);
    CU_ASSERT(sim_is_alive(sim, 8));
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 3), SIM_NONE);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    sim_end(sim);
}

/* PROTOCOL 6.9: a commnode that is dead is reported lost in time although its
 * orphans have gone elsewhere, and although one node is accused falsely again
 * and again. */
SCENARIO(a_death_is_reported_beside_rounds, "0(1(3(8,9),4(10,11)),2(5,6))")
{
    sim_vanish(sim, 3);
    for (unsigned i = 0; i < 70; i++) {
        sim_cut(sim, sim_parent(sim, 10), 10);
        sim_run(sim, 1000);
    }
    sim_run(sim, 5000);
    expect_told(sim, NODE_LOST, 1, 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* PROTOCOL 6.8: one that was stopped for longer than it takes to give it up is
 * expelled when it goes on; and one for less than that is back. */
SCENARIO(a_back_end_that_was_given_up_is_expelled, "0(1(3,4),2(5,6))")
{
    sim_freeze(sim, 1, 60000);
    sim_run(sim, 59000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 1);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_about(TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    sim_freeze(sim, 1, 80000);
    sim_run(sim, 79000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 2);
    expect_told(sim, NODE_LOST, 1, 1);
    CU_ASSERT_FALSE(sim_has_exited(sim, 1));
    sim_run(sim, 2000);
    CU_ASSERT(sim_has_exited(sim, 1));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* PROTOCOL 6.8: a back-end that is cut off is suspected, and then returns or is
 * given up. */
SCENARIO(a_back_end_in_limbo_is_suspected, "0(1(3,4),2(5,6))")
{
    struct node_adoption adoption;

    sim_isolate(sim, 6, sim_now_ms(sim) + 3 * LIMIT_FAILURE_TIMEOUT_MS);
    sim_run(sim, 2 * LIMIT_FAILURE_TIMEOUT_MS - 500);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    sim_run(sim, 1000);
    expect_told(sim, NODE_SUSPECTED, 1, 6);
    sim_run(sim, 20000);
    /* it had heard nothing from its parent, 2, which was suspected too */
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 2);
    CU_ASSERT_EQUAL(sim_adopted(6, &adoption), 1);
    sim_vanish(sim, 6);
    sim_run(sim, 100000);
    expect_told(sim, NODE_SUSPECTED, 3, 6);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
}

/* PROTOCOL 6.1c: the children of a node that was not dead are not suspected. */
SCENARIO(a_live_node_keeps_its_children, "0(1(3(5),4(6)),2(7))")
{
    /* each says of the other that it has failed, and both refute it */
    sim_cut(sim, 1, 3);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_BACK), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 1);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_parent(sim, 4), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
}

/* PROTOCOL 11.4: a node that is closing adopts no orphan; the orphan ends. */
TEST(a_closing_network_ends_orphans)
{
    for (uint64_t at_ms = 0; at_ms <= 8; at_ms++) {
        struct sim *sim = sim_launch(TREE);

        sim_kill_at(sim, 3, 0);
        sim_run(sim, at_ms);
        CHECK_OK(sim_shutdown(sim, 0));
        sim_run(sim, 2 * LIMIT_ORPHAN_TIMEOUT_MS);
        for (uint32_t i = 0; i < sim_count(sim); i++)
            CU_ASSERT_FALSE(sim_is_alive(sim, i));
        sim_end(sim);
    }
}

/* PROTOCOL 11.1: the front-end gives up back-ends that no branch covers, at
 * once if its end is certain, else after `give_up_timeout`. */
SCENARIO(the_front_end_gives_up, "0(1(3,4),2(5,6))")
{
    uint64_t give_up_ms = LIMIT_ORPHAN_TIMEOUT_MS + LIMIT_FAILURE_TIMEOUT_MS +
                          LIMIT_CONNECT_TIMEOUT_MS + LIMIT_PROBE_TIMEOUT_MS;

    /* 1 lives, and has reaped its child: a certain end */
    sim_crash(sim, 4);
    sim_run(sim, 20);
    expect_told(sim, BACKEND_LOST, 1, 4);
    /* 2 and 6 die together: no node knows what happened to 6 */
    sim_crash(sim, 2);
    sim_crash(sim, 6);
    sim_run(sim, give_up_ms - 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 5, TELL_NODE_ADOPTED), 1);
    sim_run(sim, 300);
    expect_told(sim, BACKEND_LOST, 2, 6);
    CU_ASSERT_EQUAL(ranks_size(node_backends(sim_node(sim, 0))), 2);
}

/* PROTOCOL 11.1: a certain end is reported at once, although its reporter loses
 * its path to the front-end at that moment. */
TEST(a_certain_end_is_told_again)
{
    for (uint64_t at_ms = 1; at_ms <= 24; at_ms++) {
        struct sim *sim = sim_launch("0(1(3(7,8)),2(4(9)))");

        sim_kill_at(sim, 7, 12);
        sim_kill_at(sim, 1, at_ms);
        sim_run(sim, 1000);
        expect_told(sim, BACKEND_LOST, 1, 7);
        sim_end(sim);
    }
}

/* PROTOCOL 11.3: a reset of the front-end's link is not the front-end's death;
 * the same reset with a refused connection is. */
SCENARIO(a_reset_is_not_the_front_ends_death, "0(1(3,4),2(5,6))")
{
    sim_cut(sim, 0, 1);
    sim_run(sim, 100);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(sim_is_alive(sim, i));
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 1, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    sim_crash(sim, 0);
    sim_run(sim, 20);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        CU_ASSERT(sim_has_exited(sim, i));
}

/* PROTOCOL 11.3: a link to the front-end that the transport's time-out ended
 * has ended by silence: a refused connection afterwards proves nothing. */
SCENARIO(a_time_out_is_not_the_front_ends_death, "0(1(3,4),2(5,6))")
{
    sim_expire(sim, 0, 1);
    sim_crash(sim, 0);
    sim_run(sim, 1000);
    CU_ASSERT(sim_has_exited(sim, 2));
    CU_ASSERT(sim_is_alive(sim, 1));
    CU_ASSERT(sim_is_alive(sim, 3));
    sim_run(sim, LIMIT_ORPHAN_TIMEOUT_MS);
    CU_ASSERT(sim_has_exited(sim, 1));
    CU_ASSERT(sim_has_exited(sim, 3));
}

/* PROTOCOL 11.3a: an orphan that loses its commnode together with the front-end
 * asks every node twice, is refused by every host, and ends. */
SCENARIO(a_refusal_by_all_is_the_end, "0(1(3(7,8),4(9,10)),2(5,6))")
{
    sim_crash(sim, 0);
    sim_crash(sim, 1);
    sim_run(sim, 1000);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
}

/* PROTOCOL 11.3a: one that does not answer may be the front-end's last child:
 * then an orphan goes on for as long as it may. */
SCENARIO(one_silent_candidate_keeps_the_search_going,
         "0(1(3(7,8),4(9,10)),2(5,6))")
{
    sim_freeze(sim, 2, 1000000);
    sim_crash(sim, 0);
    sim_crash(sim, 1);
    sim_run(sim, LIMIT_ORPHAN_TIMEOUT_MS - 1000);
    CU_ASSERT(sim_is_alive(sim, 3));
    sim_run(sim, 2000);
    CU_ASSERT(sim_has_exited(sim, 3));
    CU_ASSERT(sim_has_exited(sim, 7));
}
