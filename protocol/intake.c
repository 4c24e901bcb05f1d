/* intake.c - what comes in on links: one function for each kind of frame.
 *
 * A peer that sends what it may not send now breaks the protocol: its link is
 * closed, whatever it sent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/packet.h"
#include "protocol/state.h"

void intake_link_up(struct node *node, const struct event *event)
{
    struct peer *peer;

    if (node->ended || (event->is_parent && node->parent)) {
        node_act(node, ACTION_CLOSE)->link = event->link;
        return;
    }
    peer = node_add_peer(node, event);
    if (!peer) {
        node->failed = true;
        return;
    }
    if (peer->is_parent || !node->launched || peer->rank == RANK_NONE)
        heartbeat_greet(node, peer); /* an orphan: with our answer (6.1) */
    if (peer->is_parent && node->orphan.phase != ORPHAN_NOT) {
        orphan_link_up(node, peer);
    } else if (peer->is_parent) {
        node->parent = peer;
        launch_report(node);
    } else if (launch_child_up(node, peer) < 0) {
        node_act(node, ACTION_CLOSE)->link = peer->link;
        node_remove_peer(node, peer);
    }
}

static int take_credit(struct node *node,
                       struct peer *peer,
                       const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    struct branch *branch;
    int r;

    if (!stream)
        return 0;
    if (peer->is_parent) {
        r = credit_return(frame->flags & FRAME_LATE ? &stream->late
                                                    : &stream->up,
                          frame->count);
        upward_pump(node, stream);
        upward_run(node, stream);
        launch_try_end(node);
        return r;
    }
    branch = stream_branch(stream, peer->slot);
    if (!branch)
        return -ENOMEM;
    r = credit_return(&branch->down, frame->count);
    downward_pump_child(node, stream, peer->slot);
    downward_passed(node, stream);
    return r;
}

static int take_resume(struct node *node,
                       struct peer *peer,
                       const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);

    if (frame->stream == 0)
        return -EPROTO;
    if (!stream)
        return 0;
    if (upward_count(stream, peer, frame->sequence) < 0)
        return -ENOMEM;
    upward_run(node, stream);
    return 0;
}

static int take_fault(struct node *node, struct frame *frame)
{
    struct cop_packet *packet = NULL;
    const char *text;
    int r;

    if (frame->payload && frame->payload->len > LIMIT_REPORT)
        return -EPROTO;
    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, "%s", &text);
    if (r == 0 && node->parent)
        node_send(node, node->parent, frame_ref(frame));
    else if (r == 0)
        node_tell(node, TELL_FILTER_ERROR, frame->origin, frame->stream, text);
    cop_packet_free(packet);
    return r;
}

static int take_up(struct node *node, struct peer *peer, struct frame *frame)
{
    struct stream *stream;

    if (frame->sequence == UINT64_MAX)
        return -EPROTO; /* no wave has this number: `wave` means none by it */
    stream = node_stream(node, frame->stream);
    if (!stream || stream->definition.id == 0) {
        bool unknown = frame->stream > node->last_seen || frame->stream == 0;

        frame_fini(frame);
        return unknown ? -EPROTO : 0;
    }
    if (stream->closing)
        return upward_discard(node, stream, peer, frame);
    return upward_take(node, stream, peer, frame);
}

/* A frame from a child. Its payload is given back by the caller, unless it
 * was taken. */
static int from_child(struct node *node, struct peer *peer, struct frame *frame)
{
    bool inner = peer->role == NODE_COMMNODE;

    switch ((enum frame_type)frame->type) {
    case FRAME_DATA:
        return peer->ready ? take_up(node, peer, frame) : -EPROTO;
    case FRAME_CLAIM:
        return peer->ready ? member_claim(node, peer, frame) : -EPROTO;
    case FRAME_RESUME:
        return peer->ready ? take_resume(node, peer, frame) : -EPROTO;
    case FRAME_CREDIT:
        return take_credit(node, peer, frame);
    case FRAME_HEARTBEAT:
        return heartbeat_take(node, peer, frame);
    case FRAME_READY:
        return launch_ready(node, peer, frame);
    case FRAME_JOIN:
        return peer->ready && inner ? launch_join(node, peer, frame) : -EPROTO;
    case FRAME_FAULT:
        return peer->ready ? take_fault(node, frame) : -EPROTO;
    case FRAME_RECORD:
        return peer->ready ? record_take(node, peer, frame) : -EPROTO;
    case FRAME_RECOVERED:
        return peer->ready ? recovery_take(node, frame) : -EPROTO;
    case FRAME_FAN_OUT:
        return peer->ready ? fan_out_take(node, peer, frame) : -EPROTO;
    case FRAME_ADOPT:
        return adoption_ask(node, peer, frame);
    case FRAME_PROBE:
        return peer->ready && inner ? adoption_probe(node, peer, frame)
                                    : -EPROTO;
    case FRAME_FEED:
        return peer->ready ? downward_feed(node, peer, frame) : -EPROTO;
    case FRAME_COMPENSATION:
        return peer->ready ? upward_compensate(node, peer, frame) : -EPROTO;
    case FRAME_GOODBYE:
        peer->left = true;
        return 0;
    case FRAME_SILENCE:
        peer->gave_up = true;
        return 0;
    case FRAME_HEARD:
        return status_heard(node, peer, frame);
    case FRAME_ROWS:
        return status_rows(node, peer, frame);
    case FRAME_MARKER:
    case FRAME_CONTROL:
    case FRAME_SNAPSHOT:
    case FRAME_STABLE:
    case FRAME_TABLE:
    case FRAME_JOINED:
    case FRAME_END:
    case FRAME_ADOPTED:
    case FRAME_PROBED:
    case FRAME_EXPEL:
    case FRAME_STATUS:
    case FRAME_INJECT:
    case FRAME_REPORTS:
        return -EPROTO;
    }
    return -EPROTO;
}

