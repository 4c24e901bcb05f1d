/* test_adoption.c - one candidate, and every answer that it may give an orphan
 * (PROTOCOL 8.2 to 8.4, 11.2). */
#include "protocol/members/control.h"
#include "test/protocol/alone.h"
#include "wire/limits.h"
#include "wire/messages.h"
#include "wire/packet.h"

/* The fields of ADOPT and ADOPTED, as on the wire. */
enum answer {
    NONE,
    OK,
    ORPHAN,
    CLOSING,
    FULL,
    STALE,
    TOO_HIGH,
    LAST_RESORT,
};

/* The links of the candidate, rank 1. */
enum {
    TO_PARENT,
    TO_ORPHAN,
    TO_ANOTHER,
};

/* A commnode of the tree 0(1(2),3(4,5)), with back-ends 6, 7 below 4 and 5. */
static struct alone begin_candidate(void)
{
    struct node_child children[] = {{2, "c", NODE_COMMNODE, 1}};
    struct roster roster = {0};
    struct alone it;

    alone_begin(&it, .role = NODE_COMMNODE, .rank = 1, .depth = 1,
                .children = children, .child_count = 1);
    alone_link_up(&it, TO_PARENT, 0, NODE_FRONTEND, 0);
    CHECK_OK(roster_add_internal(&roster, 0, RANK_NONE, 2, "127.0.0.1 1"));
    CHECK_OK(roster_add_internal(&roster, 1, 0, 1, "127.0.0.1 2"));
    CHECK_OK(roster_add_internal(&roster, 2, 1, 1, "127.0.0.1 3"));
    CHECK_OK(roster_add_internal(&roster, 3, 0, 2, "127.0.0.1 4"));
    CHECK_OK(roster_add_internal(&roster, 4, 3, 1, "127.0.0.1 5"));
    CHECK_OK(roster_add_internal(&roster, 5, 3, 1, "127.0.0.1 6"));
    alone_take_roster(&it, TO_PARENT, &roster, FRAME_TABLE);
    return it;
}

/* The orphan `rank`, with one back-end below it, sends ADOPT on `link`. */
static void ask_on(struct alone *it,
                   uint32_t link,
                   uint32_t rank,
                   uint32_t incarnation,
                   enum answer how)
{
    struct frame frame = {
        .tag = how == LAST_RESORT ? (int32_t)LAST_RESORT : 0,
        .origin = rank,
        .count = incarnation,
        .sequence = 1,
    };

    alone_link_up(it, link, rank, NODE_COMMNODE, 0);
    alone_take_adopt(it, link, frame, rank + 2, rank + 2);
}

static void ask_candidate(struct alone *it,
                          uint32_t rank,
                          uint32_t incarnation,
                          enum answer how)
{
    ask_on(it, TO_ORPHAN, rank, incarnation, how);
}

static enum answer answered(const struct alone *it)
{
    return (enum answer)alone_answered(it, TO_ORPHAN);
}

static bool closed(const struct alone *it)
{
    return alone_closed(it, TO_ORPHAN);
}

/* The front-end answers the probe for `orphan`: OK at that depth, or FAIL if
 * depth is 0. */
static void probed(struct alone *it,
                   uint32_t orphan,
                   uint32_t incarnation,
                   uint64_t depth)
{
    alone_take(it, TO_PARENT,
               (struct frame){
                   .type = FRAME_PROBED,
                   .tag = depth > 0,
                   .origin = orphan,
                   .count = incarnation,
                   .sequence = depth,
               });
}

/* PROTOCOL 8.3, 8.4: the candidate probes its path to the root before it adopts
 * the orphan. The answer to another attempt has no effect. */
TEST(the_way_is_probed_first)
{
    struct alone it = begin_candidate();
    const struct frame *probe;

    ask_candidate(&it, 4, 3, NONE);
    probe = alone_sent(&it, TO_PARENT, FRAME_PROBE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(probe);
    CU_ASSERT_EQUAL(probe->origin, 4);
    CU_ASSERT_EQUAL(probe->count, 3);
    CU_ASSERT_EQUAL(answered(&it), NONE);
    probed(&it, 4, 2, 1);
    CU_ASSERT_EQUAL(answered(&it), NONE);
    probed(&it, 4, 3, 1);
    CU_ASSERT_EQUAL(answered(&it), OK);
    CU_ASSERT_FALSE(closed(&it));
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_PARENT, FRAME_RECORD));
    alone_fini(&it);
}

