/* test_scenario_link.c - heartbeats, silence, broken links (PROTOCOL 1.3, 6.1,
 * 11.3). */
#include "protocol/state.h"
#include "sim/world.h"
#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 6.1: heartbeats keep idle links: an hour passes and no node is lost.
 */
SCENARIO(idle_links_live, TREE)
{
    sim_run(sim, 3600000);
    expect_trace(sim, "");
}

/* Mute the link from `from` to `to` at `at_ms`. Returns the time from the
 * arrival of the last byte until `to` closes the link. */
static uint64_t found_after_ms(uint32_t from, uint32_t to, uint64_t at_ms)
{
    struct sim *sim = sim_launch(
        TREE, .times = {.heartbeat_ms = 100, .failure_timeout_ms = 700});
    const struct world_end *end;
    uint64_t came_ms;
    char line[32];

    snprintf(line, sizeof(line), " %u closes link", to);
    sim_trace(sim, SIM_TRACE_LIFE);
    sim_run(sim, at_ms);
    end = world_end_to(sim->nodes[to], from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    sim_mute(sim, from, to);
    sim_run(sim, 10); /* bytes in flight arrive */
    came_ms = flow_waiting_ms(&end->in, sim_now_ms(sim));
    if (came_ms < end->heard_ms)
        came_ms = end->heard_ms;
    for (int i = 0; i < 3000 && !sim_line_ms(sim, line); i++)
        sim_run(sim, 1);
    CU_ASSERT(came_ms > 1000);
    came_ms = sim_now_ms(sim) - came_ms;
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 4, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 3, TELL_NODE_ADOPTED), 0);
    sim_end(sim);
    return came_ms;
}

/* PROTOCOL 6.1, 6.1b, 6.1e: silence ends a link exactly `failure_timeout` after
 * the last byte arrived, to the millisecond, at parent and child, although a
 * repeated heartbeat is read after its arrival. */
TEST(silence_ends_a_link_at_the_deadline)
{
    for (uint64_t at_ms = 1200; at_ms < 1350; at_ms += 7) {
        CU_ASSERT_EQUAL(found_after_ms(4, 1, at_ms), 700);
        CU_ASSERT_EQUAL(found_after_ms(1, 4, at_ms), 700);
    }
}

/* PROTOCOL 6.1e: heartbeats that repeat the last one wake no node, whatever the
 * number of its children. */
SCENARIO(repeated_heartbeats_wake_no_node, "0(1(3,4,5,6,7,8,9),2)")
{
    uint64_t last_ms = 0;
    int wakes = 0;

    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    for (int i = 0; i < 10 * LIMIT_HEARTBEAT_MS; i++) {
        const struct node *node = sim_node(sim, 1);

        wakes += node->now_ms != last_ms;
        last_ms = node->now_ms;
        sim_run(sim, 1);
    }
    CU_ASSERT_EQUAL(wakes, 1 + 10); /* one was before */
}

/* PROTOCOL 6.1, 11.3: a node that hears nothing from its parent looks for
 * another, and silence of the front-end is not its death. */
SCENARIO(a_silent_parent_is_lost, TREE)
{
    sim_mute(sim, 0, 1);
    sim_run(sim, 5000);
    for (uint32_t rank = 1; rank <= 4; rank++)
        CU_ASSERT(sim_is_alive(sim, rank));
    CU_ASSERT_EQUAL(sim_told(sim, 1, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 3, TELL_NODE_ADOPTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
}

/* PROTOCOL 6.1a: a node that gives its parent up lives; but if it then dies
 * before it is adopted, the parent that it has left says so in the end. */
SCENARIO(an_orphan_that_dies_is_reported_lost, "0(1(3(5)),2(4(6)))")
{
    uint32_t parent;

    /* Without its child 5 and its starter 1, no other node notices when 3 dies. */
    sim_crash(sim, 5);
    sim_crash(sim, 1);
    sim_run(sim, 200);
    parent = sim_parent(sim, 3);
    CU_ASSERT_FATAL(parent != SIM_NONE);
    sim_mute(sim, parent, 3);
    for (int i = 0; i < 5000 && sim_parent(sim, 3) != SIM_NONE; i++)
        sim_run(sim, 1);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), SIM_NONE);
    sim_crash(sim, 3);
    sim_run(sim, 60000);
    expect_told(sim, NODE_LOST, 1, 1);
    sim_run(sim, 10000);
    expect_told(sim, NODE_LOST, 2, 3);
}

/* PROTOCOL 6.1a, 6.2: a node that was stopped accuses no peer when it
 * continues: none that has left it, and none whose bytes it has not read. */
TEST(a_thawed_node_accuses_no_peer)
{
    static const uint32_t ranks[] = {1, 3, 5};

    for (size_t i = 0; i < 3; i++)
        for (uint64_t for_ms = 2400; for_ms <= 6000; for_ms += 90) {
            struct sim *sim = sim_launch("0(1(3(5(7,8),6(9)),4(10)),2(11,12))");
            uint32_t stream = sim_open_filter(sim, "int_union");

            sim_run(sim, 1000 + for_ms % 500);
            sim_freeze(sim, ranks[i], for_ms);
            sim_run(sim, for_ms + 15000);
            CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
            CU_ASSERT(sim_told(sim, 0, TELL_NODE_SUSPECTED) <= 1);
            if (sim_told(sim, 0, TELL_NODE_SUSPECTED) > 0) {
                CU_ASSERT_EQUAL(sim_about(TELL_NODE_SUSPECTED), ranks[i]);
                CU_ASSERT(sim_told(sim, 0, TELL_NODE_ADOPTED) >= 1);
            }
            CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
            CHECK_IS(sim_sync_now(sim, stream), 0);
            sim_end(sim);
        }
}

