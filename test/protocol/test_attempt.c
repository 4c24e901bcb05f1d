/* test_attempt.c - the candidate's side of an adoption, if one orphan has
 * several links (PROTOCOL 8.2, 8.4). The front-end alone. */
#include "protocol/state.h"
#include "test/protocol/alone.h"

/* `rank`, with one back-end below it, sends ADOPT on `link`. */
static void ask_adoption(struct alone *root,
                         uint32_t link,
                         uint32_t rank,
                         uint32_t incarnation)
{
    struct frame frame = {.origin = rank, .count = incarnation, .sequence = 1};

    alone_take_adopt(root, link, frame, rank + 2, rank + 2);
}

/* Make a front-end with two commnodes, each with one back-end. */
static void root_init(struct alone *root)
{
    struct node_child children[] = {{1, "h", NODE_COMMNODE, 0},
                                    {2, "h", NODE_COMMNODE, 0}};

    alone_begin(root, .role = NODE_FRONTEND, .children = children,
                .child_count = 2, .next_rank = 5);
    for (uint32_t rank = 1; rank <= 2; rank++) {
        struct roster roster = {0};

        alone_link_up(root, rank - 1, rank, NODE_COMMNODE, 0);
        CHECK_OK(roster_add_internal(&roster, rank, 0, 1, "a"));
        CHECK_OK(ranks_add(&roster.backends, rank + 2, rank + 2));
        alone_take_roster(root, rank - 1, &roster, FRAME_READY);
    }
}

/* PROTOCOL 8.4: an orphan that returns has one link here, however many of its
 * old links have not ended yet, and whatever their order is. */
TEST(an_orphan_that_comes_back_has_one_link)
{
    struct alone root;

    root_init(&root);
    alone_link_down(&root, 0);
    alone_link_up(&root, 2, 2, NODE_COMMNODE,
                  1); /* given up, in the place of the link that ended */
    alone_link_up(&root, 3, 2, NODE_COMMNODE, 2);
    ask_adoption(&root, 3, 2, 2);
    CU_ASSERT_EQUAL(alone_answered(&root, 3), ADOPTION_OK);
    CU_ASSERT(alone_closed(&root, 1));
    CU_ASSERT(alone_closed(&root, 2));
    CU_ASSERT_FALSE(alone_closed(&root, 3));
    alone_fini(&root);
}

/* PROTOCOL 8.2: an attempt that the orphan has given up arrives late, on its
 * own link. The link of the attempt that succeeded stays. */
TEST(a_late_attempt_is_stale)
{
    struct alone root;

    root_init(&root);
    alone_link_down(&root, 0);
    alone_link_down(&root, 1);
    alone_link_up(&root, 0, 2, NODE_COMMNODE, 1);
    alone_link_up(&root, 1, 2, NODE_COMMNODE, 2);
    ask_adoption(&root, 0, 2,
                 1); /* a later attempt is known, though it has not asked */
    CU_ASSERT_EQUAL(alone_answered(&root, 0), ADOPTION_STALE);
    CU_ASSERT(alone_closed(&root, 0));
    ask_adoption(&root, 1, 2, 2);
    CU_ASSERT_EQUAL(alone_answered(&root, 1), ADOPTION_OK);
    CU_ASSERT_FALSE(alone_closed(&root, 1));
    alone_fini(&root);
}

/* PROTOCOL 8.2: likewise for a back-end, which has no record. */
TEST(a_late_attempt_of_a_backend_is_stale)
{
    struct frame frame = {.origin = 4, .count = 1};
    struct alone root;

    root_init(&root);
    for (uint32_t i = 1; i <= 2; i++)
        alone_step(&root, (struct event){.type = EVENT_LINK_UP,
                                         .rank = 4,
                                         .role = NODE_BACKEND,
                                         .link = i + 1,
                                         .incarnation = i});
    alone_take_adopt(&root, 2, frame, 4, 4);
    CU_ASSERT_EQUAL(alone_answered(&root, 2), ADOPTION_STALE);
    CU_ASSERT(alone_closed(&root, 2));
    CU_ASSERT_FALSE(alone_closed(&root, 3));
    alone_fini(&root);
}
