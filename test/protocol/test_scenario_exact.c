/* test_scenario_exact.c - streams of whole waves (PROTOCOL 16). */
#include "test/sim/scenario.h"

#include "protocol/node.h"
#include "protocol/stream/waves.h"
#include "wire/packet.h"

#define TREE "0(1(3,4),2(5,6))"

/* Open a stream of whole waves with the filter `sum` to all back-ends. */
#define open_exact(sim, ...)                                                   \
    sim_open_filter(sim, "sum", .kind = STREAM_WAVES, __VA_ARGS__)

/* Every back-end of TREE sends 1, and a commnode dies with its part. */
static void lose_wave(struct sim *sim, uint32_t stream)
{
    sim_send_all(sim, stream, 3, 6, 1);
    sim_kill_at(sim, 1, 0);
}

static uint64_t kept_packets(struct sim *sim, uint32_t rank, uint32_t stream)
{
    uint64_t packets = 0, bytes = 0;

    CHECK_OK(node_unfinal(sim_node(sim, rank), stream, &packets, &bytes));
    return packets;
}

/* PROTOCOL 16.1, 16.4, 16.14: without failures the waves are those of any
 * stream, and no redo begins. A sync returns 0. */
SCENARIO(waves_without_failures, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_echo(sim);
    sim_send_ints(sim, 0, stream, 1, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 10, 40);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 16.5, 16.7, 16.8: the packets in a commnode that dies are sent
 * again, once, and every wave is delivered. */
SCENARIO(a_commnode_dies, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_echo(sim);
    sim_send_ints(sim, 0, stream, 1, 10);
    sim_kill_at(sim, 1, 2);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 10, 40);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
    sim_send_ints(sim, 0, stream, 1, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 20);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
}

/* PROTOCOL 5.5, 16.7: the downstream filter is not one-to-one, so there is no
 * sync; waves are whole nevertheless. */
SCENARIO(a_commnode_dies_of_a_stream_without_syncs, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_WAVES,
                                      .down_filter = (char[]){"int_union"});

    for (int i = 1; i <= 10; i++)
        sim_send_all(sim, stream, 3, 6, i);
    sim_kill_at(sim, 1, 2);
    sim_run(sim, 5000);
    expect_taken(sim, 0, stream, 10, 40);
    for (int i = 1; i <= 10; i++)
        sim_send_all(sim, stream, 3, 6, i);
    sim_run(sim, 5000);
    expect_taken(sim, 0, stream, 20, 40);
    CU_ASSERT(sim_told(sim, 0, TELL_REDO) <= 1);
}

/* A commnode with `orphans` back-ends dies at 100 waves per second; a hop takes
 * 10 ms. Waves continue within three round trips of the tree after the last
 * orphan's report, and each has every back-end. */
static void check_waves_go_on(uint32_t orphans)
{
    uint32_t leaves = orphans + 16, trip_ms = 4 * 10;
    char *tree = sim_spread_tree(orphans);
    struct sim *sim = sim_launch(tree, .delay_min_ms = 10, .delay_max_ms = 10);
    uint32_t stream = open_exact(sim);
    uint32_t kill_ms = 500, ms, last_ms = 0, reported_ms = 0, resumed_ms = 0;
    unsigned taken = 0;

    for (ms = 0; ms < kill_ms + 3000; ms++) {
        for (uint32_t rank = 18; ms % 10 == 0 && rank < 18 + leaves; rank++)
            sim_post_int(sim, rank, stream, 1);
        if (ms == kill_ms)
            sim_kill_at(sim, 1, 0);
        sim_run(sim, 1);
        if (reported_ms == 0 && sim_told(sim, 0, TELL_NODE_ADOPTED) == orphans)
            reported_ms = ms;
        if (sim_taken(sim, 0, stream) == taken)
            continue;
        taken = sim_taken(sim, 0, stream);
        CU_ASSERT_EQUAL(sim_last(sim, 0, stream), (int)leaves);
        if (ms > kill_ms && ms > last_ms + 10 && resumed_ms == 0)
            resumed_ms = ms;
        last_ms = ms;
    }
    CU_ASSERT(reported_ms > kill_ms);
    CU_ASSERT(resumed_ms > kill_ms);
    CU_ASSERT(resumed_ms <= reported_ms + 3 * trip_ms);
    CU_ASSERT(taken > 300);
    sim_end(sim);
    free(tree);
}

