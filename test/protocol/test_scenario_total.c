/* test_scenario_total.c - streams of totals (PROTOCOL 17). Each back-end sends
 * numbers of its own power of ten, so a total shows how often each counts. */

#include "test/sim/scenario.h"

#define TREE "0(1(3,4),2(5,6))"

/* The number that each rank sends. */
static int part_of(uint32_t rank)
{
    int part = 1;

    for (uint32_t i = 3; i < rank; i++)
        part *= 10;
    return part;
}

static uint32_t open_total(struct sim *sim)
{
    return sim_open_filter(sim, "sum", .kind = STREAM_TOTAL,
                           .sync = COP_DO_NOT_WAIT);
}

/* Send the part of every live back-end. */
static void send_parts(struct sim *sim, uint32_t stream)
{
    for (uint32_t rank = 3; rank < sim_count(sim); rank++)
        if (sim_is_alive(sim, rank) && sim_role(sim, rank) == NODE_BACKEND)
            sim_send_int(sim, rank, stream, part_of(rank));
}

/* The sum of `times` parts of each present member. */
static int truth(struct sim *sim, uint32_t stream, int times)
{
    const struct ranks *members = node_members(sim_node(sim, 0), stream);
    int total = 0;

    for (uint32_t rank = 3; rank < sim_count(sim); rank++)
        if (ranks_has(members, rank))
            total += times * part_of(rank);
    return total;
}

/* Check the total if it is exact. Returns the code of cop_stream_state(). */
static int look(struct sim *sim, uint32_t stream, int times, int left)
{
    int total = 0;
    int code = sim_state_now(sim, stream, &total);

    if (code == 0 && total != truth(sim, stream, times) + left)
        printf("\n%d is vouched for at %u ms, the truth is %d\n", total,
               (unsigned)sim_now_ms(sim), truth(sim, stream, times) + left);
    CU_ASSERT(code != 0 || total == truth(sim, stream, times) + left);
    return code;
}

/* Check that a sync returns 0, and that the total is then exact. */
#define SYNCED(times, left)                                                    \
    do {                                                                       \
        CHECK_IS(sim_sync_now(sim, stream), 0);                                \
        CHECK_IS(look(sim, stream, times, left), 0);                           \
    } while (0)

/* Check the total and the code with which the front-end answers. */
#define STATE(code, value)                                                     \
    do {                                                                       \
        int total_ = 0;                                                        \
                                                                               \
        CHECK_IS(sim_state_now(sim, stream, &total_), code);                   \
        CU_ASSERT_EQUAL(total_, value);                                        \
    } while (0)

/* PROTOCOL 17.1, 17.2: without failures the total is that of all packets, with
 * any synchronisation, however many each member has sent. */
TEST(a_total_has_all_that_was_sent)
{
    for (unsigned sync = COP_WAIT_FOR_ALL; sync <= COP_TIME_OUT; sync++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = sim_open_filter(
            sim, "sum", .kind = STREAM_TOTAL, .sync = (enum cop_sync)sync,
            .wave_timeout_ms = sync == COP_TIME_OUT ? 5 : 0);

        CHECK_IS(sim_state_now(sim, stream, NULL), 0);
        for (uint32_t rank = 3; rank <= 6; rank++)
            for (uint32_t i = 0; i < rank; i++)
                sim_send_int(sim, rank, stream, part_of(rank));
        CHECK_IS(sim_sync_now(sim, stream), 0);
        STATE(0, 3 + 40 + 500 + 6000);
        CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 0);
        sim_end(sim);
    }
}

/* PROTOCOL 17.3, 17.4: each commnode dies at each moment of some traffic. The
 * next sync returns 0, and the total is right. */
TEST(a_dead_commnode_costs_nothing)
{
    for (uint32_t victim = 1; victim <= 2; victim++) {
        for (uint64_t at_ms = 0; at_ms < 12; at_ms++) {
            struct sim *sim = sim_launch("0(1(2(5,6),3),4(7))");
            uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL);
            int total = 0;

            sim_kill_at(sim, victim, at_ms);
            for (int i = 0; i < 4; i++) {
                sim_send_int(sim, 5, stream, 1);
                sim_send_int(sim, 6, stream, 10);
                sim_send_int(sim, 7, stream, 100);
                sim_send_int(sim, 3, stream, 1000);
                sim_run(sim, 2);
                if (sim_node(sim, 5) && at_ms < (uint64_t)(2 * i + 2))
                    break; /* an orphan may have to wait for credit */
            }
            sim_run(sim, 10000);
            CHECK_IS(sim_sync_now(sim, stream), 0);
            CHECK_IS(sim_state_now(sim, stream, &total), 0);
            CU_ASSERT_EQUAL(total % 10, total / 10 % 10);
            CU_ASSERT_EQUAL(total % 10, total / 1000 % 10);
            CU_ASSERT(total % 10 >= 1);
            sim_end(sim);
        }
    }
}