/* PROTOCOL 6.1: the candidate's first heartbeat wakes no orphan by itself. It
 * is sent once, just before the answer, or earlier if that takes long. */
TEST(the_greeting_goes_with_the_answer)
{
    struct alone it = begin_candidate();
    const struct frame *greeting;

    alone_step(&it, (struct event){.type = EVENT_LINK_UP,
                                   .link = TO_ORPHAN,
                                   .rank = 5,
                                   .role = NODE_COMMNODE});
    CU_ASSERT_EQUAL(it.actions.count, 0);
    alone_fini(&it);
    for (int late = 0; late < 2; late++) {
        it = begin_candidate();
        ask_candidate(&it, 4, 3, NONE);
        if (late) {
            it.now_ms += LIMIT_HEARTBEAT_MS;
            alone_step(&it, (struct event){.type = EVENT_TICK});
        } else {
            probed(&it, 4, 3, 1);
        }
        greeting = alone_sent(&it, TO_ORPHAN, FRAME_HEARTBEAT);
        CU_ASSERT_PTR_NOT_NULL_FATAL(greeting);
        CU_ASSERT(greeting->count > 0);
        if (late)
            probed(&it, 4, 3, 1);
        else
            CU_ASSERT((const void *)greeting <
                      (const void *)alone_sent(&it, TO_ORPHAN, FRAME_ADOPTED));
        CU_ASSERT_EQUAL(answered(&it), OK);
        CU_ASSERT_EQUAL(alone_sent(&it, TO_ORPHAN, FRAME_HEARTBEAT) == NULL,
                        late);
        alone_fini(&it);
    }
}

/* PROTOCOL 8.3: the path to the root is broken. */
TEST(a_failed_probe_refuses)
{
    struct alone it = begin_candidate();

    ask_candidate(&it, 4, 1, NONE);
    probed(&it, 4, 1, 0);
    CU_ASSERT_EQUAL(answered(&it), ORPHAN);
    CU_ASSERT(closed(&it));
    alone_fini(&it);
}

/* PROTOCOL 8.2, 8.3: a node that loses its parent fails the probes that wait in
 * it, and adopts no orphan. */
TEST(an_orphan_refuses)
{
    struct alone it = begin_candidate();

    ask_candidate(&it, 4, 1, NONE);
    alone_link_down(&it, TO_PARENT);
    CU_ASSERT_EQUAL(answered(&it), ORPHAN);
    CU_ASSERT(closed(&it));
    ask_candidate(&it, 5, 1, NONE);
    CU_ASSERT_EQUAL(answered(&it), ORPHAN);
    CU_ASSERT(closed(&it));
    alone_fini(&it);
}

/* PROTOCOL 8.2: an attempt older than the known one is refused. */
TEST(a_stale_attempt_is_refused)
{
    struct alone it = begin_candidate();
    uint32_t rank = 4, incarnation = 3, parent = 5;
    struct frame record = {.type = FRAME_RECORD};

    CHECK_OK(packet_pack(&record.payload, "%aud %aud %aud %s", &rank, 1u,
                         &incarnation, 1u, &parent, 1u, ""));
    alone_take(&it, TO_PARENT, record);
    ask_candidate(&it, 4, 2, NONE);
    CU_ASSERT_EQUAL(answered(&it), STALE);
    CU_ASSERT(closed(&it));
    ask_candidate(&it, 4, 4, NONE);
    CU_ASSERT_EQUAL(answered(&it), NONE);
    probed(&it, 4, 4, 1);
    CU_ASSERT_EQUAL(answered(&it), OK);
    alone_fini(&it);
}

/* A reason is cut to the length that receivers accept; a three-byte character
 * that does not fit is left out. */