TEST(waves_go_on_after_a_commnode_with_many_children)
{
    check_waves_go_on(16);
    check_waves_go_on(128);
}

/* PROTOCOL 16.3, 16_3_filter_fails: the input of a commnode's filter that fails
 * is accounted for: the wave is accepted with fewer contributors, and no redo
 * begins, which could only fail again. */
SCENARIO(scenario_16_3_filter_fails, TREE)
{
    uint32_t stream = open_exact(sim);

    CHECK_OK(sim_send(sim, 3, stream, 100, "%s", "no number"));
    sim_send_all(sim, stream, 4, 6, 1);
    sim_run(sim, 5000);
    expect_told(sim, FILTER_ERROR, 1, 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 2);
    sim_send_all(sim, stream, 3, 6, 1);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 4);
}

/* PROTOCOL 16.4, 16_4_death_no_redo: what a back-end sent before it died
 * counts; later waves are without it; no redo begins. */
SCENARIO(scenario_16_4_death_no_redo, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_trace(sim, SIM_TRACE_DELIVER);
    sim_send_ints(sim, 3, stream, 1, 3);
    sim_run(sim, 20);
    sim_kill_at(sim, 3, 0);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    for (int i = 1; i <= 5; i++)
        sim_send_all(sim, stream, 4, 6, 10);
    sim_run(sim, 100);
    expect_trace(sim,
                 "[ 24] 0 deliver stream 1 wave 1: \"%d\" 31 (4 back-ends)\n"
                 "[ 24] 0 deliver stream 1 wave 2: \"%d\" 32 (4 back-ends)\n"
                 "[ 24] 0 deliver stream 1 wave 3: \"%d\" 33 (4 back-ends)\n"
                 "[ 24] 0 deliver stream 1 wave 4: \"%d\" 30 (3 back-ends)\n"
                 "[ 24] 0 deliver stream 1 wave 5: \"%d\" 30 (3 back-ends)\n");
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 16.4, 16_4_replaced: 3's packet is lost with its commnode, and 4 is
 * given up after its packet came. As many are expected as there are, but the
 * wave waits for 3, and is then without 4. */
SCENARIO(scenario_16_4_replaced, "0(1(3),2(4),5)")
{
    uint32_t stream = open_exact(sim);

    for (uint32_t rank = 3, value = 1; rank <= 5; rank++, value *= 10)
        sim_send_int(sim, rank, stream, (int)value);
    sim_kill_at(sim, 1, 0);
    sim_freeze(sim, 3, 1000);
    sim_kill_at(sim, 4, 10);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    sim_run(sim, 3000);
    expect_taken(sim, 0, stream, 1, 101);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
}

/* PROTOCOL 16.4, 16_4_epoch_empty: all members of an epoch are given up, and a
 * joiner continues in the next. */
SCENARIO(scenario_16_4_epoch_empty, "0(1,2)")
{
    uint32_t stream = open_exact(sim, .grow = true);

    sim_send_int(sim, 1, stream, 5);
    sim_run(sim, 10);
    sim_kill_at(sim, 1, 0);
    sim_kill_at(sim, 2, 0);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 2);
    sim_attach(sim, 0);
    sim_run(sim, 2000);
    sim_send_int(sim, 3, stream, 7);
    sim_run(sim, 100);
    expect_taken(sim, 0, stream, 1, 7);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 16.6, 16_6_keep_full: a send blocks when what is not final is more
 * than `keep`, and goes on when it is. The node lives on meanwhile. */
SCENARIO(scenario_16_6_keep_full, TREE)
{
    uint32_t stream = open_exact(sim, .keep = 150);

    CHECK_OK(sim_send(sim, 3, stream, 100, "%d", 1));
    sim_run(sim, 10);
    CHECK_OK(sim_send(sim, 3, stream, 100, "%d", 1));
    sim_run(sim, 10);
    CHECK_IS(sim_send(sim, 3, stream, 100, "%d", 1), -EAGAIN);
    CU_ASSERT_EQUAL(kept_packets(sim, 3, stream), 2);
    sim_run(sim, 20000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    sim_send_all(sim, stream, 4, 6, 1);
    /* The packet that reaches half of `keep` asks for FINAL. */
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(kept_packets(sim, 3, stream), 1);
    CHECK_OK(sim_send(sim, 3, stream, 100, "%d", 1));
}

/* PROTOCOL 16.5, 16_5_final_new_link: FINAL is lost with a link; an orphan that
 * waits for it gets it with its new parent. */
SCENARIO(scenario_16_5_final_new_link, TREE)
{
    uint32_t stream = open_exact(sim, .keep = 64);

    sim_run(sim, 100);
    sim_send_all(sim, stream, 3, 6, 1);
    sim_run(sim, 2);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 1);
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 1);
    CU_ASSERT_EQUAL(kept_packets(sim, 3, stream), 1);
    sim_run(sim, 300);
    CU_ASSERT_EQUAL(kept_packets(sim, 3, stream), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 16.7, 16_7_lazy: a commnode dies while a member computes: the redo
 * begins when that member has sent, not before. */
SCENARIO(scenario_16_7_lazy, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_send_all(sim, stream, 3, 5, 1);
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
    sim_send_int(sim, 6, stream, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 4);
}

/* PROTOCOL 16.7, 16_7_request_response: all members wait for the answer to the
 * wave that died: RESUME alone says that it was answered. */
SCENARIO(scenario_16_7_request_response, TREE)
{
    uint32_t stream = open_exact(sim);

    lose_wave(sim, stream);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
    expect_taken(sim, 0, stream, 1, 4);
}

/* PROTOCOL 16.7, 16_7_limbo: no node adopts an orphan, so no redo begins; when
 * the orphan is given up, the wave is accepted without it. */
SCENARIO(scenario_16_7_limbo, "0(1(3),2(4))")
{
    uint32_t stream = open_exact(sim);

    sim_send_all(sim, stream, 3, 4, 1);
    sim_freeze(sim, 3, 200000);
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 50000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
    sim_run(sim, 40000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    expect_taken(sim, 0, stream, 1, 1);
}

/* PROTOCOL 16.7, 16_7_behind_data: REDO reaches back-ends whose applications
 * take nothing. */
SCENARIO(scenario_16_7_behind_data, TREE)
{
    uint32_t stream = open_exact(sim);

    for (uint32_t rank = 3; rank <= 6; rank++)
        sim_by_hand(sim, rank);
    sim_send_ints(sim, 0, stream, 0, 9);
    sim_run(sim, 50);
    lose_wave(sim, stream);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 4);
}

/* PROTOCOL 16.8, 16_8_filter_running: REDO comes while a filter call is out: its
 * result is dropped, and the wave comes once. */
SCENARIO(scenario_16_8_filter_running, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_set_filter_ms(sim, 2, 2000);
    lose_wave(sim, stream);
    sim_run(sim, 20000);
    expect_taken(sim, 0, stream, 1, 4);
}

/* The only packet of a child in wave 1. */
static struct frame packet_of(uint32_t rank, uint32_t generation)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = FRAME_WAVES | FRAME_LAST,
        .origin = rank,
        .contributors = 1,
        .generation = generation,
        .wave = 1,
        .check = waves_hash(rank),
    };

    CHECK_OK(packet_pack(&frame.payload, "%d", 1));
    return frame;
}

