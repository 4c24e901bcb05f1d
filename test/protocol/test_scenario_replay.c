/* test_scenario_replay.c - losses by an adoption: upwards they are compensated
 * (PROTOCOL 9), downwards packets are replayed (PROTOCOL 10.3 to 10.5). */
#include "test/sim/scenario.h"

#define TREE   "0(1(2(4,5),3(6,7)))"
#define VALUES 64

/* The set of values that the front-end has received on one "%ad" stream. */
static struct {
    unsigned times[VALUES];
    unsigned compensations;
} joined;

static void note_join(struct sim *sim,
                      uint32_t index,
                      uint32_t stream,
                      const struct frame *frame,
                      void *arg)
{
    struct cop_packet *packet;
    const int32_t *values;
    uint32_t count;

    (void)sim;
    (void)index;
    (void)stream;
    (void)arg;
    CHECK_OK(packet_open(&packet, frame->payload));
    CHECK_OK(cop_packet_unpack(packet, "%ad", &values, &count));
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_FATAL(values[i] >= 0 && values[i] < VALUES);
        joined.times[values[i]]++;
    }
    joined.compensations += frame->count == 0;
    cop_packet_free(packet);
}

static struct sim *begin_union(uint32_t *stream)
{
    struct sim *sim = sim_launch(TREE);
    struct sim_app app = {.taken = note_join};

    memset(&joined, 0, sizeof(joined));
    sim_set_app(sim, 0, &app);
    *stream = sim_open_filter(sim, "int_union");
    return sim;
}

/* PROTOCOL 9.1, 9.2, 9.3: values in a dead commnode's queue come again, from
 * the states below it; in no wave, and each once. */
TEST(the_state_comes_again)
{
    for (uint64_t at_ms = 0; at_ms <= 6; at_ms++) {
        uint32_t stream;
        struct sim *sim = begin_union(&stream);

        CU_ASSERT(node_is_recoverable(sim_node(sim, 0), stream));
        for (uint32_t rank = 4; rank <= 7; rank++)
            sim_send_set(sim, rank, stream, (int)rank);
        sim_kill_at(sim, 2, at_ms);
        sim_run(sim, 200);
        for (uint32_t rank = 4; rank <= 7; rank++)
            CU_ASSERT_EQUAL(joined.times[rank], 1);
        for (uint32_t rank = 4; rank <= 7; rank++)
            sim_send_set(sim, rank, stream, 10 + (int)rank);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        for (uint32_t rank = 4; rank <= 7; rank++)
            CU_ASSERT_EQUAL(joined.times[10 + rank], 1);
        sim_end(sim);
    }
}

/* PROTOCOL 9.2: values that the dead commnode held come as a compensation. */
TEST(a_compensation_is_in_no_wave)
{
    uint32_t stream;
    struct sim *sim = begin_union(&stream);

    /* 5 has not sent: 2 holds the packet of 4, and dies with it. */
    sim_send_set(sim, 4, stream, 4);
    sim_run(sim, 20);
    CU_ASSERT_EQUAL(joined.times[4], 0);
    sim_crash(sim, 2);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(joined.times[4], 1);
    CU_ASSERT(joined.compensations >= 1);
    sim_end(sim);
}

/* PROTOCOL 9.3, 10.6: where there is nothing to recover from, the sync says
 * so, and the one after it does not. */
