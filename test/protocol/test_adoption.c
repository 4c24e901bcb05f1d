/* test_adoption.c - one candidate, and every answer that it may give an orphan
 * (PROTOCOL 8.2 to 8.4, 11.2). */
#include "protocol/launch/roster.h"
#include "protocol/members/control.h"
#include "protocol/node.h"
#include "wire/limits.h"
#include "wire/packet.h"

#include "test/check.h"

/* What ADOPT and ADOPTED say, as it stands on the wire. */
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

/* Links of the candidate, which has rank 1. */
enum {
    TO_PARENT,
    TO_ORPHAN,
    TO_ANOTHER,
};

/* The tree 0(1(2),3(4,5)), and back-ends 6, 7 below 4 and 5. */
struct candidate {
    struct node *node;
    struct actions actions;
    uint64_t now_ms;
    uint32_t orphan; /* the link by which one asks */
};

static void step(struct candidate *it, struct event event)
{
    actions_clear(&it->actions);
    event.now_ms = it->now_ms;
    CHECK_OK(node_step(it->node, &event, &it->actions));
}

static void take(struct candidate *it, uint32_t link, struct frame frame)
{
    step(it, (struct event){.type = EVENT_FRAME, .link = link, .frame = frame});
}

static void bring_up(struct candidate *it,
                     uint32_t link,
                     uint32_t rank,
                     enum node_role role)
{
    step(it, (struct event){
                 .type = EVENT_LINK_UP,
                 .link = link,
                 .rank = rank,
                 .role = role,
                 .is_parent = link == TO_PARENT,
             });
    take(it, link, (struct frame){.type = FRAME_HEARTBEAT, .count = 65536});
}

/* The frame of `type` that the last step sent on `link`, or NULL. */
static const struct frame *sent(const struct candidate *it,
                                uint32_t link,
                                enum frame_type type)
{
    size_t i;

    for (i = 0; i < it->actions.count; i++) {
        const struct action *action = &it->actions.list[i];

        if (action->type == ACTION_SEND && action->link == link &&
            action->frame.type == type)
            return &action->frame;
    }
    return NULL;
}

static enum answer answered(const struct candidate *it)
{
    const struct frame *frame = sent(it, it->orphan, FRAME_ADOPTED);

    return frame ? (enum answer)frame->tag : NONE;
}

/* Whether the last step closed the orphan's link. */
static bool closed(const struct candidate *it)
{
    size_t i;

    for (i = 0; i < it->actions.count; i++)
        if (it->actions.list[i].type == ACTION_CLOSE &&
            it->actions.list[i].link == it->orphan)
            return true;
    return false;
}

static struct candidate begin(void)
{
    struct node_child children[] = {{2, "c", NODE_COMMNODE, 1}};
    struct node_config config = {
        .role = NODE_COMMNODE,
        .rank = 1,
        .depth = 1,
        .host = "a",
        .address = "127.0.0.1 4711",
        .children = children,
        .child_count = 1,
    };
    struct candidate it = {.now_ms = 1000, .orphan = TO_ORPHAN};
    struct roster roster = {0};
    struct frame frame;

    CHECK_OK(node_new(&it.node, &config));
    step(&it, (struct event){.type = EVENT_START});
    bring_up(&it, TO_PARENT, 0, NODE_FRONTEND);
    CHECK_OK(roster_add_internal(&roster, 0, RANK_NONE, 2, "127.0.0.1 1"));
    CHECK_OK(roster_add_internal(&roster, 1, 0, 1, "127.0.0.1 2"));
    CHECK_OK(roster_add_internal(&roster, 2, 1, 1, "127.0.0.1 3"));
    CHECK_OK(roster_add_internal(&roster, 3, 0, 2, "127.0.0.1 4"));
    CHECK_OK(roster_add_internal(&roster, 4, 3, 1, "127.0.0.1 5"));
    CHECK_OK(roster_add_internal(&roster, 5, 3, 1, "127.0.0.1 6"));
    CHECK_OK(roster_encode(&roster, FRAME_TABLE, &frame));
    roster_fini(&roster);
    take(&it, TO_PARENT, frame);
    return it;
}

