/* test_scenario_resume.c - a front-end takes over from one that has crashed
 * (PROTOCOL 23). */
#include "test/sim/scenario.h"

#include <errno.h>
#include <stdlib.h>

#include "protocol/state.h"
#include "sim/world.h"

#define TREE    "0(1(3,4),2(5,6))"
#define SURVIVE .survive_ms = 60000

/* The front-end crashes; another one takes over `after_ms` later, and adopts. */
static void take_over(struct sim *sim, uint64_t after_ms)
{
    sim_crash(sim, 0);
    sim_run(sim, after_ms);
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 1500);
}

/* Check that all nodes but `gone` live, below a parent, and know the same. */
static void check_whole(struct sim *sim, uint32_t gone)
{
    uint64_t version;

    sim_run(sim, 8 * LIMIT_HEARTBEAT_MS);
    version = node_table_version(sim_node(sim, 0));
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        if (i == gone)
            continue;
        CU_ASSERT_FATAL(sim_is_alive(sim, i));
        CU_ASSERT_NOT_EQUAL(sim_parent(sim, i), SIM_NONE);
        if (sim_role(sim, i) == NODE_COMMNODE)
            CU_ASSERT_EQUAL(node_table_version(sim_node(sim, i)), version);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 0);
}

/* PROTOCOL 23.2, 23.5: the tree waits, in its shape, and goes on. */
SCENARIO(a_tree_waits, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_send_int(sim, 0, stream, 1);
    sim_send_all(sim, stream, 3, 6, 1);
    sim_run(sim, 20);
    expect_taken(sim, 0, stream, 1, 4);
    take_over(sim, 20000);
    check_whole(sim, SIM_NONE);
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 2), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 2);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    sim_send_int(sim, 0, stream, 2);
    sim_send_all(sim, stream, 3, 6, 10);
    sim_run(sim, 50);
    expect_taken(sim, 0, stream, 2, 40);
    for (uint32_t rank = 3; rank <= 6; rank++)
        expect_taken(sim, rank, stream, 2, 2);
    /* what was on its way may be lost; the next sync is whole again */
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 1000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
}

/* PROTOCOL 23.2: without survive_ms all end at once, as ever. */
SCENARIO(a_tree_does_not_wait, TREE)
{
    sim_crash(sim, 0);
    sim_run(sim, 2000);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        CU_ASSERT(sim_has_exited(sim, i));
    CU_ASSERT_EQUAL(sim_records(sim), 0);
}

/* PROTOCOL 23.2: nobody takes over: all end after survive_ms. */
SCENARIO(a_tree_waits_in_vain, TREE, SURVIVE)
{
    sim_crash(sim, 0);
    sim_run(sim, 59000);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        CU_ASSERT(sim_is_alive(sim, i));
    sim_run(sim, 2000);
    for (uint32_t i = 1; i < sim_count(sim); i++)
        CU_ASSERT(sim_has_exited(sim, i));
}

