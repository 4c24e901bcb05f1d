/* test_hostile.c - a child that holds the key sends impossible numbers, and
 * many of them. One node alone. If a cost grew with the square of the input,
 * the test would take hours. */
#include <stdlib.h>

#include "protocol/state.h"
#include "test/protocol/alone.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* Every second possible rank. */
#define SCATTERED (LIMIT_NODES / 2)

/* The number of records in one frame. */
#define RECORDS 400000

/* Make a node with a commnode, rank 2, on link 1, and its parent on link 0. */
static void victim_init(struct alone *victim, enum node_role role)
{
    struct node_child children[] = {{2, "h", NODE_COMMNODE, 0}};

    alone_begin(victim, .role = role, .rank = role == NODE_FRONTEND ? 0 : 1,
                .children = children, .child_count = 1, .next_rank = 1000);
    if (role != NODE_FRONTEND)
        alone_link_up(victim, 0, 0, NODE_FRONTEND, 0);
    alone_link_up(victim, 1, 2, NODE_COMMNODE, 0);
}

static void take_ready(struct alone *victim, struct roster *roster)
{
    alone_take_roster(victim, 1, roster, FRAME_READY);
}

/* Likewise, and the child is ready, with these back-ends below it. */
static void victim_ready(struct alone *victim,
                         enum node_role role,
                         uint32_t first,
                         uint32_t last)
{
    struct roster roster = {0};

    victim_init(victim, role);
    CHECK_OK(roster_add_internal(&roster, 2, RANK_NONE, 1, "a"));
    CHECK_OK(ranks_add(&roster.backends, first, last));
    take_ready(victim, &roster);
}

/* The number of ranks in the RECORD sent in the last step; 0 without one. */
static uint32_t record_count(const struct alone *victim)
{
    const uint32_t *columns[3];
    uint32_t counts[3] = {0};
    const char *text;

    for (size_t i = 0; i < victim->actions.count; i++) {
        const struct action *action = &victim->actions.list[i];
        struct cop_packet *packet;

        if (action->type != ACTION_SEND || action->frame.type != FRAME_RECORD)
            continue;
        CHECK_OK(packet_open(&packet, action->frame.payload));
        CHECK_OK(cop_packet_unpack(packet, "%aud %aud %aud %s", &columns[0],
                                   &counts[0], &columns[1], &counts[1],
                                   &columns[2], &counts[2], &text));
        cop_packet_free(packet);
    }
    return counts[0];
}

/* READY with a rank that the front-end has not assigned is refused. */
TEST(ranks_that_were_not_given_are_not_ready)
{
    for (uint32_t last = 999; last <= 1000; last++) {
        struct alone victim;

        victim_ready(&victim, NODE_FRONTEND, 3, last);
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), last == 1000);
        alone_fini(&victim);
    }
}

/* So is ADOPT with such ranks, or from an orphan of an impossible rank. */
TEST(ranks_that_were_not_given_are_not_adopted)
{
    for (uint32_t last = 999; last <= 1000; last++) {
        struct frame adopt = {.origin = 2, .count = 1, .sequence = 1};
        struct alone victim;

        victim_ready(&victim, NODE_FRONTEND, 3, 999);
        alone_link_down(&victim, 1);
        alone_link_up(&victim, 2, 2, NODE_COMMNODE, 0);
        alone_take_adopt(&victim, 2, adopt, 3, last);
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), last == 1000);
        alone_step(&victim, (struct event){.type = EVENT_LINK_UP,
                                           .link = 3,
                                           .rank = LIMIT_NODES,
                                           .role = NODE_COMMNODE});
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 1);
        alone_fini(&victim);
    }
}

/* A joiner's JOIN, whose payload has this format. */
static struct frame join_frame(const char *format,
                               const char *host,
                               const char *label,
                               uint32_t place)
{
    struct msg_join join = {.asker = RANK_NONE, .role = NODE_BACKEND};

    CHECK_OK(packet_pack(&join.payload, format, host, label, "", place));
    return msg_join_encode(&join);
}

/* A joiner gets a rank for one JOIN, with a host and a label that may be. With
 * any other it gets no rank, and its link is closed. */
TEST(a_joiner_describes_itself_once)
{
    char host[LIMIT_HOST_NAME + 2] = "", label[LIMIT_LABEL + 2] = "";

    memset(host, 'h', LIMIT_HOST_NAME + 1);
    memset(label, 'l', LIMIT_LABEL + 1);
    for (int how = 0; how < 8; how++) {
        bool fits = how < 2;
        struct frame frame = join_frame(
            how == 2 ? "%s %s" : "%s %s %s %ud", how == 3 ? host : host + 1,
            how == 4   ? label
            : how == 5 ? "a\nb"
                       : label + 1,
            how == 7 ? 3 : 0); /* only a commnode has a place */
        struct alone host_node;
        struct row row;

        victim_ready(&host_node, NODE_FRONTEND, 3, 999);
        alone_link_up(&host_node, 2, RANK_NONE, NODE_BACKEND, 0);
        CU_ASSERT_PTR_NULL(alone_sent(&host_node, 2, FRAME_JOINED));
        if (how == 6)
            frame_fini(&frame);
        alone_take(&host_node, 2, frame);
        CU_ASSERT_EQUAL(alone_sent(&host_node, 2, FRAME_JOINED) != NULL, fits);
        CU_ASSERT_EQUAL(alone_count(&host_node, ACTION_CLOSE, 0), !fits);
        CU_ASSERT_EQUAL(host_node.node->next_rank, fits ? 1001 : 1000);
        if (fits && node_row(host_node.node, 1000, &row)) {
            CU_ASSERT_STRING_EQUAL(row.host, host + 1);
            CU_ASSERT_STRING_EQUAL(row.label, label + 1);
            CU_ASSERT_EQUAL(row.parent, 0);
        }
        if (how == 1) {
            alone_take(&host_node, 2, join_frame("%s %s %s %ud", "h", "", 0));
            CU_ASSERT_EQUAL(alone_count(&host_node, ACTION_CLOSE, 0), 1);
            CU_ASSERT_EQUAL(host_node.node->next_rank, 1001);
        }
        alone_fini(&host_node);
    }
}