/* PROTOCOL 17.9: when a sync has returned and credit is back, no node holds a
 * packet or a TOTAL any more, not where totals were exchanged either. */
SCENARIO(nothing_is_kept_behind_a_sync, TREE)
{
    uint32_t stream = open_total(sim);

    send_parts(sim, stream);
    sim_kill_at(sim, 1, 2);
    sim_run(sim, 500);
    send_parts(sim, stream);
    SYNCED(2, 0);
    sim_run(sim, 1000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i))
            CU_ASSERT_EQUAL(node_held_bytes(sim_node(sim, i), stream), 0);
}

/* PROTOCOL 17.4: a commnode waits for the first TOTALs of all its children, and
 * sends one. */
SCENARIO(an_opening_takes_one_total_on_each_link, "0(1(3,4,5,6),2)")
{
    uint32_t stream;

    sim_trace(sim, SIM_TRACE_FRAME);
    CHECK_OK(sim_ask_open(sim, &stream, .up_filter = (char[]){"sum"},
                          .kind = STREAM_TOTAL));
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_OPENED), 1);
    CU_ASSERT_EQUAL(sim_lines(sim, "] 1 <- *total"), 4);
    CU_ASSERT_EQUAL(sim_lines(sim, "] 0 <- 1 total"), 1);
}

/* 17_4_split: a back-end dies at each moment around a sync. The total and its
 * set arrive together (PROTOCOL 17.4), so the total that a sync covers is
 * exact. */
TEST(scenario_17_4_split)
{
    for (uint64_t at_ms = 0; at_ms < 16; at_ms++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = open_total(sim);

        sim_kill_at(sim, 4, at_ms);
        send_parts(sim, stream);
        sim_run(sim, 4);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        look(sim, stream, 1, 0);
        sim_run(sim, 10000);
        SYNCED(1, 0);
        CU_ASSERT_EQUAL(truth(sim, stream, 1), 1101);
        sim_end(sim);
    }
}

/* 17_4_replace: two links end while a filter call of the commnode is out: one
 * TOTAL is enough (PROTOCOL 17.4). */
SCENARIO(scenario_17_4_replace, "0(1(3,4,5,6),2)")
{
    uint32_t stream = open_total(sim);

    sim_set_filter_ms(sim, 1, 100);
    sim_send_int(sim, 6, stream, part_of(6));
    sim_run(sim, 10);
    sim_trace(sim, SIM_TRACE_FRAME);
    sim_kill_at(sim, 3, 0);
    sim_kill_at(sim, 4, 1);
    sim_kill_at(sim, 5, 2);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_lines(sim, "] 0 <- 1 total"), 1);
    sim_set_filter_ms(sim, 1, 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    STATE(0, part_of(6));
}

/* A total that waits for a filter call goes when the call has ended, also if two
 * other streams have calls in turn, and one of them always waits. */
static void play_turns(bool first)
{
    struct sim *sim = sim_launch("0(1(3,4,5),2(6))");
    uint32_t stream = first ? open_total(sim) : 0, other[2];

    for (int i = 0; i < 2; i++)
        other[i] = sim_open_filter(sim, "sum");
    if (!first)
        stream = open_total(sim);
    send_parts(sim, stream);
    SYNCED(1, 0);
    sim_set_filter_ms(sim, 1, 10);
    sim_trace(sim, SIM_TRACE_FRAME);
    sim_kill_at(sim, 5, 15);
    for (int i = 0; i < 30; i++) {
        for (uint32_t rank = 3; rank <= 5; rank++)
            if (sim_is_alive(sim, rank))
                sim_post_int(sim, rank, other[i % 2], 1);
        sim_run(sim, 9);
    }
    CU_ASSERT_EQUAL(sim_lines(sim, "] 0 <- 1 total"), 1);
    sim_end(sim);
}

