/* test_move.c - one node that moves, or into whose place others move (PROTOCOL
 * 18.1 to 18.5, 18.10). */
#include "protocol/members/control.h"
#include "protocol/state.h"
#include "test/protocol/alone.h"
#include "wire/messages.h"
#include "wire/packet.h"

/* The links of rank 1. */
enum {
    TO_PARENT,
    TO_CHILD,
    TO_NEXT,
};

/* Commnode 1 of the tree 0(1(2),3), with back-ends 4 below 2 and 5 below 3. */
static struct alone begin_node(void)
{
    struct node_child children[] = {{2, "c", NODE_COMMNODE, 0}};
    struct roster ready = {0}, table = {0};
    struct alone it;

    alone_begin(&it, .role = NODE_COMMNODE, .rank = 1, .depth = 1,
                .children = children, .child_count = 1, .next_rank = 6);
    alone_link_up(&it, TO_PARENT, 0, NODE_FRONTEND, 0);
    alone_link_up(&it, TO_CHILD, 2, NODE_COMMNODE, 0);
    CHECK_OK(roster_add_internal(&ready, 2, 1, 1, "127.0.0.1 3"));
    CHECK_OK(ranks_add(&ready.backends, 4, 4));
    alone_take_roster(&it, TO_CHILD, &ready, FRAME_READY);
    CHECK_OK(roster_add_internal(&table, 0, RANK_NONE, 2, "127.0.0.1 1"));
    CHECK_OK(roster_add_internal(&table, 1, 0, 1, "127.0.0.1 2"));
    CHECK_OK(roster_add_internal(&table, 2, 1, 1, "127.0.0.1 3"));
    CHECK_OK(roster_add_internal(&table, 3, 0, 1, "127.0.0.1 4"));
    alone_take_roster(&it, TO_PARENT, &table, FRAME_TABLE);
    return it;
}

static void begin_move(struct alone *it)
{
    alone_step(it, (struct event){.type = EVENT_MOVE, .parent = 3});
    CU_ASSERT_EQUAL(alone_count(it, ACTION_DIAL, 0), 1);
}

#define NEXT_WINDOW (2 * LIMIT_WINDOW_MIN)

/* The link to the next parent is up, and it has greeted. */
static void ask_next(struct alone *it)
{
    begin_move(it);
    alone_step(it, (struct event){.type = EVENT_LINK_UP,
                                  .link = TO_NEXT,
                                  .rank = 3,
                                  .role = NODE_COMMNODE,
                                  .is_parent = true});
    CU_ASSERT_PTR_NOT_NULL(alone_sent(it, TO_NEXT, FRAME_ADOPT));
    alone_take(it, TO_NEXT,
               (struct frame){.type = FRAME_HEARTBEAT, .count = NEXT_WINDOW});
}

static void answer_next(struct alone *it, enum adoption_answer answer)
{
    alone_take(
        it, TO_NEXT,
        (struct frame){
            .type = FRAME_ADOPTED, .tag = answer, .origin = 3, .sequence = 1});
}

/* The front-end's answer to ALIGN comes by the next parent. */
static void align(struct alone *it, enum probe_answer answer)
{
    alone_take(it, TO_NEXT,
               (struct frame){.type = FRAME_PROBED,
                              .tag = answer,
                              .origin = 1,
                              .count = 1,
                              .sequence = 2});
}

static void take_probe(struct alone *it, uint32_t orphan, int align)
{
    alone_take(it, TO_CHILD,
               (struct frame){.type = FRAME_PROBE,
                              .tag = align,
                              .origin = orphan,
                              .count = 1,
                              .sequence = 1});
}

static void take_record(struct alone *it,
                        uint32_t link,
                        uint32_t rank,
                        uint32_t incarnation,
                        uint32_t parent)
{
    struct frame record = {.type = FRAME_RECORD};

    CHECK_OK(packet_pack(&record.payload, "%aud %aud %aud %s", &rank, 1u,
                         &incarnation, 1u, &parent, 1u, ""));
    alone_take(it, link, record);
}

static uint32_t parent_of(const struct alone *it)
{
    return it->node->parent ? it->node->parent->rank : RANK_NONE;
}

