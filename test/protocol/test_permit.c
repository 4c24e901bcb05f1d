/* test_permit.c - PROTOCOL 2.5: a child that holds the key sends a forbidden
 * frame. Its link is closed, the front-end's application is told why, and the
 * other children are not affected. One node alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/check.h"
#include "protocol/members/control.h"
#include "protocol/state.h"
#include "protocol/stream/claim.h"
#include "protocol/stream/waves.h"
#include "protocol/watch/rows.h"
#include "test/protocol/alone.h"
#include "wire/limits.h"
#include "wire/packet.h"

#define FAILED TABLE_FAILED
#define GONE   (TABLE_FAILED - 1)

/* The links of the victim, and the ranks behind them. */
enum {
    PARENT_LINK,  /* of a commnode: the front-end */
    INNER_LINK,   /* commnode 2, with 5 and 6 below it */
    LEAF_LINK,    /* back-end 7 */
    SIBLING_LINK, /* back-end 8 */
};

#define OWN   1 /* the victim, if it is a commnode */
#define INNER 2
#define LEAF  7
#define OTHER 9 /* a commnode elsewhere */

static void take_ready(struct alone *victim,
                       uint32_t link,
                       uint32_t inner,
                       uint32_t first,
                       uint32_t last)
{
    struct roster roster = {0};

    CHECK_OK(ranks_add(&roster.backends, first, last));
    if (inner != RANK_NONE)
        CHECK_OK(roster_add_internal(&roster, inner, RANK_NONE, 2, "a"));
    alone_take_roster(victim, link, &roster, FRAME_READY);
}

static void take_table(struct alone *victim)
{
    struct roster roster = {0};

    CHECK_OK(roster_add_internal(&roster, 0, RANK_NONE, 2, "a"));
    CHECK_OK(roster_add_internal(&roster, OWN, 0, 3, "a"));
    CHECK_OK(roster_add_internal(&roster, INNER, OWN, 2, "a"));
    CHECK_OK(roster_add_internal(&roster, OTHER, 0, 2, "a"));
    alone_take_roster(victim, PARENT_LINK, &roster, FRAME_TABLE);
}

/* The victim's children have connected; a commnode has a parent. */
static void victim_link(struct alone *victim, enum node_role role)
{
    struct node_child children[] = {
        {INNER, "h", NODE_COMMNODE, 0},
        {LEAF, "h", NODE_BACKEND, 0},
        {LEAF + 1, "h", NODE_BACKEND, 0},
    };

    alone_begin(victim, .role = role, .rank = role == NODE_FRONTEND ? 0 : OWN,
                .children = children, .child_count = 3, .next_rank = 1000);
    if (role != NODE_FRONTEND)
        alone_link_up(victim, PARENT_LINK, 0, NODE_FRONTEND, 0);
    alone_link_up(victim, INNER_LINK, INNER, NODE_COMMNODE, 0);
    alone_link_up(victim, LEAF_LINK, LEAF, NODE_BACKEND, 0);
    alone_link_up(victim, SIBLING_LINK, LEAF + 1, NODE_BACKEND, 0);
}

static void victim_init(struct alone *victim, enum node_role role)
{
    victim_link(victim, role);
    take_ready(victim, INNER_LINK, INNER, 5, 6);
    take_ready(victim, LEAF_LINK, RANK_NONE, LEAF, LEAF);
    take_ready(victim, SIBLING_LINK, RANK_NONE, LEAF + 1, LEAF + 1);
    if (role != NODE_FRONTEND)
        take_table(victim);
}

/* ---- results ---- */

/* The text for the application of the front-end, or that of the FAULT sent up;
 * `out` is "" if there is none. */
static void reason(const struct alone *victim, uint32_t rank, char out[1024])
{
    *out = '\0';
    for (size_t i = 0; i < victim->actions.count; i++) {
        const struct action *action = &victim->actions.list[i];
        struct cop_packet *packet = NULL;
        const char *text = action->text;

        if (action->type == ACTION_SEND && action->frame.type == FRAME_FAULT &&
            action->frame.tag == 1 && action->frame.count == rank) {
            CHECK_OK(packet_open(&packet, action->frame.payload));
            CHECK_OK(cop_packet_unpack(packet, "%s", &text));
        } else if (action->type != ACTION_TELL ||
                   action->tell != TELL_NODE_REFUSED || action->rank != rank) {
            continue;
        }
        snprintf(out, 1024, "%s", text);
        cop_packet_free(packet);
    }
}