/* PROTOCOL 23.2, 11.1a: a launch that is not finished leaves nothing. */
TEST(an_unfinished_launch_ends)
{
    struct sim *sim = sim_begin(TREE, SURVIVE);

    sim_run(sim, 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 0);
    sim_crash(sim, 0);
    CU_ASSERT_EQUAL(sim_records(sim), 0);
    CHECK_IS(sim_resume(sim), -EBADMSG);
    sim_run(sim, 1000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
    sim_end(sim);
}

/* PROTOCOL 23.2: the front-end and all its commnodes die at once. */
SCENARIO(all_near_the_root, "0(1(4,5),2(6,7),3(8,9))", SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (uint32_t rank = 0; rank <= 3; rank++)
        sim_crash(sim, rank);
    sim_run(sim, 2000);
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 3000);
    for (uint32_t rank = 4; rank <= 9; rank++) {
        CU_ASSERT(sim_is_alive(sim, rank));
        CU_ASSERT_EQUAL(sim_parent(sim, rank), 0);
    }
    sim_send_int(sim, 0, stream, 7);
    sim_send_all(sim, stream, 4, 9, 1);
    sim_run(sim, 100);
    expect_taken(sim, 0, stream, 1, 6);
    /* their deaths are found: their children accuse them, or nobody knows */
    sim_run(sim, 200000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* PROTOCOL 23.3, 23.9: a packet that is recorded, and of which a part of the
 * tree has heard nothing, comes to every member once. */
SCENARIO(what_is_recorded_arrives, TREE, SURVIVE)
{
    uint32_t stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT);

    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 50);
    sim_hold(sim, 0, 2, sim_now_ms(sim) + 300);
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 10);
    expect_taken(sim, 3, stream, 2, 2);
    expect_taken(sim, 5, stream, 1, 1);
    sim_send_int(sim, 0, stream, 3); /* nothing of it is written to a link */
    take_over(sim, 50);
    for (uint32_t rank = 3; rank <= 6; rank++)
        expect_taken(sim, rank, stream, 3, 3);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(node_sent(sim_node(sim, 0), stream), 3);
    take_over(sim, 50);
    sim_send_int(sim, 0, stream, 4);
    CU_ASSERT_EQUAL(node_sent(sim_node(sim, 0), stream), 4);
    CU_ASSERT_EQUAL(node_sent(sim_node(sim, 0), stream + 1), 0);
    CU_ASSERT_EQUAL(node_sent(sim_node(sim, 3), stream), 0);
    check_whole(sim, SIM_NONE);
}

/* PROTOCOL 23.3: a control that was recorded is in force, though nobody had
 * it. */
SCENARIO(an_opening_goes_on, TREE, SURVIVE)
{
    uint32_t stream = 0;

    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"sum"}));
    take_over(sim, 50);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    sim_send_all(sim, stream, 3, 6, 5);
    sim_run(sim, 50);
    expect_taken(sim, 0, stream, 1, 20);
    CU_ASSERT_EQUAL(sim_open_filter(sim, "sum"), stream + 1);
}

/* PROTOCOL 23.10, 9.1: a recoverable stream's state comes from the orphans. */
SCENARIO(a_union_is_whole_again, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "int_union", .grow = true);

    for (uint32_t rank = 3; rank <= 6; rank++)
        sim_send_set(sim, rank, stream, (int)rank);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    take_over(sim, 500);
    CU_ASSERT(node_is_recoverable(sim_node(sim, 0), stream));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CHECK_IS(sim_state_now(sim, stream, NULL), 0);
}

/* PROTOCOL 23.10, 17: a total has everything that each member sent, once; and
 * that of one that has left. */
SCENARIO(a_total_is_right_again, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL,
                                      .sync = COP_DO_NOT_WAIT);
    int total = 0;

    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 4, stream, 10);
    sim_send_int(sim, 5, stream, 100);
    sim_send_int(sim, 6, stream, 1000);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CHECK_IS(sim_state_now(sim, stream, &total), 0);
    CU_ASSERT_EQUAL(total, 1111);
    CHECK_OK(sim_shutdown(sim, 4));
    sim_run(sim, 500);
    CU_ASSERT(!sim_is_alive(sim, 4));
    sim_crash(sim, 0);
    sim_send_int(sim, 3, stream, 2);
    sim_run(sim, 300);
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 1500);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CHECK_IS(sim_state_now(sim, stream, &total), 0);
    CU_ASSERT_EQUAL(total, 1113);
    check_whole(sim, 4);
}

/* PROTOCOL 23.5: a front-end dies that has adopted one of two children; and the
 * next one too. */
SCENARIO(a_second_crash, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    unsigned before;

    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 20);
    sim_crash(sim, 0);
    sim_run(sim, 500);
    for (unsigned i = 0; i < 3; i++) {
        before = sim_told(sim, 1, TELL_NODE_ADOPTED);
        sim_hold(sim, 2, 0, sim_now_ms(sim) + 1000);
        CHECK_OK(sim_resume(sim));
        sim_wait(sim, 1, TELL_NODE_ADOPTED);
        CU_ASSERT_EQUAL(sim_told(sim, 1, TELL_NODE_ADOPTED), before + 1);
        sim_crash(sim, 0);
        sim_run(sim, 1500);
    }
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 1500);
    sim_send_int(sim, 0, stream, 2);
    sim_send_all(sim, stream, 3, 6, 10);
    sim_run(sim, 50);
    expect_taken(sim, 0, stream, 1, 40);
    for (uint32_t rank = 3; rank <= 6; rank++)
        expect_taken(sim, rank, stream, 2, 2);
    check_whole(sim, SIM_NONE);
}

