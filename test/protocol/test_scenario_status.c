/* test_scenario_status.c - observers, and injected failures (PROTOCOL 15). */
#include <coppice/status.h>
#include <errno.h>

#include "protocol/watch/history.h"
#include "protocol/watch/rows.h"
#include "test/sim/scenario.h"

#define TREE "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))"

/* The answer to the last request. */
static struct rows rows;
static int code;
static char text[LIMIT_TEXT + 1];

static struct frame question(uint32_t budget_ms)
{
    return (struct frame){.type = FRAME_STATUS, .count = budget_ms};
}

static struct frame injection(enum cop_injection kind,
                              uint32_t rank,
                              uint32_t ms)
{
    return (struct frame){
        .type = FRAME_INJECT, .tag = kind, .origin = rank, .count = ms};
}

/* Read the answer to `observer`; false if there is none. */
static bool read_answer(struct sim *sim, uint32_t observer)
{
    const struct frame *frame = sim_answer(sim, observer);

    if (!frame)
        return false;
    code = frame->tag;
    CHECK_OK(rows_decode(frame, &rows, text, sizeof(text)));
    return true;
}

/* Send `frame` to `to`, and wait up to `ms` for the answer. */
static void ask_node(struct sim *sim, uint32_t to, struct frame frame, int ms)
{
    uint32_t observer = sim_observe(sim, to, &frame);

    sim_run(sim, (uint64_t)ms);
    CU_ASSERT_FATAL(read_answer(sim, observer));
    CU_ASSERT(sim_is_over(sim, observer));
}

static void ask_status(struct sim *sim)
{
    ask_node(sim, 0, question(1000), 1100);
    CU_ASSERT_EQUAL(code, 0);
}

static const struct row *row_of(uint32_t rank)
{
    static const struct row none = {.rank = RANK_NONE, .state = ROW_STATES};
    const struct row *found = rows_find(&rows, rank);

    CU_ASSERT_PTR_NOT_NULL(found);
    return found ? found : &none;
}

static void check_states(uint32_t from, uint32_t to, enum row_state state)
{
    for (uint32_t rank = from; rank <= to; rank++)
        CU_ASSERT_EQUAL(row_of(rank)->state, state);
}

static void end_rows(struct sim *sim)
{
    rows_fini(&rows);
    sim_end(sim);
}

/* PROTOCOL 15.1, 15.2: each node answers for itself, once, under the parent
 * that it has. */
TEST(every_node_answers)
{
    static const uint32_t parents[] = {RANK_NONE, 0, 0, 1, 1, 2, 2, 3,
                                       3,         4, 4, 5, 5, 6, 6};
    struct sim *sim = sim_launch(TREE);

    sim_run(sim, 5000);
    ask_status(sim);
    CU_ASSERT_EQUAL_FATAL(rows.count, 15);
    for (uint32_t rank = 0; rank < 15; rank++) {
        CU_ASSERT_EQUAL(rows.list[rank].rank, rank);
        CU_ASSERT_EQUAL(rows.list[rank].parent, parents[rank]);
        CU_ASSERT_EQUAL(rows.list[rank].state, ROW_UP);
        CU_ASSERT_EQUAL(rows.list[rank].role, rank == 0  ? NODE_FRONTEND
                                              : rank < 7 ? NODE_COMMNODE
                                                         : NODE_BACKEND);
        CU_ASSERT_EQUAL(rows.list[rank].adoptions, 0);
        CU_ASSERT_EQUAL(rows.list[rank].adopted_from, RANK_NONE);
        CU_ASSERT(rows.list[rank].age_ms >= 5000);
        CU_ASSERT(rows.list[rank].age_ms < 5100);
        CU_ASSERT_STRING_EQUAL(rows.list[rank].host, "sim");
    }
    end_rows(sim);
}

/* PROTOCOL 15.1: an observer is neither member nor child: no node hears of it,
 * and the network ends without it. */