/* Check that the last step closed the link, for that reason, without harm. */
static void check_refused(const struct alone *victim,
                          uint32_t link,
                          uint32_t rank,
                          const char *why)
{
    char text[1024];

    reason(victim, rank, text);
    if (!alone_refused(victim, link) || !strstr(text, why))
        printf("\n%s: \"%s\"\n", why, text);
    CU_ASSERT(alone_refused(victim, link));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, why));
    CU_ASSERT_EQUAL(alone_count(victim, ACTION_CLOSE, 0), 1);
    CU_ASSERT_EQUAL(alone_count(victim, ACTION_TELL, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(alone_count(victim, ACTION_TELL, TELL_NODE_ADOPTED), 0);
    CU_ASSERT_EQUAL(alone_count(victim, ACTION_TELL, TELL_FILTER_ERROR), 0);
    CU_ASSERT_EQUAL(alone_count(victim, ACTION_SEND, FRAME_CONTROL), 0);
    CU_ASSERT_EQUAL(alone_count(victim, ACTION_EXIT, 0), 0);
    if (victim->node->role == NODE_FRONTEND)
        CU_ASSERT_EQUAL_FATAL(ranks_size(node_backends(victim->node)), 4);
}

/* ---- frames ---- */

struct said {
    uint32_t rank;
    uint32_t incarnation;
    uint32_t parent; /* or FAILED, or GONE */
};

static struct frame record(uint32_t origin, const struct said *said, int count)
{
    struct frame frame = {.type = FRAME_RECORD, .origin = origin};
    uint32_t columns[3][32];

    for (int i = 0; i < count; i++) {
        columns[0][i] = said[i].rank;
        columns[1][i] = said[i].incarnation;
        columns[2][i] = said[i].parent;
    }
    CHECK_OK(packet_pack(&frame.payload, "%aud %aud %aud %s", columns[0],
                         (uint32_t)count, columns[1], (uint32_t)count,
                         columns[2], (uint32_t)count, "so I say"));
    return frame;
}

static struct frame make_fault(uint32_t origin, int tag, uint32_t count)
{
    struct frame frame = {
        .type = FRAME_FAULT, .origin = origin, .tag = tag, .count = count};

    CHECK_OK(packet_pack(&frame.payload, "%s", "it failed"));
    return frame;
}

static struct frame recovered(uint32_t origin,
                              uint32_t incarnation,
                              uint32_t parent)
{
    struct frame frame = {
        .type = FRAME_RECOVERED, .origin = origin, .count = incarnation};

    CHECK_OK(packet_pack(&frame.payload, "%ud %ud %ud %uld %uld %uld %uld %uld",
                         parent, INNER, 1u, UINT64_C(1), UINT64_C(1),
                         UINT64_C(1), UINT64_C(1), UINT64_C(5)));
    return frame;
}

static struct frame fan_out(uint32_t rank, uint32_t version, uint32_t count)
{
    struct frame frame = {.type = FRAME_FAN_OUT, .origin = LEAF};

    CHECK_OK(packet_pack(&frame.payload, "%aud %aud %aud", &rank, 1u, &version,
                         1u, &count, 1u));
    return frame;
}

static struct frame make_rows(uint32_t origin, uint32_t first, uint32_t last)
{
    struct rows list = {0};
    struct frame frame;

    for (uint32_t rank = first; rank <= last; rank++)
        CHECK_OK(
            rows_add(&list, &(struct row){.rank = rank, .host = (char[]){""}}));
    CHECK_OK(rows_encode(&list, 0, NULL, &frame));
    frame.origin = origin;
    frame.sequence = 1;
    rows_fini(&list);
    return frame;
}

/* ---- tests ---- */

/* Check that a parent of that role refuses `frame` (taken) from a child. */
static void check_child(enum node_role parent,
                        uint32_t link,
                        struct frame frame,
                        const char *why)
{
    struct alone victim;

    victim_init(&victim, parent);
    alone_take(&victim, link, frame);
    check_refused(&victim, link, link == LEAF_LINK ? LEAF : INNER, why);
    alone_fini(&victim);
}

/* Check that either kind of parent refuses `frame` from a back-end. */
static void check_leaf(struct frame frame, const char *why)
{
    check_child(NODE_FRONTEND, LEAF_LINK, frame_ref(&frame), why);
    check_child(NODE_COMMNODE, LEAF_LINK, frame, why);
}

TEST(a_back_end_speaks_of_itself_only)
{
    const struct said gone[] = {{5, 0, GONE}, {6, 0, GONE}, {8, 0, GONE}};
    const struct said own_end = {LEAF, 0, GONE};
    const struct said moved = {INNER, 7, 0};

    check_leaf(record(LEAF, gone, 3), "cannot know of the end of others");
    check_leaf(record(LEAF, &own_end, 1), "cannot know of the end of others");
    check_leaf(record(LEAF, &moved, 1), "cannot know of adoptions");
    check_leaf(record(INNER, &moved, 1), "of itself only");
    check_leaf(make_fault(5, 0, 0), "of itself only");
    check_leaf(make_fault(LEAF, 1, 5), "what its sender cannot know");
    check_leaf(recovered(5, 0, 0), "of itself only");
    check_leaf(recovered(LEAF, 9, 0), "has not asked for a parent so often");
    check_leaf(fan_out(INNER, 5, 0), "a back-end may not send it");
    check_leaf((struct frame){.type = FRAME_DATA, .origin = 5},
               "of itself only");
    check_leaf((struct frame){.type = FRAME_PROBE, .origin = 5, .sequence = 1},
               "of itself only");
    check_leaf(
        (struct frame){.type = FRAME_PROBE, .origin = LEAF, .sequence = 1},
        "nobody asks it for a parent");
    check_leaf((struct frame){.type = FRAME_MOVED, .origin = 5},
               "of itself only");
    check_leaf((struct frame){.type = FRAME_RETIRE, .origin = 5, .count = LEAF},
               "a back-end may not send it");
    check_leaf((struct frame){.type = FRAME_HEARD},
               "a back-end may not send it");
}

/* The front-end may have launched before the table has reached this node. So
 * from READY on this node sends a FAULT. Before, READY itself carries the
 * reason, and the parent would refuse a FAULT (PROTOCOL 12.2). */
TEST(a_refusal_during_the_launch_is_told)
{
    struct frame lie = make_fault(5, 0, 0), said = make_fault(INNER, 1, 5);
    struct alone victim;

    victim_link(&victim, NODE_COMMNODE);
    take_ready(&victim, INNER_LINK, INNER, 5, 6);
    take_ready(&victim, LEAF_LINK, RANK_NONE, LEAF, LEAF);
    alone_take(&victim, INNER_LINK, frame_ref(&said));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_SEND, FRAME_FAULT), 0);
    take_ready(&victim, SIBLING_LINK, RANK_NONE, LEAF + 1, LEAF + 1);
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_SEND, FRAME_READY), 1);
    alone_take(&victim, INNER_LINK, frame_ref(&said));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_SEND, FRAME_FAULT), 1);
    alone_take(&victim, LEAF_LINK, frame_ref(&lie));
    check_refused(&victim, LEAF_LINK, LEAF, "of itself only");
    alone_fini(&victim);

    victim_link(&victim, NODE_COMMNODE);
    take_ready(&victim, LEAF_LINK, RANK_NONE, LEAF, LEAF);
    alone_take(&victim, LEAF_LINK, frame_ref(&lie));
    CU_ASSERT(alone_refused(&victim, LEAF_LINK));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_SEND, FRAME_FAULT), 0);
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_SEND, FRAME_READY), 1);
    alone_fini(&victim);
    frame_fini(&lie);
    frame_fini(&said);
}

