/* test_check.c - node_check() finds violated invariants. */
#include "protocol/check.h"

#include <string.h>

#include "protocol/state.h"
#include "test/protocol/alone.h"

/* If `where` is set to `value`, node_check() names `word`. */
#define BREAKS(node, where, value, word)                                       \
    do {                                                                       \
        __typeof__(where) was = (where);                                       \
        char text[NODE_CHECK_TEXT] = "";                                       \
        (where) = (value);                                                     \
        CU_ASSERT(!node_check(node, text));                                    \
        CU_ASSERT_PTR_NOT_NULL(strstr(text, word));                            \
        (where) = was;                                                         \
        CU_ASSERT(node_check(node, text));                                     \
    } while (0)

/* The slots of a stream of totals; `stream` becomes one for this check. */
static void check_slots(struct node *node, struct stream *stream)
{
    struct ranks_run touching[] = {{4, 6}, {7, 7}};
    struct parting twice[] = {{.rank = 3}, {.rank = 3}};
    struct slot slot = {.key = 1};
    struct totals totals = {.last_key = 1, .partings = twice};
    struct branch *branch = stream_branch(stream, node->peers[0]->slot);

    CU_ASSERT_FATAL(branch != NULL);
    BREAKS(node, branch->slot, &slot, "no use for it");
    stream->totals = &totals;
    branch->slot = &slot;
    BREAKS(node, slot.key, 0, "the key of slot 0 is 0");
    BREAKS(node, slot.key, 2, "the key of slot 0 is 2");
    BREAKS(node, slot.is_due, true, "by no call");
    BREAKS(node, slot.has_later, true, "behind a total that is in");
    BREAKS(node, slot.set, ((struct ranks){touching, 2, 2}), "set of a slot");
    BREAKS(node, slot.next.set, ((struct ranks){touching, 2, 2}),
           "set of a total");
    BREAKS(node, totals.parting_count, 2, "3 has left twice");
    stream->totals = NULL;
    branch->slot = NULL;
}

TEST(what_does_not_hold_is_named)
{
    struct node_child child = {1, "h", NODE_COMMNODE, 0};
    struct ranks_run touching[] = {{4, 6}, {7, 7}};
    struct stream *zero;
    struct alone alone;
    struct node *node;

    alone_begin(&alone, .role = NODE_FRONTEND, .children = &child,
                .child_count = 1, .next_rank = 2);
    alone_link_up(&alone, 0, 1, NODE_COMMNODE, 0);
    node = alone.node;
    zero = node->streams[0];
    CU_ASSERT_FATAL(node->peer_count > 0 && node->peers[0] != NULL);
    BREAKS(node, node->peers[0]->slot, 1, "says slot");
    BREAKS(node, node->links[0], NULL, "not its own");
    BREAKS(node, node->parent, node->peers[0], "parent");
    BREAKS(node, node->markers, 1, "markers");
    BREAKS(node, node->filter.deadline_ms, 1, "no call");
    BREAKS(node, zero->applied, zero->pending_count + 1, "taken effect");
    BREAKS(node, zero->settle.sent.settled.number,
           zero->settle.sent.received + 1, "our claim");
    BREAKS(node, zero->up.credit.used, zero->up.credit.window + 1,
           "without a window");
    BREAKS(node, zero->down.debit.owed, zero->down.debit.taken + 1, "owed");
    BREAKS(node, zero->down.unreturned, 1, "credit for 1 byte");
    BREAKS(node, zero->up.out.bytes, 1, "up_out");
    BREAKS(node, zero->up.resumes, 1, "RESUMEs");
    BREAKS(node, zero->root, NULL, "a root");
    BREAKS(node, zero->root->sync, 9, "waits for marker 9");
    BREAKS(node, zero->root->synced_epoch, 1, "synced epoch 1");
    BREAKS(node, zero->root->state_called, 1, "state 1");
    BREAKS(node, node->rank, 5, "has role");
    BREAKS(node, node->launched, true, "a table");
    BREAKS(node, node->heal.orphan.phase, ORPHAN_PAUSE, "looks for a parent");
    BREAKS(node, node->heal.probe_count, LIMIT_CHILDREN + 1, "probes");
    BREAKS(node, node->incarnation, UINT32_MAX, "incarnation");
    BREAKS(node, zero->definition.id, 1, "is at 0");
    check_slots(node, zero);
    BREAKS(node, node->lost, ((struct ranks){touching, 2, 2}), "lost: run 1");
    alone_fini(&alone);
}