SCENARIO(an_observer_is_not_a_child, TREE)
{
    struct frame nothing = {0};
    uint32_t observer = sim_observe(sim, 0, &nothing);

    sim_run(sim, 100);
    expect_trace(sim, "");
    CHECK_OK(sim_shutdown(sim, 0));
    sim_run(sim, 100);
    CU_ASSERT(sim_has_exited(sim, 0));
    CU_ASSERT(read_answer(sim, observer));
    CU_ASSERT_EQUAL(code, -ENOTCONN);
    rows_fini(&rows);
}

/* PROTOCOL 15.1: an observer that asks nothing is let go, as is one that asks
 * something else, and there are never too many. */
SCENARIO(an_observer_that_asks_nothing_is_let_go, TREE)
{
    struct frame nothing = {0};
    struct frame data = {.type = FRAME_DATA, .stream = 1, .sequence = 1};
    struct frame too_long = question(LIMIT_STATUS_MS + 1);
    uint32_t silent[LIMIT_OBSERVERS], other;

    for (uint32_t i = 0; i < LIMIT_OBSERVERS; i++)
        silent[i] = sim_observe(sim, 0, &nothing);
    sim_run(sim, 10);
    ask_node(sim, 0, question(1000), 10);
    CU_ASSERT_EQUAL(code, -EBUSY);
    sim_run(sim, LIMIT_HANDSHAKE_TIMEOUT_MS - 30);
    CU_ASSERT(!sim_is_over(sim, silent[0]));
    sim_run(sim, 30);
    for (uint32_t i = 0; i < LIMIT_OBSERVERS; i++)
        CU_ASSERT(sim_is_over(sim, silent[i]));
    other = sim_observe(sim, 0, &data);
    sim_run(sim, 10);
    CU_ASSERT(sim_is_over(sim, other));
    other = sim_observe(sim, 0, &too_long);
    sim_run(sim, 10);
    CU_ASSERT(sim_is_over(sim, other));
    ask_status(sim);
    CU_ASSERT_EQUAL(rows.count, 15);
    rows_fini(&rows);
}

/* PROTOCOL 15.1: only the front-end answers. */
SCENARIO(a_commnode_refers_to_the_front_end, TREE)
{
    ask_node(sim, 3, question(1000), 10);
    CU_ASSERT_EQUAL(code, -ENXIO);
    CU_ASSERT_EQUAL(rows.count, 0);
    rows_fini(&rows);
}

/* PROTOCOL 15.2: several observers that ask at once share rounds; each gets
 * what was so after it had asked. An observer that leaves meanwhile is not
 * missed. */
SCENARIO(several_observers_ask_at_once, TREE)
{
    struct frame frame = question(1000);
    uint32_t observers[4];

    for (int i = 0; i < 4; i++)
        observers[i] = sim_observe(sim, 0, &frame);
    sim_run(sim, 3);
    sim_cut(sim, observers[0], 0);
    sim_run(sim, 50);
    for (int i = 1; i < 4; i++) {
        CU_ASSERT(read_answer(sim, observers[i]));
        CU_ASSERT_EQUAL(rows.count, 15);
    }
    CU_ASSERT(!sim_answer(sim, observers[0]));
    rows_fini(&rows);
}

/* PROTOCOL 15.3: a node that does not answer is told as silent, by its parent,
 * in time; of those below it nothing is known. */
SCENARIO(a_node_that_does_not_answer_is_silent, TREE)
{
    sim_freeze(sim, 5, 2000);
    sim_freeze(sim, 8, 2000);
    sim_run(sim, 100);
    ask_node(sim, 0, question(1000), 1010);
    CU_ASSERT_EQUAL(rows.count, 15);
    check_states(5, 5, ROW_SILENT);
    check_states(8, 8, ROW_SILENT);
    check_states(11, 12, ROW_SILENT);
    CU_ASSERT_EQUAL(row_of(5)->parent, 2);
    CU_ASSERT_EQUAL(row_of(8)->parent, 3);
    CU_ASSERT(row_of(5)->age_ms >= 900);
    CU_ASSERT_EQUAL(row_of(11)->age_ms, ROW_UNKNOWN);
    check_states(0, 3, ROW_DEGRADED);
    check_states(6, 7, ROW_UP);
    check_states(9, 10, ROW_UP);
    check_states(13, 14, ROW_UP);
    sim_run(sim, 2000);
    ask_status(sim);
    check_states(0, 14, ROW_UP);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    rows_fini(&rows);
}