TEST(a_long_reason_is_cut)
{
    struct alone it = begin_candidate();
    char reason[2 * LIMIT_TEXT];
    const uint32_t *numbers;
    const struct frame *record;
    struct cop_packet *packet;
    const char *text;
    uint32_t count;

    memset(reason, 'x', sizeof(reason));
    memcpy(reason + LIMIT_TEXT - 2, "\xe2\x82\xac", 3);
    reason[sizeof(reason) - 1] = '\0';
    alone_step(&it, (struct event){
                        .type = EVENT_CHILD_GONE, .rank = 2, .text = reason});
    record = alone_sent(&it, TO_PARENT, FRAME_RECORD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    CHECK_OK(packet_open(&packet, record->payload));
    CHECK_OK(cop_packet_unpack(packet, "%aud %aud %aud %s", &numbers, &count,
                               &numbers, &count, &numbers, &count, &text));
    CU_ASSERT_EQUAL(strlen(text), LIMIT_TEXT - 2);
    CU_ASSERT_EQUAL(memcmp(text, reason, strlen(text)), 0);
    cop_packet_free(packet);
    alone_fini(&it);
}

/* PROTOCOL 8.4: the path is longer than the orphan knew. If the orphan asks
 * again as a last resort, it is adopted. */
TEST(an_orphan_that_raises_the_tree_is_refused)
{
    struct alone it = begin_candidate();

    ask_candidate(&it, 4, 1, NONE);
    probed(&it, 4, 1, 2); /* 2 + 1 + 1 > 3, the height at launch */
    CU_ASSERT_EQUAL(answered(&it), TOO_HIGH);
    CU_ASSERT(closed(&it));
    ask_candidate(&it, 4, 2, LAST_RESORT);
    probed(&it, 4, 2, 2);
    CU_ASSERT_EQUAL(answered(&it), OK);
    alone_fini(&it);
}

/* PROTOCOL 8.2: the number of waiting probes is limited to that of children. */
TEST(a_full_candidate_refuses)
{
    struct alone it = begin_candidate();

    ask_candidate(&it, 5, 1, NONE);
    probed(&it, 5, 1, 1);
    CU_ASSERT_EQUAL_FATAL(answered(&it), OK);
    /* orphans below it ask, and the front-end does not answer */
    for (uint32_t i = 0; i <= LIMIT_CHILDREN; i++) {
        alone_take(&it, TO_ORPHAN,
                   (struct frame){
                       .type = FRAME_PROBE,
                       .origin = 1000 + i,
                       .count = 1,
                       .sequence = 1,
                   });
        CU_ASSERT_EQUAL(alone_sent(&it, TO_ORPHAN, FRAME_PROBED) != NULL,
                        i == LIMIT_CHILDREN);
    }
    ask_on(&it, TO_ANOTHER, 4, 1, NONE);
    CU_ASSERT_EQUAL(alone_answered(&it, TO_ANOTHER), FULL);
    CU_ASSERT(alone_closed(&it, TO_ANOTHER));
    alone_fini(&it);
}

/* PROTOCOL 11.4: a node that is closing adopts no orphan. */
TEST(a_closing_candidate_refuses)
{
    struct alone it = begin_candidate();
    struct control control = {.type = CONTROL_SHUTDOWN};
    struct frame frame;

    ask_candidate(&it, 5, 1, NONE);
    probed(&it, 5, 1, 1);
    CHECK_OK(control_encode(&control, &frame));
    frame.sequence = 1;
    alone_take(&it, TO_PARENT, frame);
    /* refused before its ADOPT arrives */
    alone_step(&it, (struct event){.type = EVENT_LINK_UP,
                                   .link = TO_ANOTHER,
                                   .rank = 4,
                                   .role = NODE_COMMNODE});
    CU_ASSERT_EQUAL(alone_answered(&it, TO_ANOTHER), CLOSING);
    CU_ASSERT(alone_closed(&it, TO_ANOTHER));
    alone_fini(&it);
}

/* PROTOCOL 11.2: a back-end that was given up is adopted, and expelled on that
 * link; no node counts it as a member. */
TEST(an_adopted_back_end_that_was_given_up_is_expelled)
{
    struct alone it = begin_candidate();
    struct control control = {.type = CONTROL_LOST, .ranks = {0}};
    struct frame frame;

    CHECK_OK(ranks_add(&control.ranks, 6, 6));
    CHECK_OK(control_encode(&control, &frame));
    control_fini(&control);
    frame.sequence = 1;
    alone_take(&it, TO_PARENT, frame);
    ask_candidate(&it, 4, 1, NONE); /* back-end 6 is below it */
    probed(&it, 4, 1, 1);
    CU_ASSERT_EQUAL(answered(&it), OK);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&it, TO_ORPHAN, FRAME_EXPEL));
    CU_ASSERT_EQUAL(ranks_size(node_members(it.node, 0)), 0);
    alone_fini(&it);
}

/* A peer that is no orphan, names another orphan, or sends frames out of order
 * has broken the protocol. */