/* PROTOCOL 23.2, 11.1: a back-end ends while nobody leads. The commnode that
 * started it keeps that, and LOST follows the takeover at once. */
SCENARIO(a_backend_ends_meanwhile, TREE, SURVIVE)
{
    sim_crash(sim, 0);
    sim_run(sim, 200);
    sim_crash(sim, 5);
    sim_run(sim, 40000);
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 1500);
    expect_told(sim, BACKEND_LOST, 1, 5);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    check_whole(sim, 5);
}

/* PROTOCOL 11.1, 23.5: one that was lost before the crash stays so. */
SCENARIO(a_lost_one_stays_lost, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_crash(sim, 5);
    sim_run(sim, 100);
    expect_told(sim, BACKEND_LOST, 1, 5);
    take_over(sim, 500);
    CU_ASSERT(!ranks_has(node_members(sim_node(sim, 0), stream), 5));
    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 4, stream, 1);
    sim_send_int(sim, 6, stream, 1);
    sim_run(sim, 50);
    expect_taken(sim, 0, stream, 1, 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
}

/* PROTOCOL 23.3, 12.3: joiners before and after, and one whose JOIN was on its
 * way. No rank is given twice. */
SCENARIO(joiners_keep_their_ranks, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .grow = true);
    uint32_t first = sim_attach(sim, 1), second, third;

    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_run(sim, 50);
    second = sim_attach(sim, 2);
    sim_run(sim, 3);
    take_over(sim, 500);
    third = sim_attach(sim, 0);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_rank(sim, first), 7);
    CU_ASSERT(sim_is_alive(sim, first));
    CU_ASSERT_FATAL(sim_is_alive(sim, third));
    CU_ASSERT(sim_rank(sim, third) > 7);
    CU_ASSERT(!sim_is_alive(sim, second) ||
              sim_rank(sim, second) != sim_rank(sim, third));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    for (uint32_t i = 3; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i) && sim_role(sim, i) == NODE_BACKEND)
            sim_send_int(sim, i, stream, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream),
                    sim_is_alive(sim, second) ? 7 : 6);
}

/* PROTOCOL 19, 23.3: a commnode that has joined is known again. */
SCENARIO(a_joined_commnode_waits_too, TREE, SURVIVE)
{
    uint32_t joined = sim_join(sim, 1);

    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 50);
    take_over(sim, 500);
    CU_ASSERT(sim_is_alive(sim, joined));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 0);
    check_whole(sim, SIM_NONE);
}

/* PROTOCOL 23.11: nodes have seen many rounds and many fan-outs; nobody that
 * lives is lost. */
SCENARIO(numbers_go_on, "0(1(4,5),2(6,7),3(8,9))", SURVIVE)
{
    uint32_t round;

    for (unsigned i = 0; i < 6; i++) {
        sim_cut(sim, 1, 4 + (i & 1));
        sim_run(sim, 1000);
    }
    round = sim_node(sim, 0)->heal.round;
    CU_ASSERT(round > 3);
    take_over(sim, 500);
    CU_ASSERT(sim_node(sim, 0)->heal.round >= round);
    sim_cut(sim, 2, 6);
    sim_run(sim, 100);
    CU_ASSERT(sim_told(sim, 0, TELL_NODE_SUSPECTED) > 0);
    sim_run(sim, 200000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    check_whole(sim, SIM_NONE);
}

/* PROTOCOL 23.5: CLOSE names a packet that the crashed front-end had in its
 * filter, and that nobody has seen: the stream closes. */
SCENARIO(a_closing_stream_closes, TREE, SURVIVE)
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    sim_set_filter_ms(sim, 0, 10000);
    sim_send_int(sim, 0, stream, 1);
    sim_send_int(sim, 0, stream, 2);
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 3, TELL_CLOSED), 0);
    sim_set_filter_ms(sim, 0, 0);
    take_over(sim, 100);
    for (uint32_t rank = 3; rank <= 6; rank++) {
        CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_CLOSED), 1);
        CU_ASSERT_EQUAL(sim_taken(sim, rank, stream), 0);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 0);
}

