/* journal.c - the records of a front-end whose network outlives it. */
#include "protocol/journal.h"

#include "protocol/state.h"

bool journal_is_kept(const struct node *node)
{
    return node->survive_ms > 0 && node->role == NODE_FRONTEND &&
           (node->started || !node->resuming.resumes);
}

void journal_add(struct node *node, const struct frame *frame)
{
    if (journal_is_kept(node))
        node_act(node, ACTION_RECORD)->frame = frame_ref(frame);
}