/* Records must be of existing commnodes; a back-end may accuse a few lost
 * parents, once per link (PROTOCOL 6.1d). */
TEST(accusations_are_few)
{
    const struct said stranger = {300, 0, FAILED}, leaf = {8, 0, FAILED};
    const struct said root = {0, 0, FAILED}, none = {LIMIT_NODES, 0, FAILED};
    const struct said lost = {INNER, 0, FAILED};
    struct said many[LIMIT_ACCUSATIONS + 1];
    struct alone victim;

    for (size_t i = 0; i <= LIMIT_ACCUSATIONS; i++)
        many[i] = lost;
    check_leaf(record(LEAF, &stranger, 1), "only commnodes have records");
    check_leaf(record(LEAF, &leaf, 1), "only commnodes have records");
    check_leaf(record(LEAF, &root, 1), "only commnodes have records");
    check_leaf(record(LEAF, &none, 1), "no node has that rank");
    check_leaf(record(LEAF, many, LIMIT_ACCUSATIONS + 1),
               "too many lost parents");
    victim_init(&victim, NODE_COMMNODE);
    alone_take(&victim, LEAF_LINK, record(LEAF, many, LIMIT_ACCUSATIONS));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    CU_ASSERT(alone_count(&victim, ACTION_SEND, FRAME_RECORD) > 0);
    alone_take(&victim, LEAF_LINK, record(LEAF, &lost, 1));
    check_refused(&victim, LEAF_LINK, LEAF, "too many lost parents");
    alone_fini(&victim);
}