TEST(a_total_waits_for_one_call)
{
    play_turns(true);
    play_turns(false);
}

/* PROTOCOL 17.3: a packet waits for that of another child when a TOTAL comes over
 * its link: the total has it, and it counts once. */
SCENARIO(a_total_has_the_packets_that_wait, "0(1(2(5,6),3),4)")
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL);

    sim_send_int(sim, 5, stream, 1);
    sim_send_int(sim, 6, stream, 10);
    sim_run(sim, 20); /* the sum of both is in 1, and waits for 3 */
    sim_crash(sim, 6);
    sim_run(sim, 200);
    sim_send_int(sim, 3, stream, 100);
    sim_send_int(sim, 4, stream, 1000);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    STATE(0, 1101);
}

/* The same if the link ends, and the member comes back on another one. */
SCENARIO(packets_of_an_ended_link_are_not_joined, TREE)
{
    uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL);

    sim_send_int(sim, 3, stream, part_of(3));
    sim_run(sim, 20);
    sim_cut(sim, 3, 1);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 1);
    for (uint32_t rank = 4; rank <= 6; rank++)
        sim_send_int(sim, rank, stream, part_of(rank));
    SYNCED(1, 0);
}

/* PROTOCOL 17.5: while orphans have no parent, or the part of a lost one is still
 * in, nothing is vouched for. */
SCENARIO(a_total_without_all_is_not_vouched_for, TREE)
{
    uint32_t stream = open_total(sim);
    unsigned doubts = 0;

    send_parts(sim, stream);
    sim_run(sim, 20);
    sim_crash(sim, 1);
    for (int ms = 0; ms < 100; ms++) {
        sim_run(sim, 1);
        doubts += look(sim, stream, 1, 0) == 1;
    }
    CU_ASSERT(doubts > 0);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    sim_set_filter_ms(sim, 2, 100);
    sim_crash(sim, 5);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    CHECK_IS(look(sim, stream, 1, 0), 1);
    SYNCED(1, 0);
}

/* 17_5_overlap: a link breaks at its lower end only. The orphan is adopted while
 * its old parent still has its part: both count, and nothing is vouched for
 * until the old link has ended (PROTOCOL 17.5). */
SCENARIO(scenario_17_5_overlap, TREE)
{
    uint32_t stream = open_total(sim);

    send_parts(sim, stream);
    sim_run(sim, 20);
    CHECK_IS(look(sim, stream, 1, 0), 0);
    sim_half(sim, 3, 1);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 1);
    STATE(1, truth(sim, stream, 1) + part_of(3));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(sim_now_ms(sim) > 3000); /* the time of silence of the old link */
    CHECK_IS(look(sim, stream, 1, 0), 0);
}

/* PROTOCOL 17.5: the same below a commnode, which has both branches: the
 * front-end sees one set, and must not vouch for it. */
SCENARIO(an_overlap_below_a_child_is_doubted, "0(1(2(5),3(6)),4)")
{
    uint32_t stream = open_total(sim);

    sim_send_int(sim, 5, stream, part_of(5));
    sim_run(sim, 20);
    sim_half(sim, 5, 2);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 1);
    CU_ASSERT_EQUAL(sim_parent(sim, 5), 1); /* it has both branches */
    STATE(1, 2 * part_of(5));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    STATE(0, part_of(5));
}

/* PROTOCOL 17.4: a back-end is adopted, sends more and settles while its new
 * parent's filter is slow. Its packets after its TOTAL count as settled when
 * they have been joined, not with the TOTAL. */
TEST(a_claim_behind_a_total_waits_for_the_packets_between)
{
    for (uint64_t slow_ms = 1; slow_ms < 60; slow_ms += 4) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = open_total(sim);

        send_parts(sim, stream);
        sim_run(sim, 20);
        for (uint32_t rank = 0; rank <= 2; rank++)
            sim_set_filter_ms(sim, rank, (uint32_t)slow_ms);
        sim_cut(sim, 3, 1);
        CHECK_OK(sim_sync(sim, stream, NULL));
        for (int ms = 0; ms < 12; ms++) {
            sim_run(sim, 1);
            sim_send(sim, 3, stream, 100, "%d", 0); /* once it may */
        }
        sim_wait(sim, 0, TELL_SYNCED);
        look(sim, stream, 1, 0);
        sim_end(sim);
    }
}