/* PROTOCOL 16.8, 16_8_newer: a child is in generation 1, its parent in 0. The
 * child's packets are kept until the parent reads REDO. (In a network REDO
 * comes before the answer to a probe, so the tally is tested alone.) */
TEST(scenario_16_8_newer)
{
    struct frame newer = packet_of(4, 1), old = packet_of(3, 0);
    struct frame again = packet_of(3, 1);
    struct wave_number start = {0};
    struct tally_set set;
    struct tally *tally;

    CHECK_OK(tally_new(&tally));
    for (uint32_t rank = 3; rank <= 4; rank++) {
        CHECK_OK(tally_join(tally, rank, rank, start));
        CHECK_OK(tally_expect(tally, rank, rank, true));
    }
    CHECK_OK(tally_put(tally, 4, 4, &newer, 0));
    CHECK_IS(tally_next(tally, &set), TALLY_NOTHING);
    tally_enter(tally, 1, 0);
    CHECK_OK(tally_put(tally, 3, 3, &old, 0));
    CHECK_IS(tally_next(tally, &set), TALLY_NOTHING);
    CHECK_OK(tally_put(tally, 3, 3, &again, 0));
    CHECK_IS(tally_next(tally, &set), TALLY_WAVE);
    CU_ASSERT_EQUAL(set.number.generation, 1);
    CU_ASSERT_EQUAL(set.check, waves_hash(3) + waves_hash(4));
    CU_ASSERT_EQUAL(set.set.count, 2);
    for (size_t i = 0; i < set.set.count; i++)
        frame_fini(&set.set.frames[i]);
    tally_free(tally);
}