/* PROTOCOL 15.4: the round trip of each link is measured for the answer; a
 * node whose children are slow is not slow itself. */
SCENARIO(round_trips_are_measured, TREE)
{
    sim_freeze(sim, 7, 300);
    ask_status(sim);
    CU_ASSERT_EQUAL(row_of(0)->round_us, ROW_UNKNOWN);
    CU_ASSERT_EQUAL(row_of(1)->round_us, 2000);
    CU_ASSERT_EQUAL(row_of(3)->round_us, 2000);
    CU_ASSERT_EQUAL(row_of(8)->round_us, 2000);
    CU_ASSERT(row_of(7)->round_us > 250000);
    rows_fini(&rows);
}

/* Check that the reason for the loss of `rank` begins with `begin`. */
static void check_reason(uint32_t rank, const char *begin)
{
    const char *reason = row_of(rank)->reason ? row_of(rank)->reason : "";

    CU_ASSERT_NSTRING_EQUAL(reason, begin, strlen(begin));
}

/* PROTOCOL 15.5: a lost commnode stands where it was; its children stand under
 * their adopters, and name the parent before; nodes above it are degraded
 * while it is lost. */
SCENARIO(a_lost_commnode_is_shown, TREE)
{
    sim_run(sim, 1000);
    sim_crash(sim, 3);
    sim_run(sim, 3000);
    ask_status(sim);
    CU_ASSERT_EQUAL(rows.count, 15);
    check_states(3, 3, ROW_LOST);
    CU_ASSERT_EQUAL(row_of(3)->parent, 1);
    check_reason(3, "reset");
    CU_ASSERT(row_of(3)->age_ms >= 2950 && row_of(3)->age_ms <= 3100);
    CU_ASSERT_EQUAL(row_of(3)->round_us, ROW_UNKNOWN);
    for (uint32_t rank = 7; rank <= 8; rank++) {
        CU_ASSERT_EQUAL(row_of(rank)->state, ROW_UP);
        CU_ASSERT_EQUAL(row_of(rank)->adoptions, 1);
        CU_ASSERT_EQUAL(row_of(rank)->adopted_from, 3);
        CU_ASSERT(row_of(rank)->parent != 3);
        CU_ASSERT(row_of(rank)->age_ms <= row_of(3)->age_ms + 10);
    }
    check_states(0, 1, ROW_DEGRADED);
    CU_ASSERT_EQUAL(row_of(0)->age_ms, row_of(3)->age_ms);
    CU_ASSERT_EQUAL(row_of(1)->age_ms, row_of(3)->age_ms);
    check_states(2, 2, ROW_UP);
    check_states(4, 14, ROW_UP);
    rows_fini(&rows);
}

/* PROTOCOL 15.5: back-ends that are given up are lost; nodes that look for a
 * parent are orphans. */
SCENARIO(orphans_and_lost_back_ends_are_shown, TREE)
{
    sim_crash(sim, 14);
    sim_run(sim, 500);
    /* 11 and 12 do not look for a parent before they continue */
    sim_freeze(sim, 11, 2000);
    sim_freeze(sim, 12, 2000);
    sim_crash(sim, 5);
    sim_run(sim, 100);
    ask_status(sim);
    check_states(14, 14, ROW_LOST);
    CU_ASSERT(row_of(14)->age_ms >= 500 && row_of(14)->age_ms < 1800);
    check_reason(14, "has exited");
    check_states(5, 5, ROW_LOST);
    check_states(11, 12, ROW_ORPHAN);
    CU_ASSERT(row_of(11)->age_ms >= 90 && row_of(11)->age_ms < 1300);
    sim_run(sim, 10000);
    ask_status(sim);
    check_states(11, 12, ROW_UP);
    rows_fini(&rows);
}

/* PROTOCOL 15.5: what is silent, or without a way to the front-end, is an
 * orphan that may be dead, or that comes back; after too long it is lost, and
 * the reason is shown. A node that is up has none. */
