/* permit.c - which peer may send which frame (PROTOCOL 2.5).
 *
 * The values in a frame are checked where it is decoded. */
#include "protocol/state.h"

/* The role of a peer towards this node: one of these. */
enum sender {
    PARENT = 1 << 0,    /* this node's parent */
    HOST = 1 << 1,      /* the parent of a joiner that has no rank yet */
    CANDIDATE = 1 << 2, /* a node that this node dialled, not its parent yet */
    COMMNODE = 1 << 3,  /* a child that is a commnode ... */
    BACKEND = 1 << 4,   /* ... or a back-end, and ready */
    CALLER = 1 << 5,    /* a child that is not ready yet */
};

#define CHILD   (COMMNODE | BACKEND)
#define ANYBODY (PARENT | HOST | CANDIDATE | CHILD | CALLER)

static const struct permit {
    uint8_t senders;
    bool own; /* a back-end sends it with its own rank as the origin */
} permits[] = {
    [FRAME_DATA] = {PARENT | CHILD, true},
    [FRAME_MARKER] = {PARENT, false},
    [FRAME_CONTROL] = {PARENT, false},
    [FRAME_SNAPSHOT] = {PARENT, false},
    [FRAME_RESUME] = {CHILD, false},
    [FRAME_CLAIM] = {CHILD, false},
    [FRAME_STABLE] = {PARENT, false},
    [FRAME_SKIP] = {PARENT, false},
    [FRAME_CREDIT] = {PARENT | CHILD, false},
    [FRAME_HEARTBEAT] = {ANYBODY, false},
    [FRAME_READY] = {CALLER, false},
    [FRAME_TABLE] = {PARENT, false},
    [FRAME_JOIN] = {COMMNODE | CALLER, false},
    [FRAME_JOINED] = {PARENT | HOST, false},
    [FRAME_FAULT] = {CHILD, true},
    [FRAME_RECORD] = {PARENT | CHILD, true},
    [FRAME_GOODBYE] = {CHILD | CALLER, false},
    [FRAME_END] = {PARENT | HOST | CANDIDATE, false},
    [FRAME_ADOPT] = {CALLER, false},
    [FRAME_ADOPTED] = {CANDIDATE, false},
    [FRAME_PROBE] = {CHILD, true},
    [FRAME_PROBED] = {PARENT, false},
    [FRAME_FEED] = {CHILD, false},
    [FRAME_COMPENSATION] = {CHILD, true},
    [FRAME_EXPEL] = {PARENT, false},
    [FRAME_SILENCE] = {ANYBODY, false},
    [FRAME_RECOVERED] = {CHILD, true},
    [FRAME_FAN_OUT] = {PARENT | COMMNODE, false},
    [FRAME_NODE] = {PARENT | COMMNODE | CALLER, false},
    [FRAME_MOVE] = {PARENT, false},
    [FRAME_MOVED] = {CHILD, true},
    [FRAME_RETIRE] = {PARENT | COMMNODE, false},
    [FRAME_TOTAL] = {CHILD, true},
    [FRAME_FAREWELL] = {CHILD, true},
    [FRAME_FINAL] = {PARENT, false},
    [FRAME_STATUS] = {PARENT, false},
    [FRAME_HEARD] = {COMMNODE, false},
    [FRAME_ROWS] = {CHILD, true},
    [FRAME_INJECT] = {PARENT, false},
    [FRAME_REPORTS] = {0, false}, /* observers: observer.c */
    [FRAME_DRAIN] = {0, false},
};

static enum sender sender_of(const struct node *node, const struct peer *peer)
{
    if (peer->is_parent && peer != node->parent)
        return node->heal.orphan.phase == ORPHAN_ALIGN ||
                       node->heal.orphan.phase == ORPHAN_SWITCH ||
                       peer == node->heal.orphan.left
                   ? PARENT
                   : CANDIDATE;
    if (peer->is_parent)
        return node->rank == RANK_NONE ? HOST : PARENT;
    if (!peer->ready)
        return CALLER;
    return peer->role == NODE_BACKEND ? BACKEND : COMMNODE;
}

const char *permit_refusal(const struct node *node,
                           const struct peer *peer,
                           const struct frame *frame)
{
    enum sender sender = sender_of(node, peer);
    const struct permit *permit = &permits[frame->type];

    if (permit->senders & sender)
        return sender == BACKEND && permit->own && frame->origin != peer->rank
                   ? "a back-end may speak of itself only"
                   : NULL;
    switch (sender) {
    case PARENT:
        return "a parent may not send it";
    case HOST:
        return "it came before our rank";
    case CANDIDATE:
        return "a node that is not our parent may not send it";
    case COMMNODE:
        return "a child may not send it";
    case BACKEND:
        return "a back-end may not send it";
    case CALLER:
        return "a child that is not ready may not send it";
    }
    return NULL;
}