/* PROTOCOL 16.8, 16_8_overlap: one commnode after the other dies under the redo
 * for the one before: at most one redo for each. */
SCENARIO(scenario_16_8_overlap, "0(1(4,5),2(6,7),3(8,9))")
{
    uint32_t stream = open_exact(sim);

    for (int i = 1; i <= 20; i++)
        sim_send_all(sim, stream, 4, 9, i);
    sim_kill_at(sim, 1, 0);
    sim_wait(sim, 0, TELL_REDO);
    sim_kill_at(sim, 2, 1);
    sim_wait(sim, 0, TELL_REDO);
    sim_kill_at(sim, 3, 1);
    sim_run(sim, 10000);
    expect_taken(sim, 0, stream, 20, 120);
    CU_ASSERT(sim_told(sim, 0, TELL_REDO) <= 3);
}

/* PROTOCOL 16.8, 16_8_thawed: a commnode was stopped over a redo; what it then
 * has to say is dropped. */
SCENARIO(scenario_16_8_thawed, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_send_all(sim, stream, 3, 6, 1);
    sim_freeze(sim, 1, 10000);
    sim_run(sim, 8000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 1);
    sim_run(sim, 30000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 1);
    sim_send_all(sim, stream, 3, 6, 2);
    sim_run(sim, 100);
    expect_taken(sim, 0, stream, 2, 8);
}

/* PROTOCOL 16.9: a link ends in the middle of a wave of several packets. The
 * rest is not sent, as its check would cover the lost packets. */
TEST(a_wave_that_was_sent_in_part)
{
    struct sim *sim =
        sim_launch("0(1(3,4),2)", .bytes_per_ms = 100, .budget = 64u << 10);
    uint32_t stream = sim_open_stream(sim, .kind = STREAM_WAVES);

    for (uint32_t rank = 2; rank <= 4; rank++)
        CHECK_OK(sim_send_bytes(sim, rank, stream, 60000));
    sim_run(sim, 900);
    sim_cut(sim, 1, 0);
    sim_run(sim, 20000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 1);
    sim_end(sim);
}

/* PROTOCOL 16.9, 11.2: 1 adopts 5 and claims it; the loss of 6 reaches the
 * front-end between 1's claims on stream 0 and on the stream. For a moment the
 * front-end sees no member that counts at 1, which always has one. */
TEST(a_claim_on_the_stream_crosses_a_loss)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sim *sim = sim_launch("0(1(3(5),4(6)),2)", .seed = seed,
                                     .delay_min_ms = 1, .delay_max_ms = 9);
        uint32_t stream = open_exact(sim);

        sim_kill_at(sim, 3, 10);
        sim_kill_at(sim, 6, 10 + seed % 40);
        sim_wait(sim, 0, TELL_BACKEND_LOST);
        sim_run(sim, 100);
        sim_send_int(sim, 2, stream, 1);
        sim_send_int(sim, 5, stream, 1);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        expect_taken(sim, 0, stream, 1, 2);
        sim_end(sim);
    }
}

/* PROTOCOL 16.9: OPEN crosses claims on stream 0. The front-end opens the
 * stream with one member of a branch, or none, and the child with another one:
 * the child is asked from which wave it counts. */
TEST(a_claim_crosses_the_opening)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sim *sim = sim_launch("0(1,2(3),4(5))", .seed = seed,
                                     .delay_min_ms = 2, .delay_max_ms = 22);
        uint32_t stream;

        sim_run(sim, 200);
        sim_cut(sim, 5, 4);
        sim_run(sim, seed % 60);
        sim_cut(sim, 3, 2);
        sim_run(sim, seed * 7 % 90);
        stream = open_exact(sim);
        sim_run(sim, 2000);
        sim_send_int(sim, 1, stream, 1);
        sim_send_int(sim, 3, stream, 1);
        sim_send_int(sim, 5, stream, 1);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        expect_taken(sim, 0, stream, 1, 3);
        sim_end(sim);
    }
}

/* PROTOCOL 16.10, 16_10_unequal: members have sent unequal numbers of packets,
 * and a commnode dies with the end of the epoch in it. */