SCENARIO(the_reason_of_a_loss_is_shown, TREE)
{
    sim_vanish(sim, 14);
    sim_freeze(sim, 3, 5000);
    sim_run(sim, 4000);
    ask_status(sim);
    check_states(3, 3, ROW_ORPHAN);
    check_reason(3, "nothing was heard for 3000 ms");
    check_states(14, 14, ROW_ORPHAN);
    sim_run(sim, 30000);
    ask_status(sim);
    check_states(3, 3, ROW_UP);
    CU_ASSERT_PTR_NULL(row_of(3)->reason);
    sim_vanish(sim, 3);
    sim_run(sim, 80000);
    ask_status(sim);
    check_states(3, 3, ROW_LOST);
    check_reason(3, "nothing was heard for 3000 ms");
    check_states(14, 14, ROW_LOST);
    check_reason(14, "nobody has reached it for 66000 ms");
    rows_fini(&rows);
}

/* PROTOCOL 15.3: links that end during a round, up or down, leave no observer
 * waiting. */
TEST(a_round_survives_deaths)
{
    for (uint32_t ms = 0; ms < 12; ms++) {
        struct sim *sim = sim_launch(TREE);
        struct frame frame = question(2000);
        uint32_t observer = sim_observe(sim, 0, &frame);

        sim_kill_at(sim, 1, ms);
        sim_kill_at(sim, 6, ms + 1);
        sim_kill_at(sim, 12, ms + 2);
        sim_run(sim, 2100);
        CU_ASSERT(read_answer(sim, observer));
        CU_ASSERT_EQUAL(rows.count, 15);
        ask_status(sim);
        check_states(1, 1, ROW_LOST);
        check_states(6, 6, ROW_LOST);
        check_states(12, 12, ROW_LOST);
        CU_ASSERT_EQUAL(row_of(3)->adopted_from, 1);
        end_rows(sim);
    }
}

/* PROTOCOL 15.2: a wrong answer ends its sender's link, or does nothing. */
SCENARIO(wrong_answers_do_no_harm, TREE)
{
    struct frame late = {.type = FRAME_ROWS, .sequence = 77};
    struct frame heard = {.type = FRAME_HEARD, .sequence = 1};
    struct frame status = {.type = FRAME_STATUS, .count = 0, .sequence = 1};

    sim_inject(sim, 2, 0, &late);
    sim_inject(sim, 2, 0, &heard);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    sim_inject(sim, 2, 0, &status); /* STATUS goes down only */
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 1);
    rows_fini(&rows);
}

/* PROTOCOL 15.6: where injections are not allowed there are none. */
SCENARIO(injections_need_permission, TREE)
{
    struct frame frame = injection(COP_INJECT_KILL, 3, 0);

    ask_node(sim, 0, frame, 10);
    CU_ASSERT_EQUAL(code, -EPERM);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "allow_injection"));
    /* and a node checks the permission itself */
    sim_inject(sim, 0, 1, &frame);
    frame.origin = 1;
    sim_inject(sim, 0, 1, &frame);
    sim_run(sim, 1000);
    CU_ASSERT(sim_is_alive(sim, 1));
    CU_ASSERT(sim_is_alive(sim, 3));
    rows_fini(&rows);
}

/* PROTOCOL 15.6: a kill, a freeze and a cut reach their victim, at any depth.
 */
SCENARIO(injections_reach_their_victim, TREE, .allow_injection = true)
{
    ask_node(sim, 0, injection(COP_INJECT_KILL, 3, 0), 100);
    CU_ASSERT_EQUAL(code, 0);
    CU_ASSERT(!sim_is_alive(sim, 3));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 1);
    ask_node(sim, 0, injection(COP_INJECT_KILL, 14, 0), 100);
    CU_ASSERT(!sim_is_alive(sim, 14));
    ask_node(sim, 0, injection(COP_INJECT_CUT, 5, 0), 100);
    CU_ASSERT_EQUAL(code, 0);
    ask_status(sim);
    CU_ASSERT_EQUAL(row_of(5)->state, ROW_UP);
    check_states(3, 3, ROW_LOST);
    check_reason(3, "it was killed on purpose");
    check_states(14, 14, ROW_LOST);
    check_reason(14, "it was killed on purpose");
    CU_ASSERT_EQUAL(row_of(5)->adopted_from, 2);
    CU_ASSERT_EQUAL(row_of(5)->adoptions, 1);
    CU_ASSERT_EQUAL(row_of(6)->adoptions, 0);
    ask_node(sim, 0, injection(COP_INJECT_FREEZE, 4, 1000), 100);
    ask_node(sim, 0, question(500), 600);
    CU_ASSERT_EQUAL(row_of(4)->state, ROW_SILENT);
    sim_run(sim, 1000);
    ask_status(sim);
    CU_ASSERT_EQUAL(row_of(4)->state, ROW_UP);
    rows_fini(&rows);
}