/* A number too far ahead is refused, also from a commnode, so that every node
 * has a higher incarnation left for its refutation (PROTOCOL 2.6). */
TEST(numbers_do_not_wrap)
{
    static const uint32_t far[] = {UINT32_MAX, UINT32_MAX - 1, LIMIT_AHEAD + 1};

    for (size_t i = 0; i < 3; i++) {
        const struct said said[] = {
            {OTHER, far[i], FAILED}, {OTHER, far[i], 0}, {OWN, far[i], FAILED}};

        for (size_t k = 0; k < 3; k++)
            check_child(NODE_COMMNODE, INNER_LINK, record(INNER, &said[k], 1),
                        "so often");
        check_child(NODE_COMMNODE, INNER_LINK, recovered(OTHER, far[i], 0),
                    "so often");
        check_child(NODE_COMMNODE, INNER_LINK, fan_out(OTHER, far[i], 1),
                    "too far ahead");
    }
}

/* The highest accepted incarnation is refuted by a higher one. */
TEST(an_accusation_far_ahead_is_refuted)
{
    const struct said said[] = {{OWN, LIMIT_AHEAD, FAILED}, {OWN, 3, FAILED}};
    const struct said half = {OTHER, LIMIT_AHEAD / 2, FAILED};
    const struct said more = {OTHER, LIMIT_AHEAD / 2 + 1, FAILED};
    struct alone victim;

    victim_init(&victim, NODE_COMMNODE);
    alone_take(&victim, INNER_LINK, record(INNER, said, 2));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    CU_ASSERT_EQUAL(victim.node->incarnation, LIMIT_AHEAD + 1);
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_SEND, FRAME_RECOVERED), 1);
    /* a back-end's records are passed on to nodes that lack them */
    alone_take(&victim, SIBLING_LINK, record(LEAF + 1, &more, 1));
    check_refused(&victim, SIBLING_LINK, LEAF + 1, "so often");
    alone_take(&victim, LEAF_LINK, record(LEAF, &half, 1));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    alone_fini(&victim);
}

/* The incarnation of an orphan's attempt must be near the known one. */
TEST(attempts_are_near)
{
    struct frame adopt = {.type = FRAME_ADOPT,
                          .origin = OTHER,
                          .count = LIMIT_AHEAD + 1,
                          .sequence = 1};
    uint32_t none = 0;
    struct alone victim;

    victim_init(&victim, NODE_COMMNODE);
    alone_link_up(&victim, 4, OTHER, NODE_COMMNODE, 0);
    CHECK_OK(packet_pack(&adopt.payload, "%aud", &none, 0u));
    alone_take(&victim, 4, adopt);
    check_refused(&victim, 4, OTHER, "so often");
    alone_fini(&victim);
}

/* A node that connects must have the role of its rank. */
TEST(no_rank_changes_its_role)
{
    const struct {
        uint32_t rank;
        enum node_role role;
        bool fits;
    } callers[] = {
        {OTHER, NODE_COMMNODE, true},     {20, NODE_BACKEND, true},
        {RANK_NONE, NODE_BACKEND, true},  {OTHER, NODE_BACKEND, false},
        {20, NODE_COMMNODE, false},       {LIMIT_NODES, NODE_BACKEND, false},
        {RANK_NONE, NODE_COMMNODE, true}, {1000, NODE_COMMNODE, true}};

    for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
        struct alone victim;

        victim_init(&victim, NODE_COMMNODE);
        alone_step(&victim, (struct event){.type = EVENT_LINK_UP,
                                           .link = 4,
                                           .rank = callers[i].rank,
                                           .role = callers[i].role});
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0) == 0,
                        callers[i].fits);
        alone_fini(&victim);
    }
}

