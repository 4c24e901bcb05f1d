/* test_scenario_view.c - views (PROTOCOL 21). */
#include "test/sim/scenario.h"

#include "protocol/state.h"

#define TREE "0(1(3,4),2(5,6))"

static uint64_t view_of(struct sim *sim, uint32_t rank)
{
    const struct ranks *ranks;
    uint64_t stable;

    return node_view(sim_node(sim, sim_find(sim, rank)), &stable, &ranks);
}

static uint64_t stable_of(struct sim *sim, uint32_t rank)
{
    const struct ranks *ranks;
    uint64_t stable;

    node_view(sim_node(sim, sim_find(sim, rank)), &stable, &ranks);
    return stable;
}

/* Check that the front-end's view is `number`, is stable, has `count` ranks and
 * not `without`, and that each node that lives has this view. */
static void check_view(struct sim *sim,
                       uint64_t number,
                       size_t count,
                       uint32_t without)
{
    const struct ranks *ranks;
    uint64_t stable;

    CU_ASSERT_EQUAL(node_view(sim_node(sim, 0), &stable, &ranks), number);
    CU_ASSERT_EQUAL(stable, number);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ranks);
    CU_ASSERT_EQUAL(ranks_size(ranks), count);
    CU_ASSERT_FALSE(ranks_has(ranks, without));
    for (uint32_t i = 1; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i)) {
            CU_ASSERT(ranks_has(ranks, sim_rank(sim, i)));
            CU_ASSERT_EQUAL(view_of(sim, sim_rank(sim, i)), number);
        }
}

/* PROTOCOL 21.1: the launch is view 1, of which nothing is sent. */
SCENARIO(the_launch_is_the_first_view, TREE, .views = true)
{
    sim_trace(sim, SIM_TRACE_ALL);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    check_view(sim, 1, 7, 7);
    CU_ASSERT_EQUAL(sim_lines(sim, "CONTROL"), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_VIEW), 0);
}

/* PROTOCOL 21.1, 21.2: a commnode dies. Its children are adopted, the others have
 * the next view, and the front-end learns that they do. */
SCENARIO(a_commnode_that_dies_leaves_the_view, TREE, .views = true)
{
    sim_kill_at(sim, 1, 0);
    sim_wait(sim, 0, TELL_VIEW);
    check_view(sim, 2, 6, 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_VIEW), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
}

/* PROTOCOL 21.2: nobody is lost; a joiner is in when it has entered. Two hops
 * down and two up. */
SCENARIO(joiners_enter_the_view, TREE, .views = true)
{
    uint32_t backend = sim_attach(sim, 1), commnode;

    sim_wait(sim, 0, TELL_VIEW);
    check_view(sim, 2, 8, 8);
    CU_ASSERT_EQUAL(sim_code(TELL_VIEW), 4000);
    CU_ASSERT_EQUAL(view_of(sim, sim_rank(sim, backend)), 2);
    commnode = sim_join(sim, 2);
    sim_wait(sim, 0, TELL_VIEW);
    sim_run(sim, 10);
    check_view(sim, 3, 9, 9);
    CU_ASSERT_EQUAL(view_of(sim, sim_rank(sim, commnode)), 3);
    /* one that comes below the newest commnode has it from a snapshot */
    backend = sim_attach(sim, commnode);
    sim_wait(sim, 0, TELL_VIEW);
    check_view(sim, 4, 10, 10);
    CU_ASSERT_EQUAL(stable_of(sim, sim_rank(sim, backend)), 3);
}

/* PROTOCOL 21.1: three die and two join within a heartbeat: at most two views,
 * the same at all. */
SCENARIO(changes_together_are_few_views,
         "0(1(4,5),2(6,7),3(8,9))",
         .views = true)
{
    sim_attach(sim, 3);
    sim_attach(sim, 1);
    sim_kill_at(sim, 4, 3);
    sim_kill_at(sim, 8, 3);
    sim_kill_at(sim, 2, 4);
    sim_run(sim, 2 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT(sim_told(sim, 0, TELL_VIEW) <= 2);
    check_view(sim, 1 + sim_told(sim, 0, TELL_VIEW), 9, 2);
}

/* PROTOCOL 21.2: a member in limbo has not got the view, so this is not stable
 * until the member is back; the next view waits for a heartbeat only. */
SCENARIO(a_view_waits_for_a_member_in_limbo, TREE, .views = true)
{
    sim_isolate(sim, 3, sim_now_ms(sim) + 20000);
    sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS + 1000);
    sim_kill_at(sim, 5, 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(view_of(sim, 0), 2);
    CU_ASSERT_EQUAL(view_of(sim, 6), 2);
    CU_ASSERT_EQUAL(stable_of(sim, 0), 1);
    sim_attach(sim, 2);
    sim_run(sim, 20);
    sim_attach(sim, 2);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(view_of(sim, 6), 3);
    sim_run(sim, 2 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT_EQUAL(view_of(sim, 0), 4);
    CU_ASSERT_EQUAL(view_of(sim, 6), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_VIEW), 0);
    sim_run(sim, 20000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_VIEW), 3);
    check_view(sim, 4, 8, 5);
}

/* PROTOCOL 3.1, 21.1: a commnode that was stopped while a view became stable has it
 * from the snapshot. */
SCENARIO(a_thawed_commnode_has_the_view, TREE, .views = true)
{
    sim_freeze(sim, 2, 20000);
    sim_run(sim, 8000);
    sim_kill_at(sim, 4, 0);
    sim_wait(sim, 0, TELL_VIEW);
    CU_ASSERT_EQUAL(view_of(sim, 2), 1);
    sim_run(sim, 15000);
    check_view(sim, 2, 6, 4);
    CU_ASSERT_EQUAL(stable_of(sim, 2), 2);
}

/* PROTOCOL 21.1: without views nothing is sent. */
SCENARIO(there_are_no_views_unless_asked_for, TREE)
{
    const struct ranks *ranks;
    uint64_t stable;

    sim_kill_at(sim, 1, 0);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_VIEW), 0);
    CU_ASSERT_EQUAL(node_view(sim_node(sim, 0), &stable, &ranks), 1);
    CU_ASSERT_PTR_NULL(ranks);
    CU_ASSERT_EQUAL(view_of(sim, 3), 1);
}