/* PROTOCOL 15.6: what makes no sense is refused, in words. */
SCENARIO(senseless_injections_are_refused, TREE, .allow_injection = true)
{
    ask_node(sim, 0, injection(COP_INJECT_KILL, 0, 0), 10);
    CU_ASSERT_EQUAL(code, -EINVAL);
    ask_node(sim, 0, injection(COP_INJECT_KILL, 99, 0), 10);
    CU_ASSERT_EQUAL(code, -ENOENT);
    ask_node(sim, 0, injection(COP_INJECT_FREEZE, 3, 0), 10);
    CU_ASSERT_EQUAL(code, -EINVAL);
    ask_node(sim, 0, injection(COP_INJECT_FREEZE, 3, LIMIT_FREEZE_MS + 1), 10);
    CU_ASSERT_EQUAL(code, -EINVAL);
    ask_node(sim, 0, injection((enum cop_injection)9, 3, 0), 10);
    CU_ASSERT_EQUAL(code, -EINVAL);
    sim_crash(sim, 3);
    sim_run(sim, 100);
    ask_node(sim, 0, injection(COP_INJECT_KILL, 3, 0), 10);
    CU_ASSERT_EQUAL(code, -EHOSTUNREACH);
    CU_ASSERT(*text != '\0');
    rows_fini(&rows);
}

/* Ask for recoveries from number `*next` on, at most 16. */
static size_t ask_recoveries(struct sim *sim,
                             struct cop_recovered *list,
                             uint64_t *next)
{
    struct frame frame = {.type = FRAME_REPORTS, .sequence = *next};
    uint32_t observer = sim_observe(sim, 0, &frame);
    size_t count = 0;

    sim_run(sim, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sim_answer(sim, observer));
    CU_ASSERT_EQUAL(sim_answer(sim, observer)->type, FRAME_REPORTS);
    CHECK_OK(history_decode(sim_answer(sim, observer), list, 16, &count, next));
    CU_ASSERT(sim_is_over(sim, observer));
    return count;
}

/* PROTOCOL 15.7: what orphans have reported can be asked for, by number. */
SCENARIO(recoveries_can_be_asked_for, TREE)
{
    struct cop_recovered list[16];
    uint64_t next = UINT64_MAX;

    CU_ASSERT_EQUAL(ask_recoveries(sim, list, &next), 0);
    CU_ASSERT_EQUAL(next, 0);
    sim_crash(sim, 3);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL_FATAL(ask_recoveries(sim, list, &next), 2);
    CU_ASSERT_EQUAL(next, 2);
    CU_ASSERT_EQUAL(list[0].rank + list[1].rank, 15); /* 7 and 8 */
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(list[i].lost_parent, 3);
        CU_ASSERT(list[i].parent != 3);
        CU_ASSERT(list[i].recovery.attempts >= 1);
        CU_ASSERT(list[i].recovery.connect_us > 0);
        CU_ASSERT(list[i].recovery.overall_us >= list[i].recovery.connect_us);
        CU_ASSERT(list[i].age_ms > 900 && list[i].age_ms <= 1010);
    }
    CU_ASSERT_EQUAL(ask_recoveries(sim, list, &next), 0);
    next = 1;
    CU_ASSERT_EQUAL(ask_recoveries(sim, list, &next), 1);
    CU_ASSERT_EQUAL(next, 2);
    rows_fini(&rows);
}