/* PROTOCOL 18.4, 18.5: a mover asks by the new way, and commits when it is answered:
 * it makes the record, which the old parent gets too. */
TEST(a_mover_commits_when_its_question_is_answered)
{
    struct alone it = begin_node();
    const struct frame *probe;
    struct table_entry own;

    ask_next(&it);
    answer_next(&it, ADOPTION_OK);
    probe = alone_sent(&it, TO_NEXT, FRAME_PROBE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(probe);
    CU_ASSERT_EQUAL(probe->tag, 1);
    CU_ASSERT_EQUAL(probe->origin, 1);
    CU_ASSERT_EQUAL(parent_of(&it), 0);
    align(&it, PROBE_OK);
    CU_ASSERT_EQUAL(parent_of(&it), 3);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_PARENT, FRAME_RECORD));
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_CHILD, FRAME_RECORD));
    probe = alone_sent(&it, TO_PARENT, FRAME_PROBE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(probe);
    CU_ASSERT_EQUAL(probe->tag, PROBE_TELL);
    CU_ASSERT_FALSE(alone_closed(&it, TO_PARENT));
    CHECK_OK(table_entry(it.node->heal.table, 1, &own));
    CU_ASSERT_EQUAL(own.parent, 3);
    CU_ASSERT_EQUAL(own.incarnation, 1);
    alone_fini(&it);
}

/* PROTOCOL 18.5: until the commit packets go to the old parent, in its window. */
TEST(the_window_of_the_next_parent_counts_from_the_commit)
{
    struct alone it = begin_node();
    const struct credit *credit = &it.node->streams[0]->up.credit;
    uint64_t window = credit->window;

    CU_ASSERT_NOT_EQUAL(window, NEXT_WINDOW);
    ask_next(&it);
    answer_next(&it, ADOPTION_OK);
    CU_ASSERT_EQUAL(credit->window, window);
    align(&it, PROBE_OK);
    CU_ASSERT_EQUAL(credit->window, NEXT_WINDOW);
    alone_fini(&it);
}

/* PROTOCOL 18.1: a refusal, an end, or silence of the next parent ends the move,
 * and nothing else. */
TEST(a_move_that_fails_changes_nothing)
{
    static const enum adoption_answer refusals[] = {
        ADOPTION_ORPHAN, ADOPTION_CLOSING, ADOPTION_FULL, ADOPTION_TOO_HIGH,
        ADOPTION_EXPELLED};

    for (int how = 0; how < 9; how++) {
        struct alone it = begin_node();

        ask_next(&it);
        if (how > 5)
            answer_next(&it, ADOPTION_OK);
        if (how < 5) {
            answer_next(&it, refusals[how]);
        } else if (how == 5 || how == 6) {
            alone_take(&it, TO_NEXT, (struct frame){.type = FRAME_END});
        } else if (how == 7) {
            align(&it, PROBE_FAIL);
        } else {
            it.now_ms += it.node->times.probe_timeout_ms;
            alone_step(&it, (struct event){.type = EVENT_TICK});
        }
        CU_ASSERT(alone_closed(&it, TO_NEXT));
        CU_ASSERT_EQUAL(parent_of(&it), 0);
        CU_ASSERT_FALSE(move_is_under_way(it.node));
        CU_ASSERT_FALSE(it.node->ended);
        alone_step(&it, (struct event){.type = EVENT_MOVE, .parent = 3});
        CU_ASSERT_EQUAL(alone_count(&it, ACTION_DIAL, 0), 1);
        alone_fini(&it);
    }
}

/* Only a commnode that has a parent moves, to another node than that and itself,
 * and to one at a time. */
TEST(a_move_to_nowhere_does_not_begin)
{
    struct alone it = begin_node();

    for (uint32_t rank = 0; rank < 2; rank++) {
        alone_step(&it, (struct event){.type = EVENT_MOVE, .parent = rank});
        CU_ASSERT_EQUAL(it.actions.count, 0);
    }
    begin_move(&it);
    alone_step(&it, (struct event){.type = EVENT_MOVE, .parent = 2});
    CU_ASSERT_EQUAL(it.actions.count, 0);
    alone_fini(&it);
}