static void end(struct candidate *it)
{
    actions_fini(&it->actions);
    node_free(it->node);
}

/* The orphan `rank` asks, with `below` as the back-end below it. */
static void ask(struct candidate *it,
                uint32_t rank,
                enum node_role role,
                uint32_t incarnation,
                enum answer how)
{
    uint32_t pair[] = {role == NODE_BACKEND ? rank : rank + 2, 0};
    struct frame frame = {
        .type = FRAME_ADOPT,
        .tag = how == LAST_RESORT ? (int32_t)LAST_RESORT : 0,
        .origin = rank,
        .count = incarnation,
        .sequence = role == NODE_BACKEND ? 0 : 1,
    };

    pair[1] = pair[0];
    bring_up(it, it->orphan, rank, role);
    CHECK_OK(packet_pack(&frame.payload, "%aud", pair, 2u));
    take(it, it->orphan, frame);
}

/* The front-end's answer to the probe for `orphan`: OK at that depth, or, with
 * depth 0, FAIL. */
static void probed(struct candidate *it,
                   uint32_t orphan,
                   uint32_t incarnation,
                   uint64_t depth)
{
    take(it, TO_PARENT,
         (struct frame){
             .type = FRAME_PROBED,
             .tag = depth > 0,
             .origin = orphan,
             .count = incarnation,
             .sequence = depth,
         });
}

/* PROTOCOL 8.3, 8.4: first the way to the root is probed, then the orphan is
 * taken; an answer for another attempt is none. */