/* 17_5_thawed: a commnode is stopped, its children find other parents and go on,
 * then it continues. At no moment is anything vouched for twice. */
SCENARIO(scenario_17_5_thawed, TREE)
{
    uint32_t stream = open_total(sim);
    int times = 0;

    send_parts(sim, stream);
    sim_run(sim, 1);
    times++;
    sim_freeze(sim, 1, 8000);
    for (int i = 0; i < 300; i++) {
        sim_run(sim, 50);
        if (i == 120 || i == 200) {
            send_parts(sim, stream);
            times++;
            SYNCED(times, 0);
        }
        if (i > 2)
            look(sim, stream, times, 0);
    }
    SYNCED(times, 0);
}

/* PROTOCOL 17.5: a commnode is stopped, a child of it moves, sends more, and dies
 * without anybody who knows for certain. The commnode comes back with the old
 * part of that child, which a sync has left behind: it covers the child, and is
 * not vouched for. */
SCENARIO(an_old_part_is_not_vouched_for, TREE)
{
    uint32_t stream = open_total(sim);

    send_parts(sim, stream);
    sim_run(sim, 20);
    sim_freeze(sim, 1, 8000);
    sim_run(sim, 4500);
    send_parts(sim, stream);
    SYNCED(2, 0);
    sim_crash(sim, 3);
    for (int i = 0; i < 120; i++) {
        sim_run(sim, 50);
        look(sim, stream, 2, 0);
    }
    STATE(0, 2220); /* 1 knew that 3 has ended */
}

/* 17_6_lost_certain: the end of a back-end is certain before its parent sees the
 * link end: for this stream the link ends with LOST (PROTOCOL 17.6). */
SCENARIO(scenario_17_6_lost_certain, TREE)
{
    uint32_t stream = open_total(sim);
    uint64_t held_ms;

    send_parts(sim, stream);
    sim_run(sim, 20);
    sim_cut(sim, 4, 1); /* 1 has started it, and is no longer its parent */
    sim_run(sim, 2000);
    CU_ASSERT_FATAL(sim_parent(sim, 4) != 1);
    held_ms = sim_now_ms(sim) + 2500;
    sim_hold(sim, 4, sim_parent(sim, 4), held_ms);
    sim_run(sim, 1);
    sim_crash(sim, 4);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(sim_now_ms(sim) < held_ms);
    CHECK_IS(look(sim, stream, 1, 0), 0);
    CU_ASSERT_EQUAL(truth(sim, stream, 1), 1101);
}

/* 17_7_farewell: a back-end leaves, and its commnode dies with the FAREWELL at
 * each moment. The back-end's packets count, once (PROTOCOL 17.7). */
TEST(scenario_17_7_farewell)
{
    for (uint64_t at_ms = 0; at_ms < 10; at_ms++) {
        struct sim *sim = sim_launch(TREE);
        uint32_t stream = open_total(sim);

        send_parts(sim, stream);
        sim_run(sim, 10);
        CHECK_OK(sim_shutdown(sim, 3));
        sim_kill_at(sim, 1, at_ms);
        for (int i = 0; i < 40; i++) {
            bool left = sim_told(sim, 0, TELL_BACKEND_LOST) > 0;

            look(sim, stream, 1, left ? part_of(3) : 0);
            sim_run(sim, 50);
        }
        sim_run(sim, 5000);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
        CU_ASSERT(sim_has_exited(sim, 3));
        SYNCED(1, part_of(3));
        CU_ASSERT_EQUAL(truth(sim, stream, 1), 1110);
        sim_end(sim);
    }
}

/* PROTOCOL 11.6, 17.7: a back-end knows whether it has left with its part kept:
 * not if it was given up, or if the network ends, before FAREWELL is heard. */
TEST(a_leaver_knows_whether_its_part_is_kept)
{
    for (int how = 0; how < 3; how++) {
        struct sim *sim = sim_launch("0(1(3),2)");
        uint32_t stream = open_total(sim);

        sim_send_int(sim, 3, stream, 7);
        sim_run(sim, 10);
        if (how > 0)
            sim_freeze(sim, 1, 200000);
        CHECK_OK(sim_shutdown(sim, 3));
        if (how == 1)
            sim_isolate(sim, 3, 200000);
        if (how == 2)
            sim_crash(sim, 0);
        for (int ms = 0; ms < 99999 && sim_told(sim, 3, TELL_ENDED) == 0; ms++)
            sim_run(sim, 1);
        CU_ASSERT(sim_has_exited(sim, 3));
        CU_ASSERT_EQUAL(sim_code(TELL_ENDED), how == 0);
        sim_end(sim);
    }
}