/* PROTOCOL 18.2: a mover answers like an orphan, except to ALIGN. */
TEST(a_mover_answers_like_an_orphan)
{
    struct alone it = begin_node();

    begin_move(&it);
    take_probe(&it, 7, 0);
    CU_ASSERT_PTR_NULL(alone_sent(&it, TO_PARENT, FRAME_PROBE));
    CU_ASSERT_PTR_NOT_NULL_FATAL(alone_sent(&it, TO_CHILD, FRAME_PROBED));
    CU_ASSERT_EQUAL(alone_sent(&it, TO_CHILD, FRAME_PROBED)->tag, PROBE_FAIL);
    take_probe(&it, 7, 1);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_PARENT, FRAME_PROBE));
    alone_link_up(&it, TO_NEXT + 1, 3, NODE_COMMNODE, 0);
    alone_take_adopt(&it, TO_NEXT + 1,
                     (struct frame){.origin = 3, .count = 1, .sequence = 1}, 5,
                     5);
    CU_ASSERT_EQUAL(alone_answered(&it, TO_NEXT + 1), ADOPTION_ORPHAN);
    alone_fini(&it);
}

/* PROTOCOL 18.5: at the commit an ALIGN that waits goes up by the new way; other
 * probes fail, as the old one answers them no more. */
TEST(what_waits_in_a_mover_is_asked_again_or_fails)
{
    struct alone it = begin_node();
    const struct frame *again;

    take_probe(&it, 7, 0);
    take_probe(&it, 8, 1);
    ask_next(&it);
    answer_next(&it, ADOPTION_OK);
    align(&it, PROBE_OK);
    again = alone_sent(&it, TO_NEXT, FRAME_PROBE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    CU_ASSERT_EQUAL(again->origin, 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(alone_sent(&it, TO_CHILD, FRAME_PROBED));
    CU_ASSERT_EQUAL(alone_sent(&it, TO_CHILD, FRAME_PROBED)->origin, 7);
    alone_fini(&it);
}

/* What ALIGN says of streams, and its answer, come from the network. */
TEST(streams_that_make_no_sense_cost_the_link)
{
    struct alone it = begin_node();
    struct frame probe = {
        .type = FRAME_PROBE, .tag = PROBE_ALIGN, .origin = 8, .sequence = 1};
    struct frame probed = {.type = FRAME_PROBED,
                           .tag = PROBE_OK,
                           .origin = 1,
                           .count = 1,
                           .sequence = 2};
    uint64_t values[] = {1, 2};
    uint32_t ids[] = {1, 2};

    ask_next(&it);
    answer_next(&it, ADOPTION_OK);
    CHECK_OK(packet_pack(&probed.payload, "%aud %auld %aud", ids, 2u, values,
                         1u, ids, 2u));
    alone_take(&it, TO_NEXT, probed);
    CU_ASSERT(alone_closed(&it, TO_NEXT));
    CU_ASSERT_EQUAL(parent_of(&it), 0);
    CHECK_OK(packet_pack(&probe.payload, "%aud %auld", ids, 1u, values, 2u));
    alone_take(&it, TO_CHILD, probe);
    CU_ASSERT(alone_closed(&it, TO_CHILD));
    CU_ASSERT_PTR_NULL(alone_sent(&it, TO_PARENT, FRAME_PROBE));
    alone_fini(&it);
}

/* PROTOCOL 18.10: a mover that loses its parent is an orphan, and its attempt is
 * the first one; if it was adopted already, it has a parent at once. */
TEST(a_mover_that_loses_its_parent_goes_on)
{
    struct alone it = begin_node();

    ask_next(&it);
    alone_link_down(&it, TO_PARENT);
    CU_ASSERT_EQUAL(parent_of(&it), RANK_NONE);
    CU_ASSERT_EQUAL(alone_count(&it, ACTION_DIAL, 0), 0);
    answer_next(&it, ADOPTION_OK);
    CU_ASSERT_EQUAL(parent_of(&it), 3);
    CU_ASSERT_PTR_NULL(alone_sent(&it, TO_NEXT, FRAME_PROBE));
    alone_fini(&it);
    it = begin_node();
    ask_next(&it);
    answer_next(&it, ADOPTION_OK);
    alone_link_down(&it, TO_PARENT);
    CU_ASSERT_EQUAL(parent_of(&it), 3);
    CU_ASSERT_FALSE(move_is_under_way(it.node));
    alone_fini(&it);
}

/* The mover reads packet `number` of stream 0, by its old parent. */
static void read_zero(struct alone *it, uint64_t number)
{
    struct control control = {.type = CONTROL_VIEW};
    struct frame frame;

    CHECK_OK(control_encode(&control, &frame));
    frame.sequence = number;
    alone_take(it, TO_PARENT, frame);
    CU_ASSERT_EQUAL(it->node->streams[0]->down.last, number);
}

/* PROTOCOL 18.4, 18.10: what a mover reads by its old parent after it has asked may
 * not have come to the next parent. It asks again, or, as an orphan, anew. */
TEST(a_mover_is_not_ahead_of_its_parent)
{
    struct alone it = begin_node();

    read_zero(&it, 1);
    ask_next(&it);
    read_zero(&it, 2);
    answer_next(&it, ADOPTION_OK);
    read_zero(&it, 3);
    align(&it, PROBE_OK);
    CU_ASSERT_EQUAL(parent_of(&it), 0);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_NEXT, FRAME_PROBE));
    align(&it, PROBE_OK);
    CU_ASSERT_EQUAL(parent_of(&it), 3);
    alone_fini(&it);
    for (int adopted = 0; adopted < 2; adopted++) {
        it = begin_node();
        ask_next(&it);
        if (adopted)
            answer_next(&it, ADOPTION_OK);
        read_zero(&it, 1);
        alone_link_down(&it, TO_PARENT);
        CU_ASSERT_EQUAL(parent_of(&it), RANK_NONE);
        CU_ASSERT_TRUE(alone_closed(&it, TO_NEXT));
        CU_ASSERT_EQUAL(alone_count(&it, ACTION_DIAL, 0), 1);
        alone_fini(&it);
    }
}

