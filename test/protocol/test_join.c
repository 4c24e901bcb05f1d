/* test_join.c - joins and NODE that are refused (PROTOCOL 19.4). One node
 * alone. */
#include "protocol/state.h"
#include "test/protocol/alone.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* The first rank for joiners. */
#define FIRST 1000

/* Links of the node, and the ranks behind them. */
enum {
    PARENT_LINK,
    INNER_LINK,
    LEAF_LINK,
    JOINER_LINK,
    OWN = 1,
    INNER,
    LEAF
};

/* Make a launched node with a commnode and a back-end as children. */
static void host_init(struct alone *host, enum node_role role)
{
    struct node_child children[] = {
        {INNER, "h", NODE_COMMNODE, 0},
        {LEAF, "h", NODE_BACKEND, 0},
    };
    struct roster inner = {0}, leaf = {0}, table = {0};

    alone_begin(host, .role = role, .rank = role == NODE_FRONTEND ? 0 : OWN,
                .children = children, .child_count = 2, .next_rank = FIRST);
    if (role != NODE_FRONTEND)
        alone_link_up(host, PARENT_LINK, 0, NODE_FRONTEND, 0);
    alone_link_up(host, INNER_LINK, INNER, NODE_COMMNODE, 0);
    alone_link_up(host, LEAF_LINK, LEAF, NODE_BACKEND, 0);
    CHECK_OK(roster_add_internal(&inner, INNER, RANK_NONE, 1, "a"));
    CHECK_OK(ranks_add(&inner.backends, LEAF + 1, LEAF + 1));
    alone_take_roster(host, INNER_LINK, &inner, FRAME_READY);
    CHECK_OK(ranks_add(&leaf.backends, LEAF, LEAF));
    alone_take_roster(host, LEAF_LINK, &leaf, FRAME_READY);
    if (role == NODE_FRONTEND)
        return;
    for (uint32_t rank = 0; rank <= INNER; rank++)
        CHECK_OK(roster_add_internal(&table, rank, rank ? rank - 1 : RANK_NONE,
                                     2, "a"));
    alone_take_roster(host, PARENT_LINK, &table, FRAME_TABLE);
}

/* A JOIN of a node with this role and these addresses. */
static struct frame join_as(uint32_t role, const char *address)
{
    struct msg_join join = {.asker = RANK_NONE, .role = role};

    CHECK_OK(
        packet_pack(&join.payload, "%s %s %s %ud", "host", "", address, 0));
    return msg_join_encode(&join);
}

/* NODE with one node. */
static struct frame node_at(uint32_t rank, const char *address)
{
    struct frame frame = {.type = FRAME_NODE, .origin = INNER};

    CHECK_OK(packet_pack(&frame.payload, "%aud %as", &rank, 1u, &address, 1u));
    return frame;
}

/* A commnode asks `host` for a rank. */
static void take_joiner(struct alone *host)
{
    alone_link_up(host, JOINER_LINK, RANK_NONE, NODE_COMMNODE, 0);
    alone_take(host, JOINER_LINK, join_as(NODE_COMMNODE, "b 1"));
}

/* A commnode gets a rank for one JOIN with its role and its addresses; its
 * neighbours learn of it before they learn where it is. */
TEST(a_commnode_gets_a_rank)
{
    struct alone host;
    struct row row;

    host_init(&host, NODE_FRONTEND);
    take_joiner(&host);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&host, JOINER_LINK, FRAME_JOINED));
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&host, JOINER_LINK, FRAME_NODE));
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&host, INNER_LINK, FRAME_NODE));
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&host, LEAF_LINK, FRAME_NODE));
    CU_ASSERT(alone_sent(&host, INNER_LINK, FRAME_NODE) <
              alone_sent(&host, INNER_LINK, FRAME_RECORD));
    CU_ASSERT_EQUAL(alone_count(&host, ACTION_TELL, TELL_NODE_JOINED), 1);
    CU_ASSERT(node_row(host.node, FIRST, &row));
    CU_ASSERT_STRING_EQUAL(row.host, "host");
    CU_ASSERT_EQUAL(row.role, NODE_COMMNODE);
    CU_ASSERT_EQUAL(row.parent, 0);
    alone_fini(&host);
}

/* A rank that was given and is never used hides none that follow. */
TEST(a_rank_is_never_used)
{
    struct frame moved = join_as(NODE_COMMNODE, "c 1");
    struct alone host;
    struct row row;

    host_init(&host, NODE_FRONTEND);
    moved.origin = INNER;
    alone_take(&host, INNER_LINK, moved);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&host, INNER_LINK, FRAME_JOINED));
    CU_ASSERT_EQUAL(alone_count(&host, ACTION_TELL, TELL_NODE_JOINED), 0);
    take_joiner(&host);
    CU_ASSERT(node_row(host.node, FIRST, &row));
    CU_ASSERT(node_row(host.node, FIRST + 1, &row));
    CU_ASSERT_EQUAL(row.state, ROW_UP);
    CU_ASSERT_FALSE(node_row(host.node, FIRST + 2, &row));
    alone_fini(&host);
}