TEST(nonsense_costs_the_link)
{
    struct alone it = begin_candidate();
    struct frame frame = {
        .type = FRAME_ADOPT, .origin = 5, .count = 1, .sequence = 1};

    alone_link_up(&it, TO_ORPHAN, 4, NODE_COMMNODE, 0);
    alone_take(&it, TO_ORPHAN, frame); /* ADOPT names rank 5 */
    CU_ASSERT_EQUAL(answered(&it), NONE);
    CU_ASSERT(closed(&it));
    ask_candidate(&it, 4, 1, NONE);
    frame.origin = 4;
    alone_take(&it, TO_ORPHAN, frame); /* a second ADOPT */
    CU_ASSERT(closed(&it));
    alone_fini(&it);
}

/* The rank that the node dials in this step or after its pause; checks that the
 * address is that of TABLE. */
static uint32_t next_dialled(struct alone *it)
{
    char address[32];

    for (int i = 0; i < 1000; i++) {
        for (size_t k = 0; k < it->actions.count; k++) {
            const struct action *action = &it->actions.list[k];

            if (action->type != ACTION_DIAL)
                continue;
            snprintf(address, sizeof(address), "127.0.0.1 %u",
                     action->rank + 1);
            CU_ASSERT_STRING_EQUAL_FATAL(action->text, address);
            return action->rank;
        }
        it->now_ms += 10;
        alone_step(it, (struct event){.type = EVENT_TICK});
    }
    return RANK_NONE;
}

/* PROTOCOL 8.1: an orphan asks each candidate under a new incarnation, with the
 * height of its subtree and the back-ends below it. */
TEST(each_attempt_has_its_own_incarnation)
{
    struct alone it = begin_candidate();

    ask_candidate(&it, 4, 1, NONE);
    probed(&it, 4, 1, 1); /* back-end 6 is below this node now */
    alone_link_down(&it, TO_PARENT);
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        uint32_t rank = next_dialled(&it), count;
        const struct frame *frame;
        const uint32_t *below;
        struct cop_packet *packet;
        struct msg_adopt adopt;

        alone_step(&it, (struct event){
                            .type = EVENT_LINK_UP,
                            .link = TO_ANOTHER,
                            .rank = rank,
                            .role = rank == 0 ? NODE_FRONTEND : NODE_COMMNODE,
                            .is_parent = true,
                        });
        frame = alone_sent(&it, TO_ANOTHER, FRAME_ADOPT);
        CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
        CHECK_OK(msg_adopt_decode(frame, &adopt));
        CU_ASSERT_EQUAL(adopt.orphan, 1);
        CU_ASSERT_EQUAL(adopt.incarnation, attempt);
        CU_ASSERT_EQUAL(adopt.height, 2);
        CHECK_OK(packet_open(&packet, adopt.payload));
        CHECK_OK(cop_packet_unpack(packet, "%aud", &below, &count));
        CU_ASSERT_EQUAL_FATAL(count, 2);
        CU_ASSERT(below[0] == 6 && below[1] == 6);
        cop_packet_free(packet);
        alone_take(&it, TO_ANOTHER,
                   msg_adopted_encode(
                       &(struct msg_adopted){.answer = FULL, .sender = rank}));
    }
    alone_fini(&it);
}

/* PROTOCOL 3.1: a parent dies in the middle of a snapshot. The next one sends the
 * packets of stream 0 by number, and opens the stream, which is open, again; but not
 * in a node that has read no half of a snapshot. */
TEST(a_stream_of_half_a_snapshot_is_opened_by_number)
{
    static const uint64_t numbers[][2] = {{1, 2}, {0, 1}};
    char up[] = "sum", none[] = "";
    struct control control = {
        .type = CONTROL_OPEN,
        .definition = {.id = 1,
                       .up_filter = up,
                       .up_filter_frontend = none,
                       .up_filter_backend = none,
                       .down_filter = none},
    };

    for (int half = 0; half < 2; half++) {
        struct alone it = begin_candidate();
        struct frame frame;

        for (int i = 0; i < 2; i++) {
            CU_ASSERT_FALSE(alone_closed(&it, TO_PARENT));
            CHECK_OK(control_encode(&control, &frame));
            frame.number = numbers[half][i];
            alone_take(&it, TO_PARENT, frame);
        }
        CU_ASSERT_EQUAL(alone_closed(&it, TO_PARENT), !half);
        alone_fini(&it);
    }
}