/* PROTOCOL 23.5, 6.8: a commnode dies with its back-end while nobody leads, and
 * no node is left that knows. */
SCENARIO(a_branch_dies_meanwhile, "0(1(3),2(4))", SURVIVE)
{
    sim_crash(sim, 0);
    sim_run(sim, 200);
    sim_crash(sim, 1);
    sim_crash(sim, 3);
    sim_run(sim, 1000);
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 200000);
    expect_told(sim, BACKEND_LOST, 1, 3);
    expect_told(sim, NODE_LOST, 1, 1);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 1000);
    CU_ASSERT(sim_has_exited(sim, 0));
}

/* PROTOCOL 23.11, 6.6: the front-end's fan-out has changed twice, and its next
 * version is above that: all tables are equal again. */
SCENARIO(a_fan_out_goes_on, "0(1(4,5),2(6,7),3(8,9))", SURVIVE)
{
    sim_crash(sim, 1);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    sim_crash(sim, 2);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    take_over(sim, 500);
    sim_run(sim, 8 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT_EQUAL(node_table_version(sim_node(sim, 3)),
                    node_table_version(sim_node(sim, 0)));
}

/* PROTOCOL 23.10, 5.5: a stream that is not replayable ends, with a word. */
SCENARIO(a_stream_that_cannot_go_on, TREE, SURVIVE)
{
    uint32_t stream =
        sim_open_stream(sim, .down_filter = (char[]){"int_union"});

    take_over(sim, 100);
    expect_told(sim, STREAM_FAILED, 1, 0);
    CU_ASSERT_PTR_NULL(node_members(sim_node(sim, 0), stream));
    CU_ASSERT_EQUAL(sim_told(sim, 3, TELL_CLOSED), 1);
}

/* PROTOCOL 23.8: waves that were on their way come after one redo, each once and
 * in order, and those that were delivered do not come again. */
SCENARIO(whole_waves_go_on, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_WAVES);

    sim_echo(sim);
    sim_send_ints(sim, 0, stream, 1, 5);
    sim_run(sim, 20);
    expect_taken(sim, 0, stream, 5, 20);
    sim_send_ints(sim, 0, stream, 6, 9);
    sim_run(sim, 3);
    take_over(sim, 500);
    expect_taken(sim, 0, stream, 9, 36);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_send_ints(sim, 0, stream, 10, 12);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 12, 48);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
    check_whole(sim, SIM_NONE);
}

/* PROTOCOL 23.8, 23_8_lost_between: a wave without a lost back-end was delivered:
 * no later one has it. */
SCENARIO(whole_waves_of_the_living, TREE, SURVIVE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_WAVES);

    sim_echo(sim);
    sim_crash(sim, 5);
    sim_run(sim, 100);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 20);
    expect_taken(sim, 0, stream, 1, 3);
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 3);
    sim_crash(sim, 0);
    sim_run(sim, 100);
    sim_crash(sim, 6);
    sim_run(sim, 100);
    CHECK_OK(sim_resume(sim));
    sim_run(sim, 1500);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 2, 4);
}

/* PROTOCOL 23.5, 16.11: joiners that a marker has named before the crash, and one
 * that none has named. */
SCENARIO(whole_waves_with_joiners, TREE, SURVIVE)
{
    uint32_t stream =
        sim_open_filter(sim, "sum", .kind = STREAM_WAVES, .grow = true);
    unsigned alive = 5;
    uint32_t second;

    sim_echo(sim);
    sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_run(sim, 100);
    second = sim_attach(sim, 2);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    take_over(sim, 500);
    alive += sim_is_alive(sim, second);
    sim_echo(sim);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_send_int(sim, 0, stream, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 10 * (int)alive);
}