/* PROTOCOL 6.1: a node that stops for less than that is not lost, and loses
 * nothing. */
SCENARIO(a_short_stop_is_not_a_death, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_freeze(sim, 1, 2000);
    sim_send_ints(sim, 0, stream, 1, 20);
    sim_run(sim, 3000);
    expect_taken(sim, 0, stream, 20, 60);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* PROTOCOL 6.1: a broken connection is a failure at once. */
SCENARIO(a_broken_link_is_known_at_once, TREE)
{
    sim_kill_at(sim, 4, 25);
    sim_run(sim, 30);
    expect_trace(sim, "[ 27] 0 told back-end lost 4\n");
}

/* PROTOCOL 7.3, 8.4: a node that loses its parent is adopted, with everything
 * below it; only the node that died is lost. */
SCENARIO(an_orphan_is_adopted, "0(1(3,4(5,6)),2(7,8))")
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_kill_at(sim, 1, 10);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 3, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 4, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 5, TELL_NODE_ADOPTED), 0);
    sim_send_int(sim, 0, stream, 7);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 5 * 7);
    CU_ASSERT_EQUAL(ranks_size(node_backends(sim_node(sim, 0))), 5);
}

/* PROTOCOL 1.3, 8.4: if a link breaks with both ends alive, no node is lost. */
SCENARIO(a_cut_link_loses_no_node, TREE)
{
    sim_cut(sim, 1, 4);
    sim_run(sim, 50);
    for (uint32_t rank = 1; rank <= 4; rank++)
        CU_ASSERT(sim_is_alive(sim, rank));
    CU_ASSERT_EQUAL(sim_told(sim, 4, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* PROTOCOL 11.3: when the front-end dies, every node ends at once. */
SCENARIO(the_front_ends_death_ends_all,
         "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))")
{
    sim_crash(sim, 0);
    sim_run(sim, 10);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        CU_ASSERT(sim_has_exited(sim, i));
}

/* A tree in which the node `from` sends `to` a frame of `type`: on a stream or
 * on none, with or without a payload, by the bits of `kind`. */
static struct sim *nonsense_comes(uint32_t from,
                                  uint32_t to,
                                  uint8_t type,
                                  int kind)
{
    struct sim *sim = sim_launch(TREE);
    uint32_t stream = sim_open_filter(sim, "sum");
    struct frame frame = {
        .type = type,
        .stream = kind & 1 ? stream : 0,
        .tag = 3,
        .count = 77777,
        .sequence = UINT64_MAX / 3,
    };

    if (kind & 2)
        CHECK_OK(packet_pack(&frame.payload, "%s %lf", "what", 0.5));
    sim_inject(sim, from, to, &frame);
    sim_run(sim, 5000);
    return sim;
}

/* PROTOCOL 2.1, 1.3: a child that sends nonsense loses its link and is lost; no
 * other node is. Every type of frame is tried, empty, and with impossible
 * values. */
TEST(nonsense_closes_its_link_only)
{
    for (uint8_t type = FRAME_DATA; type <= FRAME_END; type++) {
        for (int kind = 0; kind < 4; kind++) {
            struct sim *sim = nonsense_comes(4, 1, type, kind);

            if (!sim_is_alive(sim, 1))
                printf("\n%s, kind %d, ended its reader\n", frame_name(type),
                       kind);
            CU_ASSERT(sim_is_alive(sim, 0));
            CU_ASSERT(sim_is_alive(sim, 1));
            CU_ASSERT(sim_is_alive(sim, 3));
            sim_end(sim);
        }
    }
}

/* PROTOCOL 2.1: likewise from a parent: the child may end, others live. */
TEST(nonsense_from_a_parent_ends_one_link)
{
    for (uint8_t type = FRAME_DATA; type <= FRAME_END; type++) {
        for (int kind = 0; kind < 4; kind++) {
            struct sim *sim = nonsense_comes(1, 4, type, kind);

            for (uint32_t rank = 0; rank <= 3; rank++)
                CU_ASSERT(sim_is_alive(sim, rank));
            sim_end(sim);
        }
    }
}

/* PROTOCOL 6.2: a node that was stopped reads what waits before it accuses a
 * peer, though its clock says that the other was silent for too long (seed
 * 2931). */
SCENARIO(a_stopped_node_reads_first, "0(1(2,3))")
{
    uint32_t stream = sim_open_filter(sim, "");

    sim_trace_only(sim, SIM_TRACE_LIFE);
    for (int i = 0; i < 10; i++) {
        /* the last byte from 1 came long before the first one to it */
        sim_send_int(sim, 2, stream, i);
        sim_send_int(sim, 3, stream, i);
        sim_run(sim, LIMIT_HEARTBEAT_MS - 50);
        sim_send_int(sim, 0, stream, i);
        sim_run(sim, 1);
        sim_trace_from_here(sim);
        sim_freeze(sim, 0, LIMIT_FAILURE_TIMEOUT_MS - 300);
        sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS);
        expect_trace(sim, "");
    }
}
