/* heartbeat.c - frames that keep a link alive (PROTOCOL 6.1).
 *
 * Claims, stable numbers and fan-outs are sent with them, in frames of their
 * own. */
#include <errno.h>

#include "protocol/state.h"

/* The version of the table, never 0 if there is one. A back-end sends 0: its
 * parent sends it all records and accepts none from it (2.5). */
static uint64_t version_to_tell(const struct node *node)
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
    node_send(node, peer,
              msg_greeting_encode(&(struct msg_greeting){
                  .sender = node->rank,
                  .window = peer->grant,
              }));
}

/* PROTOCOL 6.9: the last round seen by this node and all commnodes below. */
static uint32_t round_seen(const struct node *node)
{
    uint32_t seen = node->heal.round;

    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && peer->role == NODE_COMMNODE &&
            peer->round < seen)
            seen = peer->round;
    }
    return seen;
}

/* The round to send to `peer`; 0 for a back-end. */
static uint32_t round_to_tell(const struct node *node, const struct peer *peer)
{
    if (peer == node->parent)
        return round_seen(node);
    return peer->ready && peer->role == NODE_COMMNODE ? node->heal.round : 0;
}

/* Send a heartbeat if one is due. `ordinal`: 1 + the place of a child among the
 * ready children; else 0. */
static void beat_if_due(struct node *node, struct peer *peer, uint32_t ordinal)
{
    bool attached = node_is_attached(node, peer);
    uint64_t own = attached ? version_to_tell(node) : 0;
    uint32_t round = round_to_tell(node, peer);

    if (!link_wants_heartbeat(&peer->life, node->now_ms) &&
        peer->told_ordinal == ordinal && peer->told_version == own &&
        peer->told_round == round)
        return;
    if (!peer->greeted) {
        heartbeat_greet(node, peer);
        return;
    }
    peer->told_ordinal = ordinal;
    peer->told_version = own;
    peer->told_round = round;
    node_send(node, peer,
              msg_heartbeat_encode(&(struct msg_heartbeat){
                  .round = round,
                  .sender = node->rank,
                  .ordinal = ordinal,
                  .incarnation = node->incarnation,
                  .version = own,
              }));
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
    if (node->role == NODE_FRONTEND)
        suspect_seen(node, round_seen(node));
}

void heartbeat_attempt(struct node *node)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && peer->greeted)
            node_send(node, peer,
                      msg_heartbeat_encode(&(struct msg_heartbeat){
                          .sender = node->rank,
                          .incarnation = node->incarnation,
                      }));
    }
}

/* The first heartbeat on a link names the window (3.4). */
static int take_greeting(struct node *node,
                         struct peer *peer,
                         const struct frame *frame)
{
    struct msg_greeting greeting;

    if (msg_greeting_decode(frame, &greeting) < 0)
        return node_refuse(node, "there is no such window");
    link_greet(&peer->life);
    peer->granted = greeting.window;
    if (peer->is_parent && peer != node->parent && node->parent)
        return 0; /* for later: packets go to the old parent (18.4) */
    for (size_t i = 0; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];
        struct branch *branch;

        if (peer->is_parent) {
            upward_grant(stream, greeting.window);
            continue;
        }
        branch = stream_branch(stream, peer->slot);
        if (!branch)
            return -ENOMEM;
        credit_grant(&branch->down, greeting.window);
        downward_pump_child(node, stream, peer->slot);
    }
    return 0;
}

/* Send all records if the other end has had another version for two heartbeats.
 * A shorter difference comes from records in flight (6.4). */
static void compare_versions(struct node *node,
                             struct peer *peer,
                             uint64_t theirs)
{
    uint64_t own = version_to_tell(node);

    if (theirs == 0 || own == 0 || theirs == own) {
        peer->odd_version = 0;
        return;
    }
    if (theirs == peer->odd_version && own == peer->odd_own) {
        if (node->now_ms < peer->exchanged_ms + node->times.heartbeat_ms)
            return; /* at most one exchange per heartbeat */
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
    struct msg_heartbeat beat;

    if (peer->life.state != LINK_UP)
        return take_greeting(node, peer, frame);
    if (!node_is_attached(node, peer))
        return 0;
    if (msg_heartbeat_decode(frame, &beat) < 0 ||
        (beat.ordinal > 0 && !peer->is_parent))
        return node_refuse(node, "no child has that place");
    if (peer->is_parent && !record_is_near(node, peer->rank, beat.incarnation))
        return node_refuse(node, "no node has asked for a parent so often");
    if (peer->is_parent && beat.incarnation > peer->incarnation)
        peer->incarnation = beat.incarnation;
    if (beat.ordinal > 0)
        node->heal.orphan.ordinal = beat.ordinal - 1;
    peer->round = beat.round;
    if (!peer->is_parent)
        resume_rounds(node, beat.round);
    if (peer->is_parent && beat.round > node->heal.round)
        node->heal.round = beat.round;
    compare_versions(node, peer, beat.version);
    return 0;
}