/* PROTOCOL 23.5: a network that was ended is not taken over. */
SCENARIO(an_ended_network_stays_so, TREE, SURVIVE)
{
    CHECK_OK(sim_shutdown(sim, 0));
    sim_crash(sim, 0);
    CHECK_IS(sim_resume(sim), -ESHUTDOWN);
    sim_run(sim, 61000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
}

/* ---- bytes of a file are hostile ---- */

/* Change one bit of a record, in its header or its payload. */
static void damage(struct frame *frame, struct random *random)
{
    uint64_t bit = random_between(random, 0, 31);
    struct payload *copy = NULL;

    switch (random_between(random, 0, 7)) {
    case 0:
        frame->type ^= (uint8_t)(1U << (bit & 7));
        return;
    case 1:
        frame->stream ^= 1U << bit;
        return;
    case 2:
        frame->number ^= UINT64_C(1) << bit;
        return;
    case 3:
        frame->flags ^= (uint8_t)(1U << (bit & 7));
        return;
    case 4:
        frame->tag ^= 1 << (bit & 7);
        return;
    case 5:
        frame->origin ^= 1U << bit;
        return;
    default:
        break;
    }
    if (!frame->payload)
        return;
    CHECK_OK(payload_new(&copy, frame->payload->len));
    memcpy(copy->bytes, frame->payload->bytes, copy->len);
    copy->bytes[random_between(random, 0, copy->len - 1)] ^=
        (unsigned char)(1U << (bit & 7));
    frame_fini(frame);
    frame->payload = copy;
}

/* PROTOCOL 23.5: a record with a wrong bit, or one that is missing, is taken or
 * refused, and does no harm. */
SCENARIO(damaged_records_do_no_harm, TREE, SURVIVE)
{
    uint32_t plain = sim_open_filter(sim, "sum", .grow = true);
    uint32_t total = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL,
                                     .sync = COP_DO_NOT_WAIT);
    struct random random = {0};
    unsigned refused = 0;
    size_t count;

    random_seed(&random, 1);
    sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    CHECK_OK(sim_parameters(sim, plain, "%d", 1));
    for (int i = 0; i < 4; i++)
        sim_send_int(sim, 0, plain, i);
    sim_send_int(sim, 5, total, 7);
    CHECK_IS(sim_sync_now(sim, total), 0);
    CHECK_OK(sim_shutdown(sim, 5));
    sim_crash(sim, 6);
    sim_run(sim, 500);
    CHECK_OK(sim_close(sim, 0, total));
    sim_run(sim, 2000);
    sim_crash(sim, 0);
    count = sim_records(sim);
    CU_ASSERT(count > 12);
    for (unsigned i = 0; i < 3000; i++) {
        size_t at = (size_t)random_between(&random, 0, count - 1);
        struct frame *frame = &sim->records[at], kept = frame_ref(frame);
        int r;

        if (i % 8 == 0)
            frame->type = 0;
        else
            damage(frame, &random);
        r = sim_resume(sim);
        CU_ASSERT(r == 0 || r == -EBADMSG || r == -EPROTO || r == -ESHUTDOWN);
        refused += r < 0;
        if (r == 0)
            sim_crash(sim, 0);
        sim_forget_records(sim, count);
        frame_fini(frame);
        *frame = kept;
    }
    CU_ASSERT(refused > 1000);
    CHECK_OK(sim_resume(sim));
}

/* ---- at random ---- */

#define RANDOM_TREE "0(1(4,5),2(6,7),3(8,9))"
#define RANDOM_END  10

/* Check that each back-end that lives has all `sent` packets, in order: its last
 * value is their number, and it has taken so many. */
static void check_sent(struct sim *sim, uint32_t stream, unsigned sent)
{
    for (uint32_t rank = 4; rank < RANDOM_END; rank++)
        if (sim_is_alive(sim, rank))
            expect_taken(sim, rank, stream, sent, (int)sent);
}

/* Send the set of `rank` alone, now or as soon as there is credit. */
static void post_set(struct sim *sim, uint32_t rank, uint32_t stream)
{
    struct payload *payload = NULL;
    int32_t value = (int32_t)rank;

    CHECK_OK(packet_pack(&payload, "%ad", &value, UINT32_C(1)));
    sim_post(sim, rank, stream, 100, payload);
}