SCENARIO(scenario_16_10_unequal, TREE)
{
    uint32_t stream = open_exact(sim);

    for (int i = 1; i <= 5; i++)
        sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 4, stream, 10);
    sim_send_int(sim, 5, stream, 100);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_kill_at(sim, 1, 3);
    sim_wait(sim, 0, TELL_SYNCED);
    CHECK_IS(sim_code(TELL_SYNCED), 0);
    expect_taken(sim, 0, stream, 5, 1);
}

/* PROTOCOL 16.10, 16_10_end_sent_again: a member that sent nothing has ended its
 * epoch with its first wave; a redo behind this wave needs that end again. */
SCENARIO(scenario_16_10_end_sent_again, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_by_hand(sim, 6);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 10);
    for (int i = 1; i <= 3; i++)
        sim_send_all(sim, stream, 4, 6, i);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3);
    sim_send_ints(sim, 6, stream, 4, 6);
    sim_kill_at(sim, 2, 1);
    sim_run(sim, 2000);
    CHECK_IS(sim_receive(sim, 6, stream), 1);
    CHECK_IS(sim_receive(sim, 6, stream), 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 6);
    CU_ASSERT(sim_told(sim, 0, TELL_REDO) <= 1);
}

/* PROTOCOL 16.10: a wave waits for the front-end's application, and one of two
 * members has settled the marker that names a joiner. A sync lets the wave be
 * accepted, with its marker, and still waits for the end of its own epoch. */
TEST(scenario_16_10_sync_lets_waves_go)
{
    struct sim *sim = sim_launch("0(1,2)");
    uint32_t stream = sim_open_stream(sim, .kind = STREAM_WAVES, .grow = true);
    uint32_t len = LIMIT_WINDOW_MAX / 2;
    char *bytes = calloc(1, len);

    sim_by_hand(sim, 0);
    sim_by_hand(sim, 2);
    sim_send_int(sim, 0, stream, 1);
    for (uint32_t rank = 1; rank <= 2; rank++)
        CHECK_OK(sim_send(sim, rank, stream, 100, "%ac", bytes, len));
    sim_send_all(sim, stream, 1, 2, 5);
    sim_attach(sim, 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 2);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    CHECK_IS(sim_receive(sim, 2, stream), 1);
    CHECK_IS(sim_receive(sim, 2, stream), 0);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
    sim_end(sim);
    free(bytes);
}

/* PROTOCOL 16.11, 16_11_joiner: no wave waits for a joiner before a marker
 * names it; a sync between its ENTER and that marker makes no short wave. */
SCENARIO(scenario_16_11_joiner, "0(1(3,4),2)")
{
    uint32_t stream = open_exact(sim, .grow = true);

    sim_send_all(sim, stream, 2, 4, 1);
    sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_send_all(sim, stream, 2, 4, 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, 2, 3);
    sim_run(sim, 100);
    sim_send_all(sim, stream, 2, 5, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 4);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 16.11, 16_11_sync_awaits: a sync that begins after ENTER, and before
 * a marker that names the joiner, covers the joiner's answer to a packet from
 * before. */
SCENARIO(scenario_16_11_sync_awaits, "0(1(3,4),2)")
{
    uint32_t stream = open_exact(sim, .grow = true);

    sim_attach(sim, 1);
    sim_by_hand(sim, 5);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_send_int(sim, 0, stream, 7);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    CHECK_IS(sim_receive(sim, 5, stream), 1);
    sim_send_int(sim, 5, stream, 9);
    CHECK_IS(sim_receive(sim, 5, stream), 0);
    sim_wait(sim, 0, TELL_SYNCED);
    expect_taken(sim, 0, stream, 1, 9);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 16.11, 16_11_sync_spared: that joiner is given up, and the sync does
 * not wait for it any more. */
SCENARIO(scenario_16_11_sync_spared, "0(1(3,4),2)")
{
    uint32_t stream = open_exact(sim, .grow = true);

    sim_attach(sim, 1);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    sim_kill_at(sim, 5, 0);
    CHECK_OK(sim_sync(sim, stream, NULL));
    sim_run(sim, 50000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 0);
    sim_run(sim, 30000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_SYNCED), 1);
}

/* PROTOCOL 16.11, 16_11_joiner_dies: a joiner dies before a marker names it, and
 * another one after: no wave waits for either. */
SCENARIO(scenario_16_11_joiner_dies, "0(1(3,4),2)")
{
    uint32_t stream = open_exact(sim, .grow = true);

    for (uint32_t joiner = 5; joiner <= 6; joiner++) {
        sim_attach(sim, 1);
        sim_wait(sim, 0, TELL_BACKEND_JOINED);
        CU_ASSERT_EQUAL(sim_about(TELL_BACKEND_JOINED), joiner);
        if (joiner == 6) {
            CHECK_IS(sim_sync_now(sim, stream), 0);
            sim_run(sim, 100);
            sim_send_all(sim, stream, 2, 4, 1);
            sim_send_int(sim, 6, stream, 1);
            sim_run(sim, 100);
            CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 4);
        }
        sim_kill_at(sim, joiner, 0);
        sim_send_all(sim, stream, 2, 4, 1);
        sim_run(sim, 80000);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), joiner - 4);
        CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 3);
        CHECK_IS(sim_sync_now(sim, stream), 0);
    }
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 3);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 16.12, 16_12_leave: a back-end that leaves stays until all that it
 * has sent is final, even if a commnode dies meanwhile. */