TEST(the_way_is_probed_first)
{
    struct candidate it = begin();
    const struct frame *probe;

    ask(&it, 4, NODE_COMMNODE, 3, NONE);
    probe = sent(&it, TO_PARENT, FRAME_PROBE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(probe);
    CU_ASSERT_EQUAL(probe->origin, 4);
    CU_ASSERT_EQUAL(probe->count, 3);
    CU_ASSERT_EQUAL(answered(&it), NONE);
    probed(&it, 4, 2, 1);
    CU_ASSERT_EQUAL(answered(&it), NONE);
    probed(&it, 4, 3, 1);
    CU_ASSERT_EQUAL(answered(&it), OK);
    CU_ASSERT_FALSE(closed(&it));
    CU_ASSERT_PTR_NOT_NULL(sent(&it, TO_PARENT, FRAME_RECORD));
    end(&it);
}

/* PROTOCOL 6.1: an orphan is not woken for our first heartbeat alone, but has
 * it when the answer takes long; it comes first, and once. */
TEST(the_greeting_goes_with_the_answer)
{
    struct candidate it = begin();
    const struct frame *greeting;
    int late;

    step(&it, (struct event){.type = EVENT_LINK_UP,
                             .link = TO_ORPHAN,
                             .rank = 5,
                             .role = NODE_COMMNODE});
    CU_ASSERT_EQUAL(it.actions.count, 0);
    end(&it);
    for (late = 0; late < 2; late++) {
        it = begin();
        ask(&it, 4, NODE_COMMNODE, 3, NONE);
        if (late) {
            it.now_ms += LIMIT_HEARTBEAT_MS;
            step(&it, (struct event){.type = EVENT_TICK});
        } else {
            probed(&it, 4, 3, 1);
        }
        greeting = sent(&it, TO_ORPHAN, FRAME_HEARTBEAT);
        CU_ASSERT_PTR_NOT_NULL_FATAL(greeting);
        CU_ASSERT(greeting->count > 0);
        if (late)
            probed(&it, 4, 3, 1);
        else
            CU_ASSERT((const void *)greeting <
                      (const void *)sent(&it, TO_ORPHAN, FRAME_ADOPTED));
        CU_ASSERT_EQUAL(answered(&it), OK);
        CU_ASSERT_EQUAL(sent(&it, TO_ORPHAN, FRAME_HEARTBEAT) == NULL, late);
        end(&it);
    }
}

/* PROTOCOL 8.3: the way is not whole. */
TEST(a_failed_probe_refuses)
{
    struct candidate it = begin();

    ask(&it, 4, NODE_COMMNODE, 1, NONE);
    probed(&it, 4, 1, 0);
    CU_ASSERT_EQUAL(answered(&it), ORPHAN);
    CU_ASSERT(closed(&it));
    end(&it);
}

/* PROTOCOL 8.2, 8.3: who loses its parent fails what waits in it, and takes
 * nobody. */
TEST(an_orphan_refuses)
{
    struct candidate it = begin();

    ask(&it, 4, NODE_COMMNODE, 1, NONE);
    step(&it, (struct event){.type = EVENT_LINK_DOWN,
                             .link = TO_PARENT,
                             .text = "it broke"});
    CU_ASSERT_EQUAL(answered(&it), ORPHAN);
    CU_ASSERT(closed(&it));
    ask(&it, 5, NODE_COMMNODE, 1, NONE);
    CU_ASSERT_EQUAL(answered(&it), ORPHAN);
    CU_ASSERT(closed(&it));
    end(&it);
}

/* PROTOCOL 8.2: an attempt that is older than what is known of the orphan. */
TEST(a_stale_attempt_is_refused)
{
    struct candidate it = begin();
    uint32_t rank = 4, incarnation = 3, parent = 5;
    struct frame record = {.type = FRAME_RECORD};

    CHECK_OK(packet_pack(&record.payload, "%aud %aud %aud %s", &rank, 1u,
                         &incarnation, 1u, &parent, 1u, ""));
    take(&it, TO_PARENT, record);
    ask(&it, 4, NODE_COMMNODE, 2, NONE);
    CU_ASSERT_EQUAL(answered(&it), STALE);
    CU_ASSERT(closed(&it));
    ask(&it, 4, NODE_COMMNODE, 4, NONE);
    CU_ASSERT_EQUAL(answered(&it), NONE);
    probed(&it, 4, 4, 1);
    CU_ASSERT_EQUAL(answered(&it), OK);
    end(&it);
}

/* Of a reason of any length as much is said as others take; a character of
 * three bytes that does not fit is left out. */
TEST(a_long_reason_is_cut)
{
    struct candidate it = begin();
    char reason[2 * LIMIT_TEXT];
    const uint32_t *numbers;
    const struct frame *record;
    struct cop_packet *packet;
    const char *text;
    uint32_t count;

    memset(reason, 'x', sizeof(reason));
    memcpy(reason + LIMIT_TEXT - 2, "\xe2\x82\xac", 3);
    reason[sizeof(reason) - 1] = '\0';
    step(&it,
         (struct event){.type = EVENT_CHILD_GONE, .rank = 2, .text = reason});
    record = sent(&it, TO_PARENT, FRAME_RECORD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    CHECK_OK(packet_open(&packet, record->payload));
    CHECK_OK(cop_packet_unpack(packet, "%aud %aud %aud %s", &numbers, &count,
                               &numbers, &count, &numbers, &count, &text));
    CU_ASSERT_EQUAL(strlen(text), LIMIT_TEXT - 2);
    CU_ASSERT_EQUAL(memcmp(text, reason, strlen(text)), 0);
    cop_packet_free(packet);
    end(&it);
}

/* PROTOCOL 8.4: the path is longer than the orphan knew. It may ask again as a
 * last resort, and then it is taken. */
TEST(who_would_raise_the_tree_is_refused)
{
    struct candidate it = begin();

    ask(&it, 4, NODE_COMMNODE, 1, NONE);
    probed(&it, 4, 1, 2); /* 2 + 1 + 1 > 3, the height at launch */
    CU_ASSERT_EQUAL(answered(&it), TOO_HIGH);
    CU_ASSERT(closed(&it));
    ask(&it, 4, NODE_COMMNODE, 2, LAST_RESORT);
    probed(&it, 4, 2, 2);
    CU_ASSERT_EQUAL(answered(&it), OK);
    end(&it);
}

/* PROTOCOL 8.2: as many probes wait as there may be children. */
TEST(who_is_full_refuses)
{
    struct candidate it = begin();
    uint32_t i;

    ask(&it, 5, NODE_COMMNODE, 1, NONE);
    probed(&it, 5, 1, 1);
    CU_ASSERT_EQUAL_FATAL(answered(&it), OK);
    /* orphans below it ask, and the front-end does not answer */
    for (i = 0; i <= LIMIT_CHILDREN; i++) {
        take(&it, TO_ORPHAN,
             (struct frame){
                 .type = FRAME_PROBE,
                 .origin = 1000 + i,
                 .count = 1,
                 .sequence = 1,
             });
        CU_ASSERT_EQUAL(sent(&it, TO_ORPHAN, FRAME_PROBED) != NULL,
                        i == LIMIT_CHILDREN);
    }
    it.orphan = TO_ANOTHER;
    ask(&it, 4, NODE_COMMNODE, 1, NONE);
    CU_ASSERT_EQUAL(answered(&it), FULL);
    CU_ASSERT(closed(&it));
    end(&it);
}

/* PROTOCOL 11.4: who closes takes nobody in. */
TEST(who_closes_refuses)
{
    struct candidate it = begin();
    struct control control = {.type = CONTROL_SHUTDOWN};
    struct frame frame;

    ask(&it, 5, NODE_COMMNODE, 1, NONE);
    probed(&it, 5, 1, 1);
    it.orphan = TO_ANOTHER;
    CHECK_OK(control_encode(&control, &frame));
    frame.sequence = 1;
    take(&it, TO_PARENT, frame);
    /* it is told before it has asked */
    step(&it, (struct event){.type = EVENT_LINK_UP,
                             .link = TO_ANOTHER,
                             .rank = 4,
                             .role = NODE_COMMNODE});
    CU_ASSERT_EQUAL(answered(&it), CLOSING);
    CU_ASSERT(closed(&it));
    end(&it);
}

/* PROTOCOL 11.2: a back-end that was given up is adopted, and told so by that
 * link; nobody counts it as a member. */
TEST(who_was_given_up_is_expelled)
{
    struct candidate it = begin();
    struct control control = {.type = CONTROL_LOST, .ranks = {0}};
    struct frame frame;

    CHECK_OK(ranks_add(&control.ranks, 6, 6));
    CHECK_OK(control_encode(&control, &frame));
    control_fini(&control);
    frame.sequence = 1;
    take(&it, TO_PARENT, frame);
    ask(&it, 4, NODE_COMMNODE, 1, NONE); /* 6 is below it */
    probed(&it, 4, 1, 1);
    CU_ASSERT_EQUAL(answered(&it), OK);
    CU_ASSERT_PTR_NOT_NULL(sent(&it, TO_ORPHAN, FRAME_EXPEL));
    CU_ASSERT_EQUAL(ranks_size(node_members(it.node, 0)), 0);
    end(&it);
}

/* A peer that is no orphan, or asks for another, or in no order, has broken
 * the protocol. */
TEST(nonsense_costs_the_link)
{
    struct candidate it = begin();
    struct frame frame = {
        .type = FRAME_ADOPT, .origin = 5, .count = 1, .sequence = 1};

    bring_up(&it, TO_ORPHAN, 4, NODE_COMMNODE);
    take(&it, TO_ORPHAN, frame); /* it says that it is 5 */
    CU_ASSERT_EQUAL(answered(&it), NONE);
    CU_ASSERT(closed(&it));
    ask(&it, 4, NODE_COMMNODE, 1, NONE);
    frame.origin = 4;
    take(&it, TO_ORPHAN, frame); /* it asks twice */
    CU_ASSERT(closed(&it));
    end(&it);
}

int main(void)
{
    return check_run("adoption");
}