/* Play the worlds of seeds 1 to SEEDS, or to `count`. */
static void play_seeds(void (*play)(uint64_t seed), uint64_t count)
{
    const char *seeds = getenv("SEEDS");

    if (seeds)
        count = strtoull(seeds, NULL, 10);
    for (uint64_t seed = 1; seed <= count; seed++) {
        unsigned before = CU_get_number_of_failures();

        play(seed);
        if (CU_get_number_of_failures() > before)
            printf("\nseed %llu\n", (unsigned long long)seed);
    }
}

/* One world: packets go both ways while front-ends crash, and a commnode. */
static void play_random(uint64_t seed)
{
    struct sim *sim = sim_launch(RANDOM_TREE, SURVIVE, .seed = seed,
                                 .delay_min_ms = 1, .delay_max_ms = 8);
    struct random random = {0};
    uint32_t down, total, set;
    unsigned sent = 0;
    int truth = 0, value = 0;

    random_seed(&random, seed);
    down = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT);
    total = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL,
                            .sync = COP_DO_NOT_WAIT);
    set = sim_open_filter(sim, "int_union");
    for (unsigned round = 0; round < 6; round++) {
        for (uint64_t i = random_between(&random, 0, 4); i > 0; i--) {
            uint32_t rank = (uint32_t)random_between(&random, 4, 9);

            sim_send_int(sim, 0, down, (int)++sent);
            sim_post_int(sim, rank, total, 1);
            post_set(sim, rank, set);
            truth++;
            sim_run(sim, random_between(&random, 0, 5));
        }
        if (round == 2 && random_between(&random, 0, 1))
            sim_kill_at(sim, 2, random_between(&random, 0, 400));
        sim_crash(sim, 0);
        sim_run(sim, random_between(&random, 0, 1200));
        CHECK_OK(sim_resume(sim));
        sim_run(sim, random_between(&random, 0, 600));
    }
    sim_run(sim, 5000);
    check_sent(sim, down, sent);
    CHECK_IS(sim_sync_now(sim, total), 0);
    CHECK_IS(sim_state_now(sim, total, &value), 0);
    CU_ASSERT_EQUAL(value, truth);
    CHECK_IS(sim_sync_now(sim, set), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 0);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 2000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
    sim_end(sim);
}

/* PROTOCOL 23: six crashes of front-ends in each world. Each packet comes once,
 * a total has each number once, and nobody is lost. */
TEST(many_crashes_at_random)
{
    play_seeds(play_random, 60);
}

/* One world of whole waves: all back-ends answer each packet, while front-ends crash,
 * links break, a commnode dies and back-ends join. */
static void play_exact(uint64_t seed)
{
    struct sim *sim = sim_launch(RANDOM_TREE, SURVIVE, .seed = seed,
                                 .delay_min_ms = 1, .delay_max_ms = 8);
    struct random random = {0};
    uint32_t fixed, grows;
    int sent = 0;

    random_seed(&random, seed);
    fixed = sim_open_filter(sim, "sum", .kind = STREAM_WAVES, .keep = 4096);
    grows = sim_open_filter(sim, "sum", .kind = STREAM_WAVES, .grow = true);
    for (unsigned round = 0; round < 6; round++) {
        sim_echo(sim);
        for (uint64_t i = random_between(&random, 0, 4); i > 0; i--) {
            sim_send_int(sim, 0, fixed, ++sent);
            sim_send(sim, 0, grows, 100, "%d", 1);
            sim_run(sim, random_between(&random, 0, 30));
        }
        if (random_between(&random, 0, 3) == 0)
            sim_cut(sim, (uint32_t)random_between(&random, 1, 3), 0);
        if (random_between(&random, 0, 3) == 0)
            sim_sync(sim, fixed, NULL);
        if (random_between(&random, 0, 3) == 0)
            sim_attach(sim, (uint32_t)random_between(&random, 1, 3));
        if (round == 2 && random_between(&random, 0, 1))
            sim_kill_at(sim, 2, random_between(&random, 0, 400));
        sim_run(sim, random_between(&random, 0, 60));
        sim_crash(sim, 0);
        sim_run(sim, random_between(&random, 0, 1200));
        CHECK_OK(sim_resume(sim));
        sim_run(sim, random_between(&random, 0, 600));
    }
    sim_echo(sim);
    sim_run(sim,
            90000); /* a joiner that has ended before its ENTER is given up */
    CHECK_IS(sim_sync_now(sim, fixed), 0);
    CHECK_IS(sim_sync_now(sim, grows), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, fixed), (unsigned)sent);
    CU_ASSERT(sent == 0 || sim_last(sim, 0, fixed) == 6 * sent);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 0);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 5000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
    sim_end(sim);
}