/* A back-end may send only its own row, and only one. */
TEST(a_back_end_has_one_row)
{
    const struct {
        uint32_t first;
        uint32_t last;
        bool fits;
    } cases[] = {{LEAF, LEAF, true}, {5, 5, false}, {LEAF, 8, false}};

    for (size_t i = 0; i < 3; i++) {
        struct alone victim;

        victim_init(&victim, NODE_COMMNODE);
        alone_take(
            &victim, PARENT_LINK,
            (struct frame){.type = FRAME_STATUS, .sequence = 1, .count = 1000});
        alone_take(&victim, LEAF_LINK,
                   make_rows(LEAF, cases[i].first, cases[i].last));
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), !cases[i].fits);
        if (!cases[i].fits)
            check_refused(&victim, LEAF_LINK, LEAF, "only its own row");
        alone_fini(&victim);
    }
}

/* The parent opens stream 1 to ranks 5 to 8. */
static void take_open(struct alone *victim, enum stream_guarantee kind)
{
    struct stream_filters filters = {.recoverable = true};
    struct control open = {.type = CONTROL_OPEN};
    struct frame control;

    open.definition = (struct stream_definition){
        .id = 1,
        .kind = kind,
        .keep = 1000,
        .up_filter = (char[]){""},
        .up_filter_frontend = (char[]){""},
        .up_filter_backend = (char[]){""},
        .down_filter = (char[]){""},
    };
    CHECK_OK(ranks_add(&open.definition.members, 5, 8));
    CHECK_OK(control_encode(&open, &control));
    ranks_fini(&open.definition.members);
    control.sequence = 1;
    alone_take(victim, PARENT_LINK, control);
    alone_step(
        victim,
        (struct event){.type = EVENT_LOADED, .stream = 1, .filters = &filters});
}

/* Give a commnode stream 1, to all back-ends below it. */
static void open_stream(struct alone *victim, enum stream_guarantee kind)
{
    victim_init(victim, NODE_COMMNODE);
    take_open(victim, kind);
}

static struct payload *zeroes(size_t len)
{
    struct payload *payload;

    CHECK_OK(payload_new(&payload, len));
    memset(payload->bytes, 0, len);
    return payload;
}

/* Frames without credit are bounded: one state per link and stream, and empty
 * answers have no payload (PROTOCOL 9.1, 3.4). */
TEST(what_has_no_credit_is_bounded)
{
    struct frame state = {
        .type = FRAME_COMPENSATION, .stream = 1, .origin = LEAF};
    struct frame empty = {.type = FRAME_DATA,
                          .flags = FRAME_EMPTY | FRAME_LAST,
                          .stream = 1,
                          .origin = LEAF + 1,
                          .sequence = 1};
    struct alone victim;

    open_stream(&victim, STREAM_PLAIN);
    state.payload = zeroes(1 << 20);
    empty.payload = payload_ref(state.payload);
    alone_take(&victim, LEAF_LINK, frame_ref(&state));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    alone_take(&victim, LEAF_LINK, state);
    check_refused(&victim, LEAF_LINK, LEAF, "has had one on this link");
    alone_take(&victim, SIBLING_LINK, empty);
    check_refused(&victim, SIBLING_LINK, LEAF + 1, "has a payload");
    alone_fini(&victim);
    check_leaf((struct frame){.type = FRAME_DATA,
                              .flags = FRAME_COMPENSATING,
                              .origin = LEAF},
               "no children's states");
    check_leaf((struct frame){.type = FRAME_DATA, .origin = LEAF, .count = 2},
               "more back-ends than it is of");
}

/* PROTOCOL 16.2, 16.3, 16.10, 17.4: packets that do not fit the kind of their
 * stream are refused. */
