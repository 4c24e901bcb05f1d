/* inject.c - what is to be broken on purpose, on its way to the victim. */
#include <coppice/status.h>
#include <errno.h>
#include <stdio.h>

#include "protocol/state.h"
#include "protocol/watch/status.h"

static bool is_injection(const struct frame *frame)
{
    switch (frame->tag) {
    case COP_INJECT_KILL:
    case COP_INJECT_CUT:
        return frame->count == 0;
    case COP_INJECT_FREEZE:
        return frame->count > 0 && frame->count <= LIMIT_FREEZE_MS;
    default:
        return false;
    }
}

/* The child through which `rank` is reached now (PROTOCOL 6.6); or NULL. */
static struct peer *towards(const struct node *node, uint32_t rank)
{
    struct table_entry entry;
    bool internal =
        node->heal.table && table_entry(node->heal.table, rank, &entry) == 0;
    uint32_t slot;

    for (slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (!peer || !peer->ready || peer->life.state == LINK_CLOSED)
            continue;
        if (peer->rank == rank || ranks_has(&peer->below, rank))
            return peer;
        if (internal && peer->role == NODE_COMMNODE &&
            table_is_below(node->heal.table, rank, peer->rank))
            return peer;
    }
    return NULL;
}

/* Whether there is, or was, such a node. */
static bool is_known(const struct node *node, uint32_t rank)
{
    struct table_entry entry;

    return table_entry(node->heal.table, rank, &entry) == 0 ||
           ranks_has(&node->backends, rank) || ranks_has(&node->lost, rank);
}

static int refuse(char *text, size_t len, int code, uint32_t rank)
{
    snprintf(text, len,
             code == -ENOENT ? "there is no node of rank %u"
                             : "rank %u is lost, or looks for a parent: it "
                               "cannot be reached now",
             rank);
    return code;
}

int inject_asked(struct node *node,
                 const struct frame *frame,
                 char *text,
                 size_t text_len)
{
    uint32_t rank = frame->origin;
    struct peer *peer;

    if (!node->status.allow_injection) {
        snprintf(text, text_len,
                 "this network does not allow injections: have its tool "
                 "launch it with launch.allow_injection");
        return -EPERM;
    }
    if (!is_injection(frame)) {
        snprintf(text, text_len,
                 "there is no such injection; a freeze lasts from 1 ms to %u s",
                 LIMIT_FREEZE_MS / 1000);
        return -EINVAL;
    }
    if (rank == 0) {
        snprintf(text, text_len,
                 "rank 0 is the front-end, which is never broken on purpose");
        return -EINVAL;
    }
    if (!is_known(node, rank))
        return refuse(text, text_len, -ENOENT, rank);
    peer = towards(node, rank);
    if (!peer)
        return refuse(text, text_len, -EHOSTUNREACH, rank);
    if (frame->tag == COP_INJECT_KILL)
        observer_killed(node, rank);
    node_send(node, peer, frame_ref(frame));
    return 0;
}

int inject_take(struct node *node, const struct frame *frame)
{
    struct action *action;
    struct peer *peer;

    if (!is_injection(frame))
        return -EPROTO;
    if (!node->status.allow_injection)
        return 0; /* PROTOCOL 15.6: nobody's word is enough here */
    if (frame->origin != node->rank) {
        peer = towards(node, frame->origin);
        if (peer)
            node_send(node, peer, frame_ref(frame));
        return 0;
    }
    action = node_act(node, ACTION_INJECT);
    action->code = frame->tag;
    action->sequence = frame->count;
    action->link = node->parent->link;
    return 0;
}
