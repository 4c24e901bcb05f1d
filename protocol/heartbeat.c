/* heartbeat.c - what a link carries though nobody sends (PROTOCOL 6.1).
 *
 *     count     the first one: the window that we grant (3.4); then our
 *               incarnation (6.1c)
 *     tag       down: 1 + the child's ordinal (7.2)
 *     sequence  our table's version; 0 before there is one
 *
 * Claims, stable numbers and fan-outs are frames of their own that go with
 * it. */
#include <errno.h>

#include "protocol/state.h"

/* How the version travels: never as 0. A back-end has none: all that its parent
 * knows comes down to it, and what it knows besides is not asked for (2.5). */
static uint64_t version(const struct node *node)
{
    return node->heal.table && node->role != NODE_BACKEND
               ? table_version(node->heal.table) | 1
               : 0;
}

void heartbeat_greet(struct node *node, struct peer *peer)
{
    if (peer->greeted)
        return;
    peer->greeted = true;
    node_send_header(node, peer, FRAME_HEARTBEAT, 0, 0, peer->grant);
}

/* Heartbeat for one link, if it is due. `ordinal`: a child that is ready: 1 +
 * its place among those. */
static void beat_if_due(struct node *node, struct peer *peer, uint32_t ordinal)
{
    bool attached = node_is_attached(node, peer);
    uint64_t own = attached ? version(node) : 0;

    if (!link_wants_heartbeat(&peer->life, node->now_ms) &&
        peer->told_ordinal == ordinal && peer->told_version == own)
        return;
    if (!peer->greeted) {
        heartbeat_greet(node, peer);
        return;
    }
    peer->told_ordinal = ordinal;
    peer->told_version = own;
    node_send(node, peer,
              (struct frame){
                  .type = FRAME_HEARTBEAT,
                  .tag = (int32_t)ordinal,
                  .origin = node->rank,
                  .count = node->incarnation,
                  .sequence = own,
              });
}

void heartbeat_beat(struct node *node)
{
    uint32_t slot, ready = 0;

    for (slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node->peers[slot];

        if (!peer)
            continue;
        if (peer->is_parent || !peer->ready || !node->launched)
            beat_if_due(node, peer, 0);
        else
            beat_if_due(node, peer, ++ready);
    }
}

void heartbeat_attempt(struct node *node)
{
    uint32_t slot;

    for (slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && peer->greeted)
            node_send_header(node, peer, FRAME_HEARTBEAT, 0, 0,
                             node->incarnation);
    }
}

/* The first one on a link names the window (3.4). */
static int greeted(struct node *node,
                   struct peer *peer,
                   const struct frame *frame)
{
    size_t i;

    if (frame->count == 0 || frame->count > LIMIT_WINDOW_MAX)
        return node_refuse(node, "there is no such window");
    link_greet(&peer->life);
    peer->granted = frame->count;
    for (i = 0; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];
        struct branch *branch;

        if (peer->is_parent) {
            upward_grant(stream, frame->count);
            continue;
        }
        branch = stream_branch(stream, peer->slot);
        if (!branch)
            return -ENOMEM;
        credit_grant(&branch->down, frame->count);
        downward_pump_child(node, stream, peer->slot);
    }
    return 0;
}

/* The other end knows other records than we do. Some are on their way, so that
 * only a difference that stays is made good: by all of ours (6.4). */
static void compare(struct node *node, struct peer *peer, uint64_t theirs)
{
    uint64_t own = version(node);

    if (theirs == 0 || own == 0 || theirs == own) {
        peer->odd_version = 0;
        return;
    }
    if (theirs == peer->odd_version && own == peer->odd_own) {
        if (node->now_ms < peer->exchanged_ms + node->times.heartbeat_ms)
            return; /* however often it says so */
        peer->exchanged_ms = node->now_ms;
        peer->odd_version = 0;
        record_exchange(node, peer);
        return;
    }
    peer->odd_version = theirs;
    peer->odd_own = own;
}

int heartbeat_take(struct node *node,
                   struct peer *peer,
                   const struct frame *frame)
{
    if (peer->life.state != LINK_UP)
        return greeted(node, peer, frame);
    if (!node_is_attached(node, peer))
        return 0;
    if (frame->tag < 0 || (frame->tag > 0 && !peer->is_parent) ||
        (uint32_t)frame->tag > LIMIT_CHILDREN)
        return node_refuse(node, "no child has that place");
    if (peer->is_parent && !record_is_near(node, peer->rank, frame->count))
        return node_refuse(node, "no node has asked for a parent so often");
    if (peer->is_parent && frame->count > peer->incarnation)
        peer->incarnation = frame->count;
    if (frame->tag > 0)
        node->heal.orphan.ordinal = (uint32_t)frame->tag - 1;
    compare(node, peer, frame->sequence);
    return 0;
}