TEST(each_kind_of_stream_has_its_packets)
{
    enum {
        WHOLE = FRAME_WAVES | FRAME_LAST,
        STATE = FRAME_LAST | FRAME_COMPENSATING
    };
    static const struct {
        enum stream_guarantee kind;
        uint8_t type;
        uint8_t flags;
        uint64_t wave;
        uint32_t hash_of;
        const char *why;
    } cases[] = {
        {STREAM_WAVES, FRAME_DATA, FRAME_LAST, 1, LEAF, "no packet of a stre"},
        {STREAM_WAVES, FRAME_DATA, WHOLE, 0, LEAF, "no packet of a stream"},
        {STREAM_WAVES, FRAME_DATA, WHOLE, UINT64_C(5) << PACKET_WAVE_BITS, LEAF,
         "no packet of a stream of whole waves"},
        {STREAM_WAVES, FRAME_DATA, WHOLE | FRAME_LATE, 1, LEAF,
         "no packet of a stream of whole waves"},
        {STREAM_WAVES, FRAME_DATA, WHOLE | FRAME_OVER, 1, LEAF,
         "the end of an epoch has no packet"},
        {STREAM_WAVES, FRAME_DATA, FRAME_WAVES | FRAME_EMPTY | FRAME_OVER, 1,
         LEAF, "the end of an epoch has no packet"},
        {STREAM_WAVES, FRAME_DATA, WHOLE, 1, LEAF + 1, "for others than itse"},
        {STREAM_WAVES, FRAME_TOTAL, 0, 0, LEAF, "the stream has no totals"},
        {STREAM_PLAIN, FRAME_TOTAL, 0, 0, LEAF, "the stream has no totals"},
        {STREAM_PLAIN, FRAME_DATA, WHOLE, 1, LEAF,
         "its stream has no whole waves"},
        {STREAM_TOTAL, FRAME_DATA, WHOLE, 1, LEAF, "has no whole waves"},
        {STREAM_TOTAL, FRAME_DATA, STATE, 1, INNER, "no compensations"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct frame frame = {
            .type = cases[i].type,
            .flags = cases[i].flags,
            .stream = 1,
            .origin = cases[i].hash_of == INNER ? INNER : LEAF,
            .wave = cases[i].wave,
            .check = waves_hash(cases[i].hash_of),
        };
        struct alone victim;

        open_stream(&victim, cases[i].kind);
        alone_take(&victim, frame.origin == INNER ? INNER_LINK : LEAF_LINK,
                   frame);
        check_refused(&victim, frame.origin == INNER ? INNER_LINK : LEAF_LINK,
                      frame.origin, cases[i].why);
        alone_fini(&victim);
    }
}

/* PROTOCOL 16.5: a back-end keeps no packet whose wave is already final. */
TEST(what_is_final_is_not_kept)
{
    struct frame final = msg_final_encode(
        &(struct msg_final){.stream = 1, .sender = 0, .level = 2});
    struct event event = {.type = EVENT_SEND, .stream = 1};
    char text[NODE_CHECK_TEXT];
    uint64_t packets, bytes;
    struct alone victim;

    alone_begin(&victim, .role = NODE_BACKEND, .rank = LEAF);
    alone_link_up(&victim, PARENT_LINK, 0, NODE_FRONTEND, 0);
    take_open(&victim, STREAM_WAVES);
    alone_take(&victim, PARENT_LINK, final);
    for (uint64_t i = 1; i <= 3; i++) {
        event.frame.payload = zeroes(1);
        alone_step(&victim, event);
        CU_ASSERT_PTR_NOT_NULL(alone_sent(&victim, PARENT_LINK, FRAME_DATA));
        CHECK_OK(node_unfinal(victim.node, 1, &packets, &bytes));
        CU_ASSERT_EQUAL(packets, i > 2);
        CU_ASSERT(node_check(victim.node, text));
    }
    alone_fini(&victim);
}

/* A commnode has no application: a request to send a packet is refused. */
TEST(a_commnode_sends_no_packet)
{
    struct event event = {.type = EVENT_SEND, .stream = 1};
    struct alone victim;

    open_stream(&victim, STREAM_WAVES);
    event.frame.payload = zeroes(1);
    event.now_ms = victim.now_ms;
    CHECK_IS(node_step(victim.node, &event, &victim.actions), -EPERM);
    alone_fini(&victim);
}

/* Parts of a wave that never ends: their credit is returned (PROTOCOL 3.4). All
 * parts share their bytes here. */
TEST(a_wave_has_an_end)
{
    struct frame part = {.type = FRAME_DATA,
                         .stream = 1,
                         .origin = LEAF,
                         .count = 1,
                         .sequence = 1,
                         .payload = zeroes(64 << 20)};
    struct alone victim;
    int taken = 0;

    open_stream(&victim, STREAM_PLAIN);
    alone_take(&victim, LEAF_LINK, frame_ref(&part));
    while (taken < 100 && alone_count(&victim, ACTION_CLOSE, 0) == 0) {
        alone_take(&victim, LEAF_LINK, frame_ref(&part));
        taken++;
    }
    CU_ASSERT_EQUAL(taken, LIMIT_FRAME / (64 << 20));
    check_refused(&victim, LEAF_LINK, LEAF, "larger than any packet may be");
    frame_fini(&part);
    alone_fini(&victim);
}

/* Each FEED on stream 0 is answered by the state of all streams, without
 * credit. */
TEST(no_back_end_begins_often)
{
    struct frame feed = {.type = FRAME_FEED};
    struct alone victim;

    victim_init(&victim, NODE_COMMNODE);
    alone_take(&victim, LEAF_LINK, feed);
    alone_take(&victim, LEAF_LINK, feed);
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    alone_take(&victim, LEAF_LINK, feed);
    check_refused(&victim, LEAF_LINK, LEAF, "not so many beginnings");
    for (int i = 0; i < 10; i++)
        alone_take(&victim, INNER_LINK, feed);
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    alone_fini(&victim);
}

/* The error in a claim, which may fail an opening, must name its sender. */
TEST(an_error_is_its_own)
{
    const struct {
        uint32_t rank;
        bool fits;
    } cases[] = {{LEAF, true}, {5, false}, {LIMIT_NODES, false}};

    for (size_t i = 0; i < 3; i++) {
        struct claim claim = {.error = (char[]){"no such filter"},
                              .error_rank = cases[i].rank};
        struct alone victim;
        struct frame frame;

        open_stream(&victim, STREAM_PLAIN);
        CHECK_OK(claim_encode(&claim, 1, &frame));
        alone_take(&victim, LEAF_LINK, frame);
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), !cases[i].fits);
        if (!cases[i].fits)
            check_refused(&victim, LEAF_LINK, LEAF, "not from a node below it");
        alone_fini(&victim);
    }
}