/* PROTOCOL 15.7: the last 4,096 are kept. Repeated cuts make more. */
TEST(old_recoveries_are_forgotten)
{
    struct sim *sim = sim_launch("0(1,2,3,4)", .allow_injection = true);
    struct cop_recovered list[16];
    uint64_t next;

    for (int i = 0; i < LIMIT_STATUS_REPORTS / 4 + 2; i++) {
        for (uint32_t rank = 1; rank <= 4; rank++)
            sim_cut(sim, rank, 0);
        sim_run(sim, 20);
    }
    next = UINT64_MAX;
    CU_ASSERT_EQUAL(ask_recoveries(sim, list, &next), 0);
    CU_ASSERT_EQUAL(next, LIMIT_STATUS_REPORTS + 8);
    next = 0;
    CU_ASSERT_EQUAL(ask_recoveries(sim, list, &next), 16);
    CU_ASSERT_EQUAL(next, 8 + 16);
    CU_ASSERT_EQUAL(list[15].lost_parent, 0);
    end_rows(sim);
}

/* PROTOCOL 15.2: a thousand nodes answer like a few. */
TEST(a_thousand_nodes_answer)
{
    struct tree tree = {0};
    const uint32_t fanouts[] = {10, 10, 10};
    struct sim *sim;
    char *shape;

    tree_make(&tree, fanouts, 3);
    shape = tree_text(&tree);
    sim = sim_launch(shape);
    ask_status(sim);
    CU_ASSERT_EQUAL(rows.count, 1111);
    check_states(0, 1110, ROW_UP);
    free(shape);
    tree_fini(&tree);
    end_rows(sim);
}

/* PROTOCOL 15.5: a node that could not be launched is shown with the reason;
 * other nodes have none. */
TEST(a_missing_node_is_shown_with_the_reason)
{
    struct sim *sim = sim_begin(TREE, .missing = COP_MISSING_SKIP);

    sim_missing(sim, 1, "no route to host");
    sim_missing(sim, 12, "exited with status 3");
    sim_wait(sim, 0, TELL_LAUNCHED);
    sim_run(sim, 20);
    ask_status(sim);
    CU_ASSERT_EQUAL(rows.count, 15);
    check_states(1, 1, ROW_MISSING);
    check_states(12, 12, ROW_MISSING);
    CU_ASSERT_STRING_EQUAL(row_of(1)->reason, "no route to host");
    CU_ASSERT_STRING_EQUAL(row_of(12)->reason, "exited with status 3");
    CU_ASSERT_EQUAL(row_of(1)->role, NODE_COMMNODE);
    CU_ASSERT_EQUAL(row_of(1)->parent, 0);
    CU_ASSERT_EQUAL(row_of(3)->parent, 0);
    for (uint32_t rank = 0; rank < 15; rank++)
        CU_ASSERT(rank == 1 || rank == 12 || row_of(rank)->reason == NULL);
    check_states(0, 0, ROW_DEGRADED);
    check_states(3, 4, ROW_UP);
    end_rows(sim);
}

/* Rows that refer to missing reasons or labels, or to one twice, are refused. */
TEST(texts_of_rows_are_counted)
{
    static const uint32_t wrong[][2] = {{2, 0}, {1, 1}, {0, 3}, {2, 1}};
    static const char *const hosts[] = {"a", "b"};
    static const char *const texts[] = {"why"};
    struct rows out = {0};
    uint32_t numbers[2][12] = {{0, RANK_NONE}, {1, 0, NODE_BACKEND}};
    struct frame frame = {.type = FRAME_ROWS};

    for (size_t at = 9; at <= 10; at++)
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            numbers[0][19 - at] = numbers[1][19 - at] = 0;
            numbers[0][at] = wrong[i][0];
            numbers[1][at] = wrong[i][1];
            CHECK_OK(packet_pack(&frame.payload, "%ud %aud %as %as %as %s", 0,
                                 &numbers[0][0], 24, hosts, 2, texts, 1, texts,
                                 1, ""));
            CHECK_IS(rows_decode(&frame, &out, NULL, 0), -EBADMSG);
            frame_fini(&frame);
        }
    numbers[0][10] = 0;
    numbers[1][9] = numbers[1][10] = 1;
    CHECK_OK(packet_pack(&frame.payload, "%ud %aud %as %as %as %s", 0,
                         &numbers[0][0], 24, hosts, 2, texts, 1, texts, 1, ""));
    CHECK_OK(rows_decode(&frame, &out, NULL, 0));
    CU_ASSERT_STRING_EQUAL(out.list[1].reason, "why");
    CU_ASSERT_STRING_EQUAL(out.list[1].label, "why");
    CU_ASSERT_STRING_EQUAL(out.list[0].label, "");
    frame_fini(&frame);
    numbers[0][11] = LIMIT_NODES; /* no place */
    CHECK_OK(packet_pack(&frame.payload, "%ud %aud %as %as %as %s", 0,
                         &numbers[0][0], 24, hosts, 2, texts, 1, texts, 1, ""));
    CHECK_IS(rows_decode(&frame, &out, NULL, 0), -EBADMSG);
    rows_fini(&out);
    frame_fini(&frame);
}