SCENARIO(scenario_16_12_leave, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_send_int(sim, 3, stream, 1);
    sim_run(sim, 10);
    CHECK_OK(sim_shutdown(sim, 3));
    sim_kill_at(sim, 1, 0);
    sim_run(sim, 2000);
    CU_ASSERT(!sim_has_exited(sim, 3));
    sim_send_all(sim, stream, 4, 6, 1);
    sim_run(sim, 2000);
    expect_taken(sim, 0, stream, 1, 4);
    CU_ASSERT(sim_has_exited(sim, 3));
}

/* On two streams back-end 1 has sent two packets and one, back-end 2 one and
 * two, and 3 has sent `others` on each. Then 1 and 2 leave. Neither has read the
 * packet that it was sent on each stream. */
static void leave_crosswise(struct sim *sim, uint32_t *streams, int others)
{
    for (uint32_t k = 0; k < 2; k++)
        streams[k] = open_exact(sim);
    for (uint32_t rank = 1; rank <= 2; rank++)
        sim_by_hand(sim, rank);
    for (uint32_t k = 0; k < 2; k++) {
        sim_send_int(sim, 0, streams[k], 1);
        for (uint32_t rank = 1; rank <= 2; rank++)
            sim_send_ints(sim, rank, streams[k], 1, rank == k + 1 ? 2 : 1);
        sim_send_ints(sim, 3, streams[k], 1, others);
    }
    sim_run(sim, 20);
    for (uint32_t rank = 1; rank <= 2; rank++)
        CHECK_OK(sim_shutdown(sim, rank));
    sim_run(sim, 100);
}

/* PROTOCOL 11.6, 16.12: back-ends that leave together do not wait for each
 * other's packets. */
SCENARIO(leavers_do_not_wait_for_each_other, "0(1,2,3)")
{
    uint32_t streams[2];

    leave_crosswise(sim, streams, 2);
    sim_run(sim, 1000); /* FINAL goes with a heartbeat */
    for (uint32_t rank = 1; rank <= 2; rank++)
        CU_ASSERT(sim_has_exited(sim, rank));
    CU_ASSERT_EQUAL(sim_code(TELL_ENDED), 1);
    for (uint32_t k = 0; k < 2; k++) {
        expect_taken(sim, 0, streams[k], 2, 4);
        CHECK_IS(sim_sync_now(sim, streams[k]), 0);
    }
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 11.6: a back-end that leaves settles each marker, whatever its
 * application has not read. */
SCENARIO(a_leaver_delays_no_sync, "0(1,2,3)")
{
    uint32_t streams[2];

    leave_crosswise(sim, streams, 1);
    for (uint32_t rank = 1; rank <= 2; rank++)
        CU_ASSERT(!sim_has_exited(sim, rank));
    for (uint32_t k = 0; k < 2; k++) {
        CHECK_IS(sim_sync_now(sim, streams[k]), 0);
        expect_taken(sim, 0, streams[k], 2, 2);
    }
    sim_run(sim, 1000);
    for (uint32_t rank = 1; rank <= 2; rank++)
        CU_ASSERT(sim_has_exited(sim, rank));
    CU_ASSERT_EQUAL(sim_code(TELL_ENDED), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_REDO), 0);
}