/* A commnode passes a JOIN on only if the front-end will take it. */
TEST(a_commnode_checks_who_joins)
{
    for (int fits = 0; fits < 2; fits++) {
        struct roster table = {0};
        struct alone host_node;

        victim_ready(&host_node, NODE_COMMNODE, 3, 9);
        for (uint32_t rank = 0; rank < 3; rank++)
            CHECK_OK(roster_add_internal(&table, rank,
                                         rank ? rank - 1 : RANK_NONE, 1, "a"));
        alone_take_roster(&host_node, 0, &table, FRAME_TABLE);
        alone_link_up(&host_node, 2, RANK_NONE, NODE_BACKEND, 0);
        alone_take(&host_node, 2,
                   join_frame("%s %s %s %ud", "h", fits ? "a b" : "a\tb", 0));
        CU_ASSERT_EQUAL(alone_sent(&host_node, 0, FRAME_JOIN) != NULL, fits);
        CU_ASSERT_EQUAL(alone_count(&host_node, ACTION_CLOSE, 0), !fits);
        if (fits) { /* once */
            alone_take(&host_node, 2,
                       join_frame("%s %s %s %ud", "h", "a b", 0));
            CU_ASSERT_PTR_NULL(alone_sent(&host_node, 0, FRAME_JOIN));
            CU_ASSERT_EQUAL(alone_count(&host_node, ACTION_CLOSE, 0), 1);
        }
        alone_fini(&host_node);
    }
}

/* A name of a rank that is not in the roster is refused. */
TEST(names_are_of_ranks_that_are_ready)
{
    for (uint32_t rank = 9; rank <= 10; rank++) {
        struct roster roster = {0};
        struct alone victim;

        victim_init(&victim, NODE_FRONTEND);
        CHECK_OK(roster_add_internal(&roster, 2, RANK_NONE, 1, "a"));
        CHECK_OK(ranks_add(&roster.backends, 3, 9));
        CHECK_OK(roster_add_note(&roster.names, rank, "h", "a label"));
        take_ready(&victim, &roster);
        CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), rank == 10);
        alone_fini(&victim);
    }
}

/* A commnode cannot know which ranks are below its child. It reports each of
 * them gone once. */
TEST(as_many_as_may_be_are_gone_at_once)
{
    struct roster roster = {0};
    struct alone victim;

    victim_init(&victim, NODE_COMMNODE);
    CHECK_OK(roster_add_internal(&roster, 2, RANK_NONE, 1, "a"));
    for (uint32_t rank = 3; rank < LIMIT_NODES; rank += 2)
        CHECK_OK(ranks_add(&roster.backends, rank, rank));
    take_ready(&victim, &roster);
    alone_link_down(&victim, 1);
    CU_ASSERT_EQUAL(record_count(&victim), SCATTERED);
    alone_fini(&victim);
}

/* Likewise for internal nodes, from the last to the first. */
TEST(as_many_internal_nodes_are_gone_at_once)
{
    struct roster roster = {0};
    struct alone victim;

    victim_init(&victim, NODE_COMMNODE);
    CHECK_OK(roster_add_internal(&roster, 2, RANK_NONE, 1, "a"));
    for (uint32_t rank = 2 * RECORDS; rank > 2; rank -= 2)
        CHECK_OK(roster_add_internal(&roster, rank + 1, 2, 1, "a"));
    take_ready(&victim, &roster);
    alone_link_down(&victim, 1);
    CU_ASSERT_EQUAL(record_count(&victim), RECORDS);
    alone_fini(&victim);
}

/* A RECORD of RECORDS ranks: every second one, in descending order. */
static struct frame records(uint32_t parent)
{
    struct frame frame = {.type = FRAME_RECORD};
    uint32_t *ranks = calloc(RECORDS, sizeof(*ranks));
    uint32_t *incarnations = calloc(RECORDS, sizeof(*incarnations));
    uint32_t *parents = calloc(RECORDS, sizeof(*parents));

    CU_ASSERT_FATAL(ranks && incarnations && parents);
    for (uint32_t i = 0; i < RECORDS; i++) {
        ranks[i] = LIMIT_NODES - 1 - 2 * i;
        parents[i] = parent;
    }
    CHECK_OK(packet_pack(&frame.payload, "%aud %aud %aud %s", ranks,
                         (uint32_t)RECORDS, incarnations, (uint32_t)RECORDS,
                         parents, (uint32_t)RECORDS, "gone"));
    free(ranks);
    free(incarnations);
    free(parents);
    return frame;
}

/* Many unknown ranks are reported gone, in the order that is the worst to
 * store. */
TEST(strangers_that_are_gone_are_counted_once)
{
    struct alone victim;

    victim_ready(&victim, NODE_FRONTEND, 3, 999);
    alone_take(&victim, 1, records(TABLE_FAILED - 1));
    CU_ASSERT_EQUAL(alone_count(&victim, ACTION_CLOSE, 0), 0);
    CU_ASSERT_EQUAL(ranks_size(node_backends(victim.node)), 997);
    alone_fini(&victim);
}