/* PROTOCOL 15.9: a commnode is lost, replaced, and everything returns to its place:
 * the tree shows as it was, but for the rank of the replacement. */
SCENARIO(a_tree_that_grew_back_is_up,
         TREE,
         .hosts = 100,
         .replace = 2,
         .keep_shape = true)
{
    sim_crash(sim, 1);
    sim_wait(sim, 0, TELL_NODE_LOST);
    sim_run(sim, 500);
    ask_status(sim);
    CU_ASSERT_EQUAL(row_of(0)->state, ROW_DEGRADED);
    CU_ASSERT_EQUAL(row_of(1)->state, ROW_LOST);
    CU_ASSERT_EQUAL(row_of(3)->adopted_from, 1);
    sim_run(sim, 3000); /* it is replaced, and its children move back */
    sim_crash(sim, sim_parent(sim, 3)); /* the replacement */
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 5000);
    ask_status(sim);
    CU_ASSERT_EQUAL(rows.count, 15);
    CU_ASSERT_PTR_NULL(rows_find(&rows, 1));
    CU_ASSERT_PTR_NULL(rows_find(&rows, 15));
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct row *row = &rows.list[i];

        CU_ASSERT_EQUAL(row->state, ROW_UP);
        CU_ASSERT_EQUAL(row->adopted_from, RANK_NONE);
        CU_ASSERT_EQUAL(row->place, row->rank == 16 ? 1 : 0);
    }
    CU_ASSERT_EQUAL(row_of(3)->parent, 16);
    CU_ASSERT_EQUAL(row_of(16)->parent, 0);
    rows_fini(&rows);
}

/* A move is no loss; nor is the end of a commnode that has left a drained host. A
 * loss elsewhere shows, and so does a link that was lost to the parent of now. */
SCENARIO(what_was_planned_is_no_loss, TREE, .hosts = 100)
{
    CHECK_OK(sim_move(sim, 7, 6));
    sim_wait(sim, 0, TELL_NODE_MOVED);
    CHECK_OK(sim_drain(sim, "h3"));
    sim_wait(sim, 0, TELL_DRAINED);
    sim_run(sim, 500);
    ask_status(sim);
    CU_ASSERT_EQUAL(rows.count, 14);
    CU_ASSERT_PTR_NULL(rows_find(&rows, 3));
    for (uint32_t i = 0; i < rows.count; i++) {
        CU_ASSERT_EQUAL(rows.list[i].state, ROW_UP);
        CU_ASSERT_EQUAL(rows.list[i].adopted_from, RANK_NONE);
    }
    sim_cut(sim, 11, 5);
    sim_crash(sim, 4);
    sim_wait(sim, 0, TELL_NODE_LOST);
    sim_run(sim, 500);
    ask_status(sim);
    CU_ASSERT_EQUAL(row_of(4)->state, ROW_LOST);
    CU_ASSERT_EQUAL(row_of(9)->adopted_from, 4);
    CU_ASSERT_EQUAL(row_of(11)->adopted_from, 5);
    rows_fini(&rows);
}