/* PROTOCOL 11.6: the packets that a leaver does not read hold no credit. */
SCENARIO(a_leaver_returns_credit, "0(1,2)")
{
    uint32_t exact = open_exact(sim);
    uint32_t stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT);

    sim_send_int(sim, 1, exact, 1);
    sim_by_hand(sim, 1);
    for (int i = 0; i < 32; i++) {
        if (i == 8)
            CHECK_OK(sim_shutdown(sim, 1));
        CHECK_OK(sim_send_bytes(sim, 0, stream, LIMIT_WINDOW_MAX / 8));
        sim_run(sim, 1000);
    }
    CU_ASSERT(!sim_has_exited(sim, 1));
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 32);
    CHECK_IS(sim_sync_now(sim, stream), 0);
}

/* PROTOCOL 16.5: FINAL goes ahead of SHUTDOWN, so a leaver whose packets were
 * accepted has left. */
SCENARIO(a_leaver_learns_at_the_end_what_is_final, "0(1(2),3)")
{
    uint32_t stream = open_exact(sim);

    sim_send_all(sim, stream, 2, 3, 1);
    CHECK_OK(sim_shutdown(sim, 2));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(!sim_has_exited(sim, 2));
    CHECK_OK(sim_shutdown(sim, 0));
    for (int ms = 0; ms < 100 && sim_told(sim, 2, TELL_ENDED) == 0; ms++)
        sim_run(sim, 1);
    CU_ASSERT(sim_has_exited(sim, 2));
    CU_ASSERT_EQUAL(sim_code(TELL_ENDED), 1);
}

/* PROTOCOL 11.6, 16.12: a stream is closed on which a leaver waits. */
SCENARIO(a_leaver_forgets_a_closed_stream, TREE)
{
    uint32_t stream = open_exact(sim);

    sim_send_int(sim, 3, stream, 1);
    CHECK_OK(sim_shutdown(sim, 3));
    sim_run(sim, 100);
    CU_ASSERT(!sim_has_exited(sim, 3));
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, 100);
    CU_ASSERT(sim_has_exited(sim, 3));
}

/* PROTOCOL 11.6: the network ends, or the leaver is told to end, before what it
 * has sent is accepted. It has not left. */
TEST(a_leaver_knows_whether_all_was_accepted)
{
    for (uint32_t asked = 0; asked <= 1; asked++) {
        struct sim *sim = sim_launch("0(1,2)");
        uint32_t stream = open_exact(sim);

        sim_send_int(sim, 1, stream, 1);
        CHECK_OK(sim_shutdown(sim, 1));
        sim_run(sim, 1000);
        CHECK_OK(sim_shutdown(sim, asked));
        for (int ms = 0; ms < 100 && sim_told(sim, 1, TELL_ENDED) == 0; ms++)
            sim_run(sim, 1);
        CU_ASSERT(sim_has_exited(sim, 1));
        CU_ASSERT_EQUAL(sim_code(TELL_ENDED), 0);
        sim_end(sim);
    }
}

/* PROTOCOL 16.11, 16.12: a joiner waits until a marker names it, while another
 * stream keeps it from leaving. It delays no wave of the marker's epoch. */
SCENARIO(a_joiner_leaves_before_it_counts, "0(1,2)")
{
    uint32_t first = open_exact(sim), stream = open_exact(sim, .grow = true);
    uint32_t joiner;

    (void)first;
    joiner = sim_attach(sim, 0);
    sim_wait(sim, 0, TELL_BACKEND_JOINED);
    CHECK_OK(sim_shutdown(sim, joiner));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_send_all(sim, stream, 1, 2, 1);
    sim_run(sim, 100);
    expect_taken(sim, 0, stream, 1, 2);
}

/* PROTOCOL 16.13: a wave for which too many redos have begun ends the stream
 * with an error that says so. */
SCENARIO(too_many_redos_end_the_stream, "0(1(4,5),2(6,7),3(8,9))")
{
    uint32_t stream = open_exact(sim, .redo_limit = 1);

    for (int i = 1; i <= 20; i++)
        sim_send_all(sim, stream, 4, 9, i);
    sim_kill_at(sim, 1, 0);
    sim_wait(sim, 0, TELL_REDO);
    sim_kill_at(sim, 2, 1);
    sim_wait(sim, 0, TELL_STREAM_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(sim_text(TELL_STREAM_FAILED),
                                  "did not become whole in 1 redos"));
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 4, TELL_CLOSED), 1);
    CHECK_IS(sim_send(sim, 4, stream, 100, "%d", 1), -ENOENT);
}
