/* compensation.c - filter states that go up; a new parent (PROTOCOL 9). */
#include <errno.h>
#include <string.h>

#include "protocol/state.h"

/* Repeat the claims to a new parent: the members at once, the settled marker
 * after the data that it covers (10.1). */
static void claim_anew(struct node *node, struct stream *stream)
{
    settle_send_claim(node, stream, (struct mark){0});
    if (stream->settle.settled.number > 0)
        upward_claim(node, stream);
    upward_pump(node, stream);
}

void upward_call_for_state(struct node *node, struct stream *stream)
{
    upward_drop_queue(stream);
    if (stream->root)
        stream->root->state_called = stream->root->state_asked;
    node_begin_call(node);
    node->filter.what = (struct node_call){
        .stream = stream->definition.id,
        .upward = true,
        .state = true,
        .child_count = node_child_count(node),
        .parameters = node_call_parameters(node, stream, 0),
    };
    node_act(node, ACTION_FILTER)->call = &node->filter.what;
}

void upward_ask_state(struct node *node, struct stream *stream)
{
    stream->root->state_asked++;
    if (node->filter.is_out)
        stream->queued = true;
    else
        upward_run(node, stream);
}

void upward_tell_state(struct node *node,
                       struct stream *stream,
                       const struct event *event,
                       int code)
{
    struct action *news = node_tell(node, TELL_STATE, 0, stream->definition.id,
                                    event ? event->text : NULL);

    news->sequence = stream->root->state_called;
    news->code = code;
    if (code < 0 || event->up_count == 0)
        return;
    news->frame = event->up[0];
    news->frame.type = FRAME_DATA;
    news->frame.stream = stream->definition.id;
    event->up[0].payload = NULL;
}

void upward_send_state(struct node *node,
                       struct stream *stream,
                       const struct event *event)
{
    struct msg_compensation compensation = {
        .stream = stream->definition.id,
        .sender = node->rank,
        .level = stream->up.level,
    };

    if (stream->totals) {
        totals_packed(node, stream, event);
        return;
    }
    if (node->role == NODE_FRONTEND) {
        upward_tell_state(node, stream, event, event->text ? -EIO : 0);
        return;
    }
    upward_hold(stream, false);
    if (event->text)
        upward_fault(node, FAULT_FILTER, stream->definition.id, event->text);
    if (!node->parent)
        return;
    if (event->up_count > 0) {
        compensation.tag = event->up[0].tag;
        compensation.payload = event->up[0].payload;
        event->up[0].payload = NULL;
    }
    /* Without members this node does not count: those in the state may have
     * moved, and the filter does not repeat their data if they return (9.1). */
    upward_recount(node, stream);
    node_send(node, node->parent, msg_compensation_encode(&compensation));
    if (stream->up.counted)
        claim_anew(node, stream);
}

/* What this node has put out may be lost with the link to `parent` (10.6). */
static void lose(struct node *node, struct stream *stream, uint32_t parent)
{
    struct losing loss = {.lossy = stream->up.put};

    if (stream->up.put < stream->settle.loss.lossy || stream->up.put == 0)
        return;
    if (ranks_add(&loss.losers, node->rank, node->rank) < 0 ||
        loss_raise(&stream->settle.loss, &loss) < 0)
        node->failed = true;
    ranks_fini(&loss.losers);
    node_tell(node, TELL_LOSSY, parent, stream->definition.id, NULL)->sequence =
        stream->up.put - 1;
}

void upward_orphaned(struct node *node, struct stream *stream, uint32_t parent)
{
    memset(&stream->up.credit, 0, sizeof(stream->up.credit));
    memset(&stream->up.late_credit, 0, sizeof(stream->up.late_credit));
    downward_orphaned(node, stream);
    settle_orphaned(stream);
    if (stream->totals)
        stream->totals->told = false;
    upward_hold(stream, false);
    if (stream->definition.id == 0 || !stream->active)
        return;
    if (stream->filters.recoverable) {
        upward_drop_queue(stream);
    } else if (stream->exact) {
        exact_uncount(stream);
    } else if (!stream->totals) {
        lose(node, stream, parent);
    }
}

/* The wave before the first in the queue; `up.level` if no wave is queued. */
static uint64_t level_sent(const struct stream *stream)
{
    for (uint32_t i = 0; i < stream->up.out.count; i++) {
        const struct frame *frame = &fifo_at(&stream->up.out, i)->frame;

        if (frame->type == FRAME_DATA && frame->wave > 0)
            return frame->wave - 1;
    }
    return stream->up.level;
}

void upward_count_anew(struct node *node, struct stream *stream)
{
    if (stream->exact) {
        exact_uncount(stream);
        exact_announce(node, stream);
    } else if (node->role == NODE_COMMNODE) {
        upward_uncount(stream); /* RESUME follows when a child counts */
    } else if (stream->up.resumes == 0) {
        upward_resume(node, stream, stream->up.level);
        upward_pump(node, stream);
    }
}

void upward_adopted(struct node *node, struct stream *stream)
{
    if (!stream->active)
        return;
    downward_ask(node, stream);
    if (stream->definition.id == 0 || !stream->loaded) {
        if (stream->definition.id != 0)
            upward_count_anew(node, stream);
        settle_update(node, stream);
        return;
    }
    if (stream->filters.recoverable) {
        upward_hold(stream, true);
        upward_run(node, stream);
    } else if (node->role == NODE_COMMNODE &&
               !stream_has_members(node, stream)) {
        upward_uncount(stream);
    } else if (stream->exact) {
        claim_anew(node, stream); /* which sends RESUME first (16.9) */
    } else {
        node_send(node, node->parent,
                  msg_resume_encode(&(struct msg_resume){
                      .stream = stream->definition.id,
                      .sender = node->rank,
                      .level = level_sent(stream),
                  }));
        upward_recount(node, stream);
        claim_anew(node, stream);
    }
}

int upward_compensate(struct node *node, struct peer *peer, struct frame *frame)
{
    struct msg_compensation compensation;
    struct stream *stream;
    struct branch *branch;

    if (msg_compensation_decode(frame, &compensation) < 0)
        return -EPROTO;
    stream = node_stream(node, compensation.stream);
    if (!stream || stream->definition.id == 0)
        return compensation.stream > node->last_seen ? -EPROTO : 0;
    if (stream->totals)
        return node_refuse(node, "a cumulative stream has none");
    if (stream->exact)
        return node_refuse(node, "an exact stream has no states");
    branch = stream_branch(stream, peer->slot);
    if (!branch)
        return -ENOMEM;
    if (branch->compensated)
        return node_refuse(node, "its stream has had one on this link");
    branch->compensated = true;
    if (upward_count(stream, peer, compensation.level) < 0)
        return -ENOMEM;
    if (compensation.payload) {
        struct frame data = {
            .type = FRAME_DATA,
            .flags = FRAME_COMPENSATING,
            .stream = compensation.stream,
            .tag = compensation.tag,
            .origin = compensation.sender,
            .payload = payload_ref(compensation.payload),
        };

        if (wave_put(stream->up.wave, peer->slot, peer->rank, &data, 0,
                     node->now_ms) < 0)
            return -ENOMEM;
    }
    upward_run(node, stream);
    return 0;
}