/* PROTOCOL 23.8: six crashes of front-ends in each world. Each wave comes once and
 * whole, and syncs return 0. */
TEST(whole_waves_at_random)
{
    play_seeds(play_exact, 60);
}

/* What else happens in a world: one thing at random. */
static void do_something(struct sim *sim,
                         struct random *random,
                         uint32_t grows,
                         uint32_t *spare)
{
    uint32_t inner = (uint32_t)random_between(random, 1, 3);
    uint32_t leaf = (uint32_t)random_between(random, 4, 9);

    switch (random_between(random, 0, 8)) {
    case 0:
        sim_cut(sim, inner, 0);
        return;
    case 1:
        if (sim_parent(sim, leaf) != SIM_NONE)
            sim_cut(sim, leaf, sim_parent(sim, leaf));
        return;
    case 2:
        sim_attach(sim, inner);
        return;
    case 3:
        sim_set_filter_ms(sim, inner, (uint32_t)random_between(random, 0, 40));
        return;
    case 4:
        sim_sync(sim, grows, NULL);
        return;
    case 5:
        sim_ask_open(sim, spare, .up_filter = (char[]){"sum"},
                     .down_filter = (char[]){"count"}, .grow = true);
        return;
    case 6:
        sim_send(sim, 0, *spare, 100, "%d", 1);
        sim_close(sim, 0, *spare);
        return;
    case 7:
        sim_parameters(sim, grows, "%d", (int)leaf);
        return;
    default:
        sim_freeze(sim, inner, random_between(random, 1, 3000));
        return;
    }
}

/* One world: links break, nodes join and stop, streams come and go, while
 * front-ends crash. */
static void play_wild(uint64_t seed)
{
    struct sim *sim = sim_launch(RANDOM_TREE, SURVIVE, .seed = seed,
                                 .delay_min_ms = 1, .delay_max_ms = 12);
    uint32_t total, grows, spare = 0;
    struct random random = {0};
    int truth = 0, value = 0;

    random_seed(&random, seed);
    total = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL,
                            .sync = COP_DO_NOT_WAIT);
    grows = sim_open_filter(sim, "sum", .grow = true, .waves_only = true);
    sim_echo(sim);
    for (unsigned round = 0; round < 8; round++) {
        for (uint64_t i = random_between(&random, 1, 6); i > 0; i--) {
            do_something(sim, &random, grows, &spare);
            sim_send(sim, 0, grows, 100, "%d", 1);
            sim_post_int(sim, (uint32_t)random_between(&random, 4, 9), total,
                         1);
            truth++;
            sim_run(sim, random_between(&random, 0, 300));
        }
        sim_crash(sim, 0);
        sim_run(sim, random_between(&random, 0, 2000));
        CHECK_OK(sim_resume(sim));
        sim_run(sim, random_between(&random, 0, 1000));
    }
    for (uint32_t rank = 1; rank <= 3; rank++)
        sim_set_filter_ms(sim, rank, 0);
    sim_run(sim, 20000);
    CHECK_IS(sim_sync_now(sim, total), 0);
    CHECK_IS(sim_state_now(sim, total, &value), 0);
    CU_ASSERT_EQUAL(value, truth);
    CU_ASSERT(sim_sync_now(sim, grows) >= 0);
    CHECK_IS(sim_sync_now(sim, grows), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 0);
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 5000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT(!sim_is_alive(sim, i));
    sim_end(sim);
}

TEST(much_else_at_random)
{
    play_seeds(play_wild, 40);
}
