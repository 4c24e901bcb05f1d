/* zero.c - stream 0: control packets, which every node applies in the same
 * order (PROTOCOL 3.1). */
#include <errno.h>

#include "protocol/state.h"

/* Prepare the branch to one child for a stream that is being opened. */
static void open_branch(struct node *node,
                        struct stream *stream,
                        struct peer *peer)
{
    struct branch *branch = stream_branch(stream, peer->slot);

    if (!branch || ranks_copy(&branch->members, &peer->below) < 0 ||
        ranks_intersect(&branch->members, &stream->definition.members) < 0) {
        node->failed = true;
        return;
    }
    credit_grant(&branch->down, peer->granted);
    branch->fed = true;
    stream->kind->open_branch(node, stream, peer);
}

/* OPEN takes effect; `number` is 0 in a snapshot. Returns 0 or -EPROTO. */
static int open_stream(struct node *node,
                       const struct stream_definition *definition,
                       uint64_t number)
{
    struct stream *stream;
    /* a snapshot may list a joiner before its ENTER, which has the start */
    bool member = ranks_has(&definition->members, node->rank) && !node->outside;

    if (definition->id <= node->last_stream &&
        (number == 0 || node->unfinished)) {
        stream = node_stream(node, definition->id);
        if (stream && number == 0)
            snapshot_refresh(node, stream, definition);
        else if (stream)
            stream->opened_at = number;
        return 0; /* repeated by a snapshot, or behind the half of one */
    }
    if (definition->id <= node->last_stream ||
        node->stream_count >= LIMIT_STREAMS)
        return -EPROTO;
    node->last_stream = definition->id;
    if (node->last_seen < definition->id)
        node->last_seen = definition->id;
    if (node->role == NODE_BACKEND && !member && !definition->grow)
        return 0;
    stream = node_add_stream(node, definition);
    if (!stream)
        return 0;
    stream->opened_at = number;
    stream->active = node->role != NODE_BACKEND || member;
    if (node->parent)
        upward_grant(stream, node->parent->granted);
    /* a peer that asks to be adopted is not a child yet */
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node_child(node, slot) && node->peers[slot]->ready)
            open_branch(node, stream, node->peers[slot]);
    upward_begin(node, stream);
    if (node->role == NODE_COMMNODE)
        downward_source(node, stream);
    if (stream->kind->opened)
        stream->kind->opened(node, stream);
    if (stream->active && node->parent &&
        (node->incarnation > 0 || node->shifted)) {
        /* the parent may have opened it before it had this child or members */
        downward_ask(node, stream);
        stream->kind->count_anew(node, stream);
    }
    if (stream->active)
        node_act(node, ACTION_LOAD)->definition = &stream->definition;
    return 0;
}

/* Apply a control packet. */
static int zero_apply(struct node *node,
                      struct control *control,
                      uint64_t number)
{
    switch (control->type) {
    case CONTROL_OPEN:
        return open_stream(node, &control->definition, number);
    case CONTROL_CLOSE:
    case CONTROL_PARAMETERS:
        pending_add(node, control);
        return 0;
    case CONTROL_ENTER:
        member_enter(node, control);
        return 0;
    case CONTROL_LOST:
    case CONTROL_LEFT:
        member_lost(node, &control->ranks, control->type == CONTROL_LEFT);
        return 0;
    case CONTROL_REDO: {
        struct stream *stream = node_stream(node, control->stream);

        if (stream && stream->kind->redo)
            stream->kind->redo(node, stream, control->generation,
                               control->after);
        return 0;
    }
    case CONTROL_ENDING:
        if (number == 0 && !node->ending)
            snapshot_pass_end(node, CONTROL_ENDING);
        node->ending = true;
        launch_kill(node, &control->ranks);
        return 0;
    case CONTROL_SHUTDOWN:
        if (number == 0 && !node->closing)
            snapshot_pass_end(node, CONTROL_SHUTDOWN);
        node->ending = node->closing = true;
        node->due |= DUE_END;
        return 0;
    case CONTROL_FAIL:
        failure_take(node, control->stream);
        return 0;
    case CONTROL_VIEW:
        view_take(node, control);
        return 0;
    }
    return 0;
}

void zero_send(struct node *node, const struct control *control)
{
    struct stream *zero = node->streams[0];
    struct control copy = {0};
    struct frame frame;

    if (control_encode(control, &frame) < 0) {
        node->failed = true;
        return;
    }
    frame.number = ++zero->down.last;
    if (control_decode(&frame, &copy) < 0) {
        frame_fini(&frame);
        node->failed = true;
        return;
    }
    resume_record_control(node, control, &frame);
    if (feed_push(&zero->down.feed, &frame, 0) < 0)
        node->failed = true;
    downward_pump(node, zero);
    zero_apply(node, &copy, zero->down.last);
    control_fini(&copy);
    settle_update(node, zero);
}

int zero_take(struct node *node, struct frame *frame)
{
    struct stream *zero = node->streams[0];
    struct control control = {0};
    uint64_t number = frame->number;
    int r;

    r = control_decode(frame, &control);
    if (r < 0) {
        frame_fini(frame);
        return r;
    }
    node->unfinished |= number == 0;
    if (number > 0) {
        if (node->role != NODE_BACKEND) {
            if (feed_push(&zero->down.feed, frame, 0) < 0)
                node->failed = true;
            downward_pump(node, zero);
        } else {
            zero->down.passed = number;
        }
    }
    frame_fini(frame);
    r = zero_apply(node, &control, number);
    control_fini(&control);
    if (!node->ended)
        settle_update(node, zero);
    return r;
}