/* One that asks again before it has its rank is refused. */
TEST(a_commnode_asks_once)
{
    struct alone host;

    host_init(&host, NODE_COMMNODE);
    take_joiner(&host);
    CU_ASSERT_PTR_NOT_NULL(alone_sent(&host, PARENT_LINK, FRAME_JOIN));
    alone_take(&host, JOINER_LINK, join_as(NODE_COMMNODE, "b 1"));
    CU_ASSERT(alone_refused(&host, JOINER_LINK));
    CU_ASSERT_EQUAL(host.node->joins.count, 0);
    alone_fini(&host);
}

/* A JOIN whose role is another one, or that has no addresses, or a back-end's
 * that has some, is refused. */
TEST(a_joiner_has_one_role)
{
    static const struct {
        enum node_role role;
        uint32_t said;
        const char *address;
    } cases[] = {
        {NODE_COMMNODE, NODE_BACKEND, ""},  {NODE_COMMNODE, NODE_COMMNODE, ""},
        {NODE_BACKEND, NODE_COMMNODE, "a"}, {NODE_BACKEND, NODE_BACKEND, "a"},
        {NODE_COMMNODE, NODE_FRONTEND, ""}, {NODE_COMMNODE, 77, "a"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int role = NODE_FRONTEND; role <= NODE_COMMNODE; role++) {
            struct alone host;

            host_init(&host, (enum node_role)role);
            alone_link_up(&host, JOINER_LINK, RANK_NONE, cases[i].role, 0);
            alone_take(&host, JOINER_LINK,
                       join_as(cases[i].said, cases[i].address));
            CU_ASSERT(alone_refused(&host, JOINER_LINK));
            CU_ASSERT_EQUAL(host.node->next_rank, FIRST);
            CU_ASSERT_EQUAL(host.node->joins.count, 0);
            alone_fini(&host);
        }
}

/* Addresses that could not be in a session file give no rank. */
TEST(addresses_are_one_line)
{
    struct alone host;

    host_init(&host, NODE_FRONTEND);
    alone_link_up(&host, JOINER_LINK, RANK_NONE, NODE_COMMNODE, 0);
    alone_take(&host, JOINER_LINK, join_as(NODE_COMMNODE, "b 1\nfilters /"));
    CU_ASSERT_PTR_NULL(alone_sent(&host, JOINER_LINK, FRAME_JOINED));
    CU_ASSERT(alone_closed(&host, JOINER_LINK));
    CU_ASSERT_PTR_NULL(alone_sent(&host, INNER_LINK, FRAME_NODE));
    alone_fini(&host);
}

/* NODE from a back-end, for a launched rank, for a rank that no commnode was
 * given, or with another address than before. */
TEST(impossible_nodes_are_refused)
{
    static const struct {
        uint32_t link;
        uint32_t rank;
        const char *address;
        bool by_frontend; /* only the front-end can know */
    } cases[] = {
        {LEAF_LINK, FIRST, "b 1", false},
        {INNER_LINK, INNER, "a", false},
        {INNER_LINK, 0, "a", false},
        {INNER_LINK, LEAF, "a", false},
        {INNER_LINK, FIRST, "b 2", false},
        {INNER_LINK, FIRST - 1, "a", false},
        {INNER_LINK, LIMIT_NODES, "a", false},
        {INNER_LINK, FIRST + 1, "", false},
        {INNER_LINK, FIRST + 1, "a\nb", false},
        {INNER_LINK, FIRST + 1, "a", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int role = NODE_FRONTEND; role <= NODE_COMMNODE; role++) {
            bool refused = !cases[i].by_frontend || role == NODE_FRONTEND;
            struct alone host;

            host_init(&host, (enum node_role)role);
            if (role == NODE_FRONTEND)
                take_joiner(&host);
            else
                alone_take(&host, PARENT_LINK, node_at(FIRST, "b 1"));
            alone_take(&host, INNER_LINK, node_at(FIRST, "b 1"));
            CU_ASSERT_EQUAL(alone_count(&host, ACTION_SEND, FRAME_NODE), 0);
            CU_ASSERT_EQUAL(alone_count(&host, ACTION_CLOSE, 0), 0);
            alone_take(&host, cases[i].link,
                       node_at(cases[i].rank, cases[i].address));
            CU_ASSERT_EQUAL(alone_refused(&host, cases[i].link), refused);
            CU_ASSERT_EQUAL(alone_count(&host, ACTION_SEND, FRAME_NODE) == 0,
                            refused);
            alone_fini(&host);
        }
}

/* In the life of a network LIMIT_JOINED commnodes join. */
TEST(only_so_many_join)
{
    static uint32_t ranks[LIMIT_JOINED + 1];
    static const char *addresses[LIMIT_JOINED + 1];

    for (uint32_t more = 0; more < 2; more++) {
        struct frame frame = {.type = FRAME_NODE, .origin = INNER};
        struct alone host;

        for (uint32_t i = 0; i < LIMIT_JOINED + more; i++) {
            ranks[i] = FIRST + i * 7919 % (LIMIT_JOINED + 1);
            addresses[i] = "b 1";
        }
        host_init(&host, NODE_COMMNODE);
        CHECK_OK(packet_pack(&frame.payload, "%aud %as", ranks,
                             LIMIT_JOINED + more, addresses,
                             LIMIT_JOINED + more));
        alone_take(&host, INNER_LINK, frame);
        CU_ASSERT_EQUAL(alone_refused(&host, INNER_LINK), more);
        CU_ASSERT_EQUAL(table_count(host.node->heal.table), LIMIT_JOINED + 3);
        alone_link_up(&host, JOINER_LINK, RANK_NONE, NODE_COMMNODE, 0);
        alone_take(&host, JOINER_LINK, join_as(NODE_COMMNODE, "b 1"));
        CU_ASSERT(alone_closed(&host, JOINER_LINK));
        CU_ASSERT_PTR_NULL(alone_sent(&host, PARENT_LINK, FRAME_JOIN));
        alone_fini(&host);
    }
}

/* An orphan that has joined introduces itself, and nobody else; without that it
 * is not adopted (19.2). */
TEST(an_orphan_introduces_itself)
{
    for (int how = 0; how < 3; how++) {
        struct alone host;

        host_init(&host, NODE_COMMNODE);
        alone_link_up(&host, JOINER_LINK, FIRST, NODE_COMMNODE, 2);
        if (how > 0)
            alone_take(&host, JOINER_LINK, node_at(FIRST + (how == 1), "b 1"));
        if (how != 1)
            alone_take_adopt(&host, JOINER_LINK,
                             (struct frame){.origin = FIRST, .count = 2}, 50,
                             51);
        CU_ASSERT_EQUAL(alone_refused(&host, JOINER_LINK), how < 2);
        CU_ASSERT_EQUAL(alone_sent(&host, PARENT_LINK, FRAME_PROBE) != NULL,
                        how == 2);
        alone_fini(&host);
    }
}

/* A joiner asks only a node that has a rank: it would not know its parent's. */
TEST(a_joiner_asks_a_node_with_a_rank)
{
    for (uint32_t parent = 0; parent < 2; parent++) {
        struct alone joiner;

        alone_begin(&joiner, .role = NODE_COMMNODE, .rank = RANK_NONE);
        alone_step(&joiner, (struct event){
                                .type = EVENT_LINK_UP,
                                .link = PARENT_LINK,
                                .rank = parent == 0 ? 0 : RANK_NONE,
                                .role = NODE_COMMNODE,
                                .is_parent = true,
                            });
        CU_ASSERT_EQUAL(alone_closed(&joiner, PARENT_LINK), parent == 1);
        CU_ASSERT_EQUAL(alone_sent(&joiner, PARENT_LINK, FRAME_JOIN) != NULL,
                        parent == 0);
        alone_fini(&joiner);
    }
}

/* The answer for a joiner that has ended does not reach another one that came on
 * the same link. */
TEST(an_answer_is_for_one_joiner)
{
    struct alone host;
    int32_t numbers[2];

    host_init(&host, NODE_COMMNODE);
    for (int i = 0; i < 2; i++) {
        alone_link_up(&host, JOINER_LINK, RANK_NONE,
                      i == 0 ? NODE_BACKEND : NODE_COMMNODE, 0);
        alone_take(&host, JOINER_LINK,
                   i == 0 ? join_as(NODE_BACKEND, "")
                          : join_as(NODE_COMMNODE, "b 1"));
        numbers[i] = alone_sent(&host, PARENT_LINK, FRAME_JOIN)->tag;
        if (i == 0)
            alone_link_down(&host, JOINER_LINK);
    }
    for (int i = 0; i < 2; i++) {
        alone_take(&host, PARENT_LINK,
                   msg_joined_encode(&(struct msg_joined){
                       .asker = OWN,
                       .number = numbers[i],
                       .rank = FIRST + (uint32_t)i,
                   }));
        CU_ASSERT_EQUAL(alone_sent(&host, JOINER_LINK, FRAME_JOINED) != NULL,
                        i == 1);
    }
    alone_fini(&host);
}