/* PROTOCOL 18.1: a mover that is said to have failed gives up the move, and
 * refutes that; also later, if an attempt has used a higher number. */
TEST(a_mover_refutes_its_failure)
{
    for (int later = 0; later < 2; later++) {
        struct alone it = begin_node();
        struct table_entry own;

        ask_next(&it);
        if (later)
            answer_next(&it, ADOPTION_FULL);
        take_record(&it, TO_PARENT, 1, 0, TABLE_FAILED);
        CU_ASSERT_EQUAL(alone_closed(&it, TO_NEXT), !later);
        CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_PARENT, FRAME_RECORD));
        CHECK_OK(table_entry(it.node->heal.table, 1, &own));
        CU_ASSERT_FALSE(own.failed);
        CU_ASSERT_EQUAL(own.incarnation, 2);
        CU_ASSERT_EQUAL(it.node->incarnation, 2);
        alone_fini(&it);
    }
}

/* PROTOCOL 18.3: the end of a mover that has not committed is no failure, unless
 * its record says later that it had. */
TEST(a_mover_that_has_not_committed_has_another_parent)
{
    struct alone it = begin_node();
    struct table_entry mover;

    alone_link_up(&it, TO_NEXT, 3, NODE_COMMNODE, 0);
    alone_take_adopt(
        &it, TO_NEXT,
        (struct frame){
            .tag = ADOPTION_MOVE, .origin = 3, .count = 1, .sequence = 1},
        5, 5);
    alone_take(&it, TO_PARENT,
               (struct frame){.type = FRAME_PROBED,
                              .tag = PROBE_OK,
                              .origin = 3,
                              .count = 1,
                              .sequence = 1});
    CU_ASSERT_EQUAL(alone_answered(&it, TO_NEXT), ADOPTION_OK);
    CU_ASSERT_PTR_NULL(alone_sent(&it, TO_PARENT, FRAME_RECORD));
    alone_link_down(&it, TO_NEXT);
    CU_ASSERT_PTR_NULL(alone_sent(&it, TO_PARENT, FRAME_RECORD));
    CHECK_OK(table_entry(it.node->heal.table, 3, &mover));
    CU_ASSERT_FALSE(mover.failed);
    take_record(&it, TO_PARENT, 3, 1, 1);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_PARENT, FRAME_RECORD));
    CHECK_OK(table_entry(it.node->heal.table, 3, &mover));
    CU_ASSERT(mover.failed);
    alone_fini(&it);
}