/* The last member leaves: its part stays. */
SCENARIO(the_last_one_that_leaves_counts, "0(1(3),2)")
{
    uint32_t stream = open_total(sim);
    int total = 0;

    sim_send_int(sim, 3, stream, 7);
    sim_send_int(sim, 2, stream, 50);
    sim_run(sim, 10);
    sim_set_filter_ms(sim, 1, 30); /* it holds the part of 3 for a while */
    CHECK_OK(sim_shutdown(sim, 3));
    for (int ms = 0; ms < 100; ms++) {
        sim_run(sim, 1);
        sim_state_now(sim, stream, &total);
        CU_ASSERT_EQUAL(total, 57);
    }
    CHECK_OK(sim_shutdown(sim, 2));
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 2);
    STATE(0, 57);
}

/* PROTOCOL 17.7: a back-end leaves while a packet waits for its filter, and gets
 * another parent, for which it packs its total: FAREWELL has the packet too. */
SCENARIO(a_packet_that_waits_is_in_the_farewell, "0(1(2(4)),3)")
{
    uint32_t stream = open_total(sim);

    sim_set_filter_ms(sim, 4, 2000);
    for (int i = 0; i < 2; i++)
        sim_send_int(sim, 4, stream, part_of(4));
    sim_set_filter_ms(sim, 4, 0);
    sim_run(sim, 10);
    CHECK_OK(sim_shutdown(sim, 4));
    sim_cut(sim, 4, 2);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    SYNCED(0, 2 * part_of(4));
}

/* Send the front-end a FAREWELL of 4, without a packet, from node `from`. */
static void inject_farewell(struct sim *sim, uint32_t from, uint32_t stream)
{
    uint32_t streams[] = {stream}, lens[] = {0};
    int32_t tags[] = {1};
    unsigned char kinds[] = {1};
    struct frame farewell = {.type = FRAME_FAREWELL, .origin = 4};

    CHECK_OK(packet_pack(&farewell.payload, "%aud %ad %auc %aud %auc", streams,
                         UINT32_C(1), tags, UINT32_C(1), kinds, UINT32_C(1),
                         lens, UINT32_C(1), kinds, UINT32_C(0)));
    sim_inject(sim, from, 0, &farewell);
    sim_run(sim, 100);
}

/* PROTOCOL 17.7: node 2 sends the farewell of a back-end that is below node 1.
 * No back-end has left. */
SCENARIO(a_farewell_of_others_is_not_heard, TREE)
{
    uint32_t stream = open_total(sim);

    send_parts(sim, stream);
    sim_run(sim, 10);
    inject_farewell(sim, 2, stream);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* 17_7_given_up: the FAREWELL of a back-end that was already given up adds
 * nothing (PROTOCOL 17.7, 17.8). */
SCENARIO(scenario_17_7_given_up, TREE)
{
    uint32_t stream = open_total(sim);

    send_parts(sim, stream);
    sim_run(sim, 10);
    sim_crash(sim, 4);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    inject_farewell(sim, 1, stream);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 1);
    SYNCED(1, 0);
    CU_ASSERT_EQUAL(truth(sim, stream, 1), 1101);
}

/* A back-end that joins later begins with nothing (PROTOCOL 17.4). */
SCENARIO(a_joiner_counts_from_its_first_packet, "0(1(3),2)")
{
    uint32_t stream =
        sim_open_filter(sim, "sum", .grow = true, .kind = STREAM_TOTAL);
    uint32_t joiner;

    sim_send_int(sim, 3, stream, 7);
    sim_send_int(sim, 2, stream, 50);
    joiner = sim_attach(sim, 1);
    sim_run(sim, 200);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    STATE(0, 57);
    sim_send_int(sim, joiner, stream, 100);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    STATE(0, 157);
}

/* PROTOCOL 5.1: slow calls. A commnode dies during calls of its parent and of
 * its orphans. */
