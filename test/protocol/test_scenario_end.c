/* test_scenario_end.c - leaving and ending (PROTOCOL 11). */
#include "test/sim/script.h"

#define TREE "0(1(3,4),2)"

/* PROTOCOL 11.4: a shutdown reaches every node, and every node ends; every
 * application is told. */
TEST(a_shutdown_ends_everybody)
{
    struct sim *sim = SIM_TREE("0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))");

    SIM_OPEN(sim, "sum");
    CHECK_OK(sim_shutdown(sim, 0));
    SIM_RUN(sim, 100);
    for (uint32_t i = 0; i < sim_count(sim); i++) {
        CU_ASSERT(sim_has_exited(sim, i));
        if (sim_role(sim, i) != NODE_COMMNODE)
            CU_ASSERT_EQUAL(script_told(sim, i, TELL_ENDED), 1);
    }
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_NODE_LOST), 0);
    SIM_END(sim);
}

/* PROTOCOL 11.4: after it nothing can be asked. */
TEST(after_the_end_there_is_nothing)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");
    struct stream_definition definition = {0};

    CHECK_OK(sim_shutdown(sim, 0));
    CHECK_IS(sim_send(sim, 0, stream, 100, "%d", 1), -ENOTCONN);
    CHECK_IS(sim_sync(sim, stream, NULL), -ENOTCONN);
    (void)definition;
    SIM_RUN(sim, 100);
    CHECK_IS(sim_send(sim, script_at(sim, 3), stream, 100, "%d", 1), -ENOTCONN);
    SIM_END(sim);
}

/* PROTOCOL 11.4: a node that hangs does not keep the others from ending. */
TEST(who_hangs_keeps_nobody)
{
    struct sim *sim = SIM_TREE(TREE);

    sim_freeze(sim, script_at(sim, 4), 1000000);
    CHECK_OK(sim_shutdown(sim, 0));
    SIM_RUN(sim, 20000);
    for (uint32_t rank = 0; rank <= 3; rank++)
        CU_ASSERT(sim_has_exited(sim, script_at(sim, rank)));
    SIM_END(sim);
}

/* PROTOCOL 11.1, 11.1a: a back-end that leaves is given up at once; what it
 * sent before stays, and the others go on without it. */
TEST(a_back_end_may_leave)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_trace_only(sim, SIM_TRACE_DELIVER);
    for (uint32_t rank = 2; rank <= 4; rank++)
        SIM_SEND(sim, rank, stream, 1);
    CHECK_OK(sim_shutdown(sim, script_at(sim, 4)));
    SIM_RUN(sim, 20);
    CU_ASSERT(sim_has_exited(sim, script_at(sim, 4)));
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_NODE_LOST), 0);
    SIM_SEND(sim, 2, stream, 10);
    SIM_SEND(sim, 3, stream, 10);
    SIM_RUN(sim, 10);
    SIM_TRACE(sim,
              "[  2] 0 deliver stream 1 wave 1: \"%d\" 3 (3 back-ends)\n"
              "[ 22] 0 deliver stream 1 wave 2: \"%d\" 20 (2 back-ends)\n");
    CHECK_IS(script_sync(sim, stream), 0);
    SIM_END(sim);
}

/* PROTOCOL 11.1a: when every back-end has gone, the front-end is still there,
 * and what it asks has an end. */
TEST(an_empty_network_sticks_nowhere)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream = SIM_OPEN(sim, "sum");

    sim_trace_only(sim, 0);
    SIM_SEND(sim, 0, stream, 1);
    CHECK_OK(sim_sync(sim, stream, NULL));
    for (uint32_t rank = 2; rank <= 4; rank++)
        sim_crash(sim, script_at(sim, rank));
    SIM_RUN(sim, 100);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 3);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_SYNCED), 1);
    CHECK_IS(sim_sync(sim, stream, NULL), -ENODEV);
    CHECK_IS(sim_send(sim, 0, stream, 100, "%d", 1), -ENODEV);
    CU_ASSERT(node_is_drained(sim_node(sim, 0), stream));
    CHECK_OK(sim_shutdown(sim, 0));
    SIM_RUN(sim, 100);
    CU_ASSERT(sim_has_exited(sim, 0));
    CU_ASSERT(sim_has_exited(sim, script_at(sim, 1)));
    SIM_END(sim);
}

#define BACKLOG 12
#define MIB     (1u << 20)

/* PROTOCOL 10.1b: members have sent more than goes up while the front-end takes
 * nothing, and have left: there is no member any more, but what they had sent
 * still comes, and only then is the stream drained. */
TEST(what_the_last_member_sent_still_comes)
{
    struct sim *sim = SIM_TREE("0(1(2(3)))");
    struct stream_definition definition = {.sync = COP_DO_NOT_WAIT};
    uint32_t stream = script_open(sim, &definition), i, taken = 0;

    sim_trace_only(sim, 0);
    script_by_hand(sim, 0);
    for (i = 0; i < BACKLOG; i++) {
        CHECK_OK(sim_send_bytes(sim, script_at(sim, 3), stream, MIB));
        SIM_RUN(sim, 50);
    }
    CHECK_OK(sim_shutdown(sim, script_at(sim, 3)));
    SIM_RUN(sim, 1000);
    CU_ASSERT_EQUAL(script_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT(node_is_deserted(sim_node(sim, 0), stream));
    CHECK_IS(sim_sync(sim, stream, NULL), -ENODEV);
    CU_ASSERT(sim_waiting(sim, 0) < BACKLOG);
    for (i = 0; i < BACKLOG; i++) {
        CU_ASSERT(!node_is_drained(sim_node(sim, 0), stream) ||
                  taken + sim_waiting(sim, 0) == BACKLOG);
        taken += (uint32_t)sim_receive(sim, 0, stream);
        SIM_RUN(sim, 50);
    }
    CU_ASSERT_EQUAL(taken, BACKLOG);
    CU_ASSERT(node_is_drained(sim_node(sim, 0), stream));
    SIM_END(sim);
}

/* PROTOCOL 3.1, 11.1: who is lost is lost to everybody: streams opened later
 * are without it. */
TEST(the_lost_are_in_no_later_stream)
{
    struct sim *sim = SIM_TREE(TREE);
    uint32_t stream;

    sim_trace_only(sim, 0);
    sim_crash(sim, script_at(sim, 4));
    SIM_RUN(sim, 100);
    stream = SIM_OPEN(sim, "sum");
    CU_ASSERT_EQUAL(ranks_size(node_members(sim_node(sim, 0), stream)), 2);
    SIM_SEND(sim, 2, stream, 1);
    SIM_SEND(sim, 3, stream, 1);
    SIM_RUN(sim, 10);
    CU_ASSERT_EQUAL(script_last(sim, 0, stream), 2);
    SIM_END(sim);
}

int main(void)
{
    return check_run("the end");
}
