/* test_attempt.c - the candidate's side of an adoption, where one orphan has
 * several links at once (PROTOCOL 8.2, 8.4). The front-end alone, by hand. */
#include "protocol/state.h"
#include "test/protocol/alone.h"

/* `rank`, which has one back-end below it, asks on `link`. */
static void ask_adoption(struct alone *root,
                         uint32_t link,
                         uint32_t rank,
                         uint32_t incarnation)
{
    struct frame frame = {.origin = rank, .count = incarnation, .sequence = 1};

    alone_take_adopt(root, link, frame, rank + 2, rank + 2);
}

/* A front-end with two commnodes, one back-end below each. */
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

/* PROTOCOL 8.4: an orphan that comes back has one link here, however many of
 * its old links were not found down yet, and wherever they stand in the list.
 */
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

/* PROTOCOL 8.2: an attempt that was given up comes late, on its own link. It
 * does not cost the orphan the link of the attempt that came to something. */
TEST(a_late_attempt_is_stale)
{
    struct alone root;

    root_init(&root);
    alone_link_down(&root, 0);
    alone_link_down(&root, 1);
    alone_link_up(&root, 0, 2, NODE_COMMNODE, 1);
    alone_link_up(&root, 1, 2, NODE_COMMNODE, 2);
    ask_adoption(&root, 0, 2,
                 1); /* a later one is known, though it has not asked */
    CU_ASSERT_EQUAL(alone_answered(&root, 0), ADOPTION_STALE);
    CU_ASSERT(alone_closed(&root, 0));
    ask_adoption(&root, 1, 2, 2);
    CU_ASSERT_EQUAL(alone_answered(&root, 1), ADOPTION_OK);
    CU_ASSERT_FALSE(alone_closed(&root, 1));
    alone_fini(&root);
}

/* PROTOCOL 8.2: the same for a back-end, of which no record tells. */
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