/* So must the losers, which an event names. */
TEST(a_loss_is_its_own)
{
    const struct {
        uint32_t first, last;
        bool fits;
    } cases[] = {{LEAF, LEAF, true}, {5, 5, false}, {LEAF, LEAF + 1, false}};

    for (size_t i = 0; i < 3; i++) {
        struct claim claim = {.loss.lossy = 1};
        struct alone victim;
        struct frame frame;

        open_stream(&victim, STREAM_PLAIN);
        CHECK_OK(ranks_add(&claim.loss.losers, cases[i].first, cases[i].last));
        CHECK_OK(claim_encode(&claim, 1, &frame));
        claim_fini(&claim);
        alone_take(&victim, LEAF_LINK, frame);
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), !cases[i].fits);
        if (!cases[i].fits)
            check_refused(&victim, LEAF_LINK, LEAF, "not of a node below it");
        alone_fini(&victim);
    }
}

/* The FAULT of a commnode is passed on to the application. */
TEST(a_report_goes_up)
{
    struct alone victim;

    victim_init(&victim, NODE_FRONTEND);
    alone_take(&victim, INNER_LINK, make_fault(INNER, 1, 5));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_TELL, TELL_NODE_REFUSED), 1);
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    for (int tag = FAULT_HUNG; tag <= FAULT_TOTAL; tag++) {
        alone_take(&victim, INNER_LINK, make_fault(INNER, tag, 5));
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_TELL, TELL_FILTER_ERROR),
                        1);
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    }
    alone_take(&victim, INNER_LINK, make_fault(INNER, FAULT_TOTAL + 1, 5));
    check_refused(&victim, INNER_LINK, INNER, "what its sender cannot know");
    alone_fini(&victim);
}

/* A back-end may not end a stream by FAULT: its filters kill no commnode. */
TEST(a_back_end_reports_no_crash)
{
    for (int tag = FAULT_BREACH; tag <= FAULT_TOTAL; tag++)
        check_child(NODE_FRONTEND, LEAF_LINK, make_fault(LEAF, tag, 5),
                    "what its sender cannot know");
}