SCENARIO(a_lossy_sync_says_so, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    CU_ASSERT_FALSE(node_is_recoverable(sim_node(sim, 0), stream));
    sim_send_int(sim, 4, stream, 4);
    sim_run(sim, 20);
    sim_crash(sim, 2);
    sim_run(sim, 100);
    CHECK_IS(sim_sync_now(sim, stream), 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 10.6: two links end, each with packets of another stream. */
SCENARIO(a_lossy_sync_knows_its_losers, "0(1(3,4),2(5,6))")
{
    uint32_t streams[2];

    for (uint32_t i = 0; i < 2; i++) {
        struct ranks pair = sim_ranks(2, 3 + 2 * i, 4 + 2 * i);

        streams[i] = sim_open_stream(sim, .members = pair);
        ranks_fini(&pair);
    }
    sim_trace(sim, SIM_TRACE_TELL);
    for (uint32_t i = 0; i < 2; i++)
        sim_send_all(sim, streams[i], 3 + 2 * i, 4 + 2 * i, 1);
    sim_run(sim, 20);
    sim_cut(sim, 3, 1);
    sim_cut(sim, 5, 2);
    sim_run(sim, 1000);
    for (uint32_t i = 0; i < 2; i++) {
        struct ranks loser = sim_ranks(1, 3 + 2 * i);

        CHECK_IS(sim_sync_now(sim, streams[i]), 1);
        CU_ASSERT(
            ranks_equal(node_losers(sim_node(sim, 0), streams[i]), &loser));
        ranks_fini(&loser);
    }
    expect(sim, "3 told lossy stream 1, link to 1");
    expect(sim, "5 told lossy stream 2, link to 2");
}

/* PROTOCOL 10.6, 12.3: one that has joined has put out nothing of the epoch
 * that it begins with, so its parent takes nothing along (seed 1307). */
SCENARIO(a_node_that_sent_nothing_loses_nothing, TREE)
{
    uint32_t stream = sim_open_stream(sim, .grow = true);
    uint32_t joiner = sim_attach(sim, 2);

    sim_run(sim, 100);
    CU_ASSERT(ranks_has(node_members(sim_node(sim, 0), stream),
                        sim_rank(sim, joiner)));
    sim_crash(sim, 2);
    sim_run(sim, 100);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* Open a stream, let every back-end answer one packet, and sync: all answers
 * are in one wave. */
static void use_new_stream(struct sim *sim, uint32_t count)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    sim_echo(sim);
    sim_send_int(sim, 0, stream, 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 1, (int)count);
}

/* PROTOCOL 3.2, 4.5, 10.4: a stream that is opened while orphans look for
 * parents, at any moment, reaches all of them, and waits for no absent node
 * (seeds 1243, 2188). */
TEST(streams_open_during_adoptions)
{
    static const char *const trees[] = {
        TREE,
        "0(1(2(10(11))),3,5)",
        "0(1(2(3(8(9)),4(5,6)),7))",
    };

    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
        for (uint64_t at_ms = 0; at_ms <= 25; at_ms++) {
            struct sim *sim = sim_launch(trees[i]);
            const struct ranks *all = node_backends(sim_node(sim, 0));

            sim_crash(sim, i == 1 ? 10 : 2);
            sim_run(sim, at_ms);
            use_new_stream(sim, (uint32_t)ranks_size(all));
            sim_end(sim);
        }
}

/* PROTOCOL 8.4, 4.4: one that asked, and went elsewhere, is waited for on no
 * stream that was opened meanwhile (seed 2188). */
SCENARIO(an_orphan_that_only_asked_is_not_a_child, "0(1,3(7(11),10))")
{
    sim_freeze(sim, 0, LIMIT_FAILURE_TIMEOUT_MS + 500);
    sim_crash(sim, 7);
    sim_run(sim, 10);
    use_new_stream(sim, 3);
}

/* PROTOCOL 10.3, 10.4, 10.5: every live member gets every packet once and in
 * order, whenever its parent dies while packets are in flight. */
TEST(packets_are_sent_again)
{
    for (uint64_t at_ms = 0; at_ms <= 10; at_ms++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = sim_open_filter(sim, "");

        sim_freeze(sim, 5, 5);
        sim_kill_at(sim, 2, at_ms);
        for (int i = 1; i <= 10; i++) {
            sim_send_int(sim, 0, stream, i);
            sim_run(sim, 1);
        }
        CHECK_OK(sim_sync_now(sim, stream));
        for (uint32_t rank = 4; rank <= 7; rank++)
            expect_taken(sim, rank, stream, 10, 10);
        sim_end(sim);
    }
}

/* PROTOCOL 10.4: an adopted child that is far behind is fed from where it is;
 * the other children are not delayed and take nothing twice. */
SCENARIO(a_child_is_fed_from_where_it_stands, TREE)
{
    uint32_t stream = sim_open_filter(sim, "");

    sim_mute(sim, 2, 4);
    sim_send_ints(sim, 0, stream, 1, 50);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_taken(sim, 4, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 5, stream), 50);
    sim_run(sim, LIMIT_FAILURE_TIMEOUT_MS + 500);
    CU_ASSERT_EQUAL(sim_told(sim, 4, TELL_NODE_ADOPTED), 1);
    for (uint32_t rank = 4; rank <= 7; rank++)
        expect_taken(sim, rank, stream, 50, 50);
}

/* PROTOCOL 3.1: a router that was stopped while a stream was opened, one closed
 * and a member lost has the same streams and members as its adopter. */
SCENARIO(a_thawed_router_catches_up, "0(1(3,4),2(5,6))")
{
    uint32_t closed = sim_open_filter(sim, "sum"), opened;
    const struct ranks *members;
    const struct node *router;

    sim_freeze(sim, 2, 20000);
    sim_run(sim, 6000);
    CHECK_OK(sim_close(sim, 0, closed));
    opened = sim_open_filter(sim, "int_union");
    sim_crash(sim, 4); /* a certain end */
    sim_run(sim, 5000);
    CHECK_OK(sim_sync_now(sim, opened));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT_PTR_NULL(node_members(sim_node(sim, 0), closed));
    sim_run(sim, 15000);
    router = sim_node(sim, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(router);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 2), SIM_NONE);
    CU_ASSERT_PTR_NULL(node_members(router, closed));
    members = node_members(router, opened);
    CU_ASSERT_PTR_NOT_NULL_FATAL(members);
    CU_ASSERT_EQUAL(ranks_size(members), 3);
    CU_ASSERT_FALSE(ranks_has(members, 4));
    /* it is a parent again, of back-ends that are as far behind */
    sim_crash(sim, 1);
    sim_run(sim, 1000);
    sim_send_set(sim, 3, opened, 3);
    sim_send_set(sim, 5, opened, 5);
    CHECK_IS(sim_sync_now(sim, opened), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
}

/* PROTOCOL 9.1: a node gives its state to a new parent though no member is left
 * below it. A member that is in that state may come back, and what its filter
 * knows already it does not put out again (seeds 3886 and 6690). */
SCENARIO(a_state_goes_up_from_a_node_without_members, "0(1(2(3)),4,5)")
{
    struct sim_app app = {.taken = note_join};
    uint32_t stream;

    memset(&joined, 0, sizeof(joined));
    sim_set_app(sim, 0, &app);
    stream = sim_open_filter(sim, "int_union");
    /* 1 has taken the values of 3, and its output is lost */
    sim_mute(sim, 1, 0);
    sim_send_set(sim, 3, stream, 3);
    sim_run(sim, 10);
    sim_crash(sim, 2);
    sim_isolate(sim, 3, sim_now_ms(sim) + 1000);
    sim_run(sim, 10);
    sim_cut(sim, 1, 0);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
    sim_run(sim, 15000);
    CU_ASSERT_EQUAL(sim_parent(sim, 3), 1);
    for (uint32_t rank = 3; rank <= 5; rank++)
        sim_send_set(sim, rank, stream, 10 + (int)rank);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(joined.times[3], 1);
    CU_ASSERT_EQUAL(joined.times[13], 1);
}

/* PROTOCOL 3.1: a node that a snapshot has brought up to date holds none of the
 * packets before, and so brings its own children up to date by another (seeds
 * 26357 and 20214). */
SCENARIO(a_snapshot_is_followed_by_another, "0(1(2(3,4(5))))")
{
    const struct node *router;
    uint32_t opened;

    sim_isolate(sim, 4, sim_now_ms(sim) + 6400);
    sim_isolate(sim, 1, sim_now_ms(sim) + 4600);
    sim_run(sim, 4000);
    opened = sim_open_filter(sim, "sum");
    sim_run(sim, 6000);
    /* both were away when the stream was opened, and now know it */
    CU_ASSERT_EQUAL(sim_parent(sim, 1), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 4), 1);
    for (uint32_t rank = 1; rank <= 4; rank += 3) {
        router = sim_node(sim, rank);
        CU_ASSERT_PTR_NOT_NULL_FATAL(router);
        CU_ASSERT_PTR_NOT_NULL(node_members(router, opened));
    }
}