TEST(slow_calls_keep_totals_exact)
{
    for (uint64_t at_ms = 0; at_ms < 60; at_ms += 3) {
        struct sim *sim = sim_launch("0(1(2(5,6),3),4(7))");
        uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL,
                                          .sync = COP_DO_NOT_WAIT);

        sim_set_filter_ms(sim, 0, 7);
        sim_set_filter_ms(sim, 1, 11);
        sim_set_filter_ms(sim, 5, 5);
        sim_kill_at(sim, 2, at_ms);
        sim_send_int(sim, 5, stream, 1);
        sim_send_int(sim, 6, stream, 10);
        sim_send_int(sim, 7, stream, 100);
        sim_send_int(sim, 3, stream, 1000);
        sim_run(sim, 5000);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        STATE(0, 1111);
        sim_end(sim);
    }
}

/* Hostile: a TOTAL that a child may not send costs it its link. */
SCENARIO(a_false_total_costs_the_link, TREE)
{
    uint32_t stream = open_total(sim);
    uint32_t other = sim_open_filter(sim, "sum");
    struct frame bad = {.type = FRAME_TOTAL, .stream = other, .origin = 1};
    uint32_t pair[] = {3, 3};

    CHECK_OK(packet_pack(&bad.payload, "%aud %uld %ud %uc %auc", pair,
                         UINT32_C(2), UINT64_C(0), UINT32_C(0), 0, pair,
                         UINT32_C(0)));
    sim_inject(sim, 1, 0, &bad);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_REFUSED), 1);
    CU_ASSERT(strstr(sim_text(TELL_NODE_REFUSED), "has no totals") != NULL);
    send_parts(sim, stream);
    SYNCED(1, 0);
}

int main(void)
{
    return check_run("streams of totals");
}

/* ---- parts that are lost (17.10) ---- */

/* Whose filter fails, and in which call. */
struct failing {
    uint32_t rank;
    bool in_init; /* else in PACK */
};

static bool fails(struct sim *sim,
                  uint32_t index,
                  const struct node_call *call,
                  void *arg)
{
    const struct failing *failing = arg;

    return sim_rank(sim, index) == failing->rank &&
           (failing->in_init ? call->init : call->slots == CALL_PACK);
}

/* A commnode without members does not take part in the opening. It refuses the
 * filter, and then has members: nothing can join their parts there. */
TEST(a_commnode_without_its_filter_ends_the_stream)
{
    struct failing failing = {.rank = 2, .in_init = true};
    struct sim *sim =
        sim_launch("0(1(3,5),2(4))", .refuse = fails, .filter_arg = &failing);
    struct ranks members = sim_ranks((size_t)2, 3, 5);
    uint32_t stream =
        sim_open_filter(sim, "sum", .kind = STREAM_TOTAL, .members = members);

    sim_send_int(sim, 3, stream, 1);
    sim_send_int(sim, 5, stream, 100);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    STATE(0, 101);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 0);
    sim_kill_at(sim, 1, 1);
    sim_wait(sim, 0, TELL_STREAM_FAILED);
    CU_ASSERT_EQUAL(sim_about(TELL_STREAM_FAILED), 2);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_STREAM_FAILED),
                           "it refuses these parameters");
    ranks_fini(&members);
    sim_end(sim);
}

/* A total cannot be packed, or joined, where new links need it: at a commnode
 * whose child has died, at a back-end, at the front-end. The stream ends. */
TEST(a_total_that_cannot_be_packed_ends_its_stream)
{
    for (uint32_t rank = 0; rank <= 5; rank += rank == 0 ? 1 : 4) {
        struct failing failing = {.rank = rank};
        struct sim *sim = sim_launch("0(1(2(5,6),3),4(7))", .refuse = fails,
                                     .filter_arg = &failing);
        uint32_t stream = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL);

        sim_send_int(sim, 5, stream, 1);
        sim_send_int(sim, 3, stream, 10);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_STREAM_FAILED), 0);
        sim_kill_at(sim, 2, 1);
        sim_wait(sim, 0, TELL_STREAM_FAILED);
        if (rank < 5) /* else it is the back-end's new parent */
            CU_ASSERT_EQUAL(sim_about(TELL_STREAM_FAILED), rank);
        CU_ASSERT(sim_ask_state(sim, stream) < 0);
        sim_end(sim);
    }
}
