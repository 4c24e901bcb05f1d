/* test_attempt.c - the candidate's side of an adoption, where one orphan has
 * several links at once (PROTOCOL 8.2, 8.4). The front-end alone, by hand. */
#include "protocol/launch/roster.h"
#include "protocol/node.h"
#include "protocol/state.h"
#include "test/check.h"
#include "wire/packet.h"

/* A front-end with two commnodes, one back-end below each. */
struct root {
    struct node *node;
    struct actions actions; /* of the last step */
};

static void step(struct root *root, const struct event *event)
{
    actions_clear(&root->actions);
    CHECK_OK(node_step(root->node, event, &root->actions));
}

static void link_up(struct root *root,
                    uint32_t link,
                    uint32_t rank,
                    uint32_t incarnation)
{
    step(root, &(struct event){
                   .type = EVENT_LINK_UP,
                   .link = link,
                   .rank = rank,
                   .role = NODE_COMMNODE,
                   .incarnation = incarnation,
               });
    step(root, &(struct event){
                   .type = EVENT_FRAME,
                   .link = link,
                   .frame = {.type = FRAME_HEARTBEAT, .count = 65536},
               });
}

static void ready(struct root *root, uint32_t link, uint32_t rank)
{
    struct event event = {.type = EVENT_FRAME, .link = link};
    struct roster roster = {0};

    CHECK_OK(roster_add_internal(&roster, rank, 0, 1, "a"));
    CHECK_OK(ranks_add(&roster.backends, rank + 2, rank + 2));
    CHECK_OK(roster_encode(&roster, FRAME_READY, &event.frame));
    roster_fini(&roster);
    step(root, &event);
}

static void adopt(struct root *root,
                  uint32_t link,
                  uint32_t rank,
                  uint32_t incarnation)
{
    uint32_t pairs[] = {rank + 2, rank + 2};
    struct event event = {
        .type = EVENT_FRAME,
        .link = link,
        .frame = {.type = FRAME_ADOPT,
                  .origin = rank,
                  .count = incarnation,
                  .sequence = 1},
    };

    CHECK_OK(packet_pack(&event.frame.payload, "%aud", pairs, UINT32_C(2)));
    step(root, &event);
}

static void root_init(struct root *root)
{
    struct node_child children[] = {{1, "h", NODE_COMMNODE, 0},
                                    {2, "h", NODE_COMMNODE, 0}};
    struct node_config config = {
        .role = NODE_FRONTEND,
        .host = "h",
        .address = "a",
        .children = children,
        .child_count = 2,
        .next_rank = 5,
    };

    *root = (struct root){0};
    CHECK_OK(node_new(&root->node, &config));
    step(root, &(struct event){.type = EVENT_START});
    for (uint32_t i = 0; i < 2; i++) {
        link_up(root, i, i + 1, 0);
        ready(root, i, i + 1);
    }
}

static void root_fini(struct root *root)
{
    actions_fini(&root->actions);
    node_free(root->node);
}

/* What ADOPTED said on `link` in the last step; 0: nothing. */
static int answer(const struct root *root, uint32_t link)
{
    for (size_t i = 0; i < root->actions.count; i++) {
        const struct action *action = &root->actions.list[i];

        if (action->type == ACTION_SEND && action->link == link &&
            action->frame.type == FRAME_ADOPTED)
            return action->frame.tag;
    }
    return 0;
}

static bool is_closed(const struct root *root, uint32_t link)
{
    bool closed = false;

    for (size_t i = 0; i < root->actions.count; i++)
        closed |= root->actions.list[i].type == ACTION_CLOSE &&
                  root->actions.list[i].link == link;
    return closed;
}

/* PROTOCOL 8.4: who comes back has one link here, however many of its old ones
 * were not found down yet, and wherever they stand in the list. */
TEST(who_comes_back_has_one_link)
{
    struct root root;

    root_init(&root);
    step(&root, &(struct event){.type = EVENT_LINK_DOWN, .link = 0});
    link_up(&root, 2, 2, 1); /* given up, in the place of the link that ended */
    link_up(&root, 3, 2, 2);
    adopt(&root, 3, 2, 2);
    CU_ASSERT_EQUAL(answer(&root, 3), ADOPTION_OK);
    CU_ASSERT(is_closed(&root, 1));
    CU_ASSERT(is_closed(&root, 2));
    CU_ASSERT_FALSE(is_closed(&root, 3));
    root_fini(&root);
}

/* PROTOCOL 8.2: an attempt that was given up comes late, on its own link. It
 * does not cost the orphan the link of the attempt that came to something. */
TEST(a_late_attempt_is_stale)
{
    struct root root;

    root_init(&root);
    step(&root, &(struct event){.type = EVENT_LINK_DOWN, .link = 0});
    step(&root, &(struct event){.type = EVENT_LINK_DOWN, .link = 1});
    link_up(&root, 0, 2, 1);
    link_up(&root, 1, 2, 2);
    adopt(&root, 0, 2, 1); /* a later one is known, though it has not asked */
    CU_ASSERT_EQUAL(answer(&root, 0), ADOPTION_STALE);
    CU_ASSERT(is_closed(&root, 0));
    adopt(&root, 1, 2, 2);
    CU_ASSERT_EQUAL(answer(&root, 1), ADOPTION_OK);
    CU_ASSERT_FALSE(is_closed(&root, 1));
    root_fini(&root);
}

/* PROTOCOL 8.2: the same for a back-end, of which no record tells. */
TEST(a_late_attempt_of_a_backend_is_stale)
{
    struct event event = {
        .type = EVENT_LINK_UP, .rank = 4, .role = NODE_BACKEND};
    struct root root;

    root_init(&root);
    for (uint32_t i = 1; i <= 2; i++) {
        event.link = i + 1;
        event.incarnation = i;
        step(&root, &event);
    }
    event.type = EVENT_FRAME;
    event.link = 2;
    event.frame = (struct frame){.type = FRAME_ADOPT, .origin = 4, .count = 1};
    CHECK_OK(packet_pack(&event.frame.payload, "%aud", (uint32_t[]){4, 4},
                         UINT32_C(2)));
    step(&root, &event);
    CU_ASSERT_EQUAL(answer(&root, 2), ADOPTION_STALE);
    CU_ASSERT(is_closed(&root, 2));
    CU_ASSERT_FALSE(is_closed(&root, 3));
    root_fini(&root);
}

int main(void)
{
    return check_run("attempt");
}