static int take_down(struct node *node, struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    bool control = frame->type == FRAME_CONTROL;

    if (control != (frame->stream == 0) || !stream || !stream->active) {
        bool known = stream || frame->stream <= node->last_seen;

        frame_fini(frame);
        return known && !control ? 0 : -EPROTO;
    }
    return downward_take(node, stream, frame);
}

static int take_stable(struct node *node, const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);

    if (!stream || node->role == NODE_BACKEND)
        return 0;
    member_stable(node, stream, frame->sequence);
    downward_pending(node, stream);
    return 0;
}

static int from_parent(struct node *node,
                       struct peer *peer,
                       struct frame *frame)
{
    if (node->rank == RANK_NONE && frame->type != FRAME_HEARTBEAT &&
        frame->type != FRAME_JOINED && frame->type != FRAME_END &&
        frame->type != FRAME_SILENCE)
        return -EPROTO; /* who has no number yet is sent nothing else */
    if (peer != node->parent && frame->type != FRAME_HEARTBEAT &&
        frame->type != FRAME_ADOPTED && frame->type != FRAME_END &&
        frame->type != FRAME_SILENCE)
        return -EPROTO; /* a candidate that is no parent yet */
    switch ((enum frame_type)frame->type) {
    case FRAME_DATA:
    case FRAME_MARKER:
    case FRAME_CONTROL:
        return take_down(node, frame);
    case FRAME_SNAPSHOT:
        return snapshot_take(node, frame);
    case FRAME_STABLE:
        return take_stable(node, frame);
    case FRAME_CREDIT:
        return take_credit(node, peer, frame);
    case FRAME_HEARTBEAT:
        return heartbeat_take(node, peer, frame);
    case FRAME_TABLE:
        return launch_table(node, frame);
    case FRAME_JOINED:
        return launch_joined(node, peer, frame);
    case FRAME_END:
        launch_end(node, "the front-end has ended the network");
        return 0;
    case FRAME_RECORD:
        return record_take(node, peer, frame);
    case FRAME_FAN_OUT:
        return fan_out_take(node, peer, frame);
    case FRAME_ADOPTED:
        return orphan_adopted(node, peer, frame);
    case FRAME_PROBED:
        return adoption_probed(node, frame);
    case FRAME_EXPEL:
        return member_expel(node, frame);
    case FRAME_SILENCE:
        peer->gave_up = true;
        return 0;
    case FRAME_STATUS:
        return status_asked(node, frame);
    case FRAME_INJECT:
        return inject_take(node, frame);
    case FRAME_RESUME:
    case FRAME_CLAIM:
    case FRAME_READY:
    case FRAME_JOIN:
    case FRAME_FAULT:
    case FRAME_ADOPT:
    case FRAME_PROBE:
    case FRAME_FEED:
    case FRAME_RECOVERED:
    case FRAME_COMPENSATION:
    case FRAME_GOODBYE:
    case FRAME_HEARD:
    case FRAME_ROWS:
    case FRAME_REPORTS:
        return -EPROTO;
    }
    return -EPROTO;
}

void intake_frame(struct node *node, const struct event *event)
{
    struct frame frame = event->frame;
    struct peer *peer =
        event->link < node->link_count ? node->links[event->link] : NULL;
    int r;

    if (!peer || peer->life.state == LINK_CLOSED || node->ended) {
        frame_fini(&frame);
        return;
    }
    link_heard(&peer->life, node->now_ms);
    r = peer->is_parent ? from_parent(node, peer, &frame)
                        : from_child(node, peer, &frame);
    frame_fini(&frame);
    if (r == -ENOMEM)
        node->failed = true;
    else if (r < 0 && !node->ended && node->links[event->link] == peer)
        node_breach(node, peer);
}
