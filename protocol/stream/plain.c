/* plain.c - streams whose filters' states go up when nodes fail (PROTOCOL 9). */
#include <errno.h>
#include <string.h>

#include "protocol/state.h"

void upward_claim_anew(struct node *node, struct stream *stream)
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

void plain_packed(struct node *node,
                  struct stream *stream,
                  const struct event *event)
{
    struct msg_compensation compensation = {
        .stream = stream->definition.id,
        .sender = node->rank,
        .level = stream->up.level,
    };

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
    upward_claim_anew(node, stream);
}

/* Packets of the epochs before `lossy` may be lost with the link between this
 * node and `other`. `loser` is the lower end of it. */
static void lose(struct node *node,
                 struct stream *stream,
                 uint32_t other,
                 uint32_t loser,
                 uint32_t lossy)
{
    struct losing loss = {.lossy = lossy};

    if (lossy < stream->settle.loss.lossy || lossy == 0)
        return;
    if (ranks_add(&loss.losers, loser, loser) < 0 ||
        loss_raise(&stream->settle.loss, &loss) < 0)
        node->failed = true;
    ranks_fini(&loss.losers);
    node_tell(node, TELL_LOSSY, other, stream->definition.id, NULL)->sequence =
        lossy - 1;
}

void plain_part_ended(struct node *node, struct stream *stream, uint32_t slot)
{
    const struct peer *peer = node_child(node, slot);

    if (peer && peer->role == NODE_COMMNODE && !peer->left && !peer->moving &&
        !node->closing && slot < stream->branch_count && stream->loaded &&
        !stream->filters.recoverable)
        lose(node, stream, peer->rank, peer->rank, stream->branches[slot].put);
}

void plain_orphaned(struct node *node, struct stream *stream, uint32_t rank)
{
    if (stream->definition.id == 0 || !stream->active)
        return;
    if (stream->filters.recoverable)
        upward_drop_queue(stream);
    else if (node->heal.orphan.left && !stream->up.split)
        stream->up.left = stream->up.put; /* the old parent passes it on */
    else
        lose(node, stream, rank, node->rank, stream->up.put);
    stream->up.split = false;
}

void plain_left(struct node *node, struct stream *stream, uint32_t rank)
{
    if (stream->kind->is_lossy && !stream->filters.recoverable)
        lose(node, stream, rank, node->rank, stream->up.left);
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

struct wave_number plain_stand(const struct node *node,
                               const struct stream *stream)
{
    (void)node;
    return (struct wave_number){.wave = level_sent(stream)};
}

void plain_count_anew(struct node *node, struct stream *stream)
{
    if (node->role == NODE_COMMNODE) {
        upward_uncount(stream); /* RESUME follows when a child counts */
    } else if (stream->up.resumes == 0) {
        upward_resume(node, stream,
                      (struct wave_number){.wave = stream->up.level});
        upward_pump(node, stream);
    }
}

static void send_resume(struct node *node,
                        const struct stream *stream,
                        uint64_t level)
{
    node_send(node, node->parent,
              msg_resume_encode(&(struct msg_resume){
                  .stream = stream->definition.id,
                  .sender = node->rank,
                  .level = level,
              }));
}

/* The end of the epoch before is named, too: it may have been lost (4.3b). */
void plain_adopted(struct node *node, struct stream *stream)
{
    uint64_t level = level_sent(stream);

    if (stream->up.ended > 0 && stream->up.ended < level)
        send_resume(node, stream, stream->up.ended);
    send_resume(node, stream, level);
    stream->up.counted = true;
    upward_claim_anew(node, stream);
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
    if (stream->kind->refusal)
        return node_refuse(node, stream->kind->refusal);
    branch = stream_branch(stream, peer->slot);
    if (!branch)
        return -ENOMEM;
    if (branch->compensated)
        return node_refuse(node, "its stream has had one on this link");
    branch->compensated = true;
    if (plain_replaced(stream, peer,
                       (struct wave_number){.wave = compensation.level}) < 0)
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

/* ---- children and packets ---- */

void plain_owe(struct stream *stream, uint32_t slot)
{
    struct branch *branch = &stream->branches[slot];

    if (branch->put <= stream->down.epoch)
        branch->put = 1 + stream->down.epoch;
}

/* The child counts from the wave after `level`. */
static int count_child(struct stream *stream,
                       const struct peer *peer,
                       struct wave_number level)
{
    struct branch *branch = &stream->branches[peer->slot];

    branch->counts = true;
    branch->claim.drained = false;
    if (branch->members.count == 0)
        plain_owe(stream, peer->slot);
    return wave_join(stream->up.wave, peer->slot, peer->rank, level.wave);
}

void plain_open_branch(struct node *node,
                       struct stream *stream,
                       const struct peer *peer)
{
    if (stream->branches[peer->slot].members.count > 0 &&
        count_child(stream, peer, (struct wave_number){0}) < 0)
        node->failed = true;
}

int plain_resumed(struct node *node,
                  struct stream *stream,
                  struct peer *peer,
                  struct wave_number level)
{
    const struct branch *branch = stream_branch(stream, peer->slot);

    (void)node;
    if (!branch)
        return -ENOMEM;
    if (branch->members.count == 0 && peer->role == NODE_BACKEND)
        return 0; /* it was given up */
    return count_child(stream, peer, level);
}

int plain_replaced(struct stream *stream,
                   const struct peer *peer,
                   struct wave_number level)
{
    const struct branch *branch = stream_branch(stream, peer->slot);

    if (!branch)
        return -ENOMEM;
    return branch->members.count > 0 ? count_child(stream, peer, level) : 0;
}

void plain_leave(struct node *node, struct stream *stream, uint32_t slot)
{
    struct peer *peer = node_child(node, slot);
    uint64_t owed = wave_owed(stream->up.wave, slot);

    stream->branches[slot].counts = false;
    stream->branches[slot].put = 0;
    wave_leave(stream->up.wave, slot);
    if (owed > 0 && peer && peer->life.state == LINK_UP)
        upward_return_credit(node, stream, peer, false, owed);
}

void plain_unlink(struct node *node, struct stream *stream, uint32_t slot)
{
    (void)node;
    wave_leave(stream->up.wave, slot);
    wave_unlink(stream->up.wave, slot);
}

void plain_close(struct node *node, struct stream *stream)
{
    for (uint32_t slot = 0; slot < stream->branch_count; slot++)
        if (node_child(node, slot))
            plain_leave(node, stream, slot);
}

void plain_enter(struct node *node, struct stream *stream, uint32_t epoch)
{
    upward_enter(stream, epoch, true);
    upward_resume(node, stream,
                  (struct wave_number){.wave = (uint64_t)(epoch + 1)
                                               << PACKET_WAVE_BITS});
    upward_pump(node, stream);
}

/* Whether a sync that covers this packet had already returned 1 (10.6a). */
static bool is_given_up(const struct node *node,
                        const struct stream *stream,
                        const struct frame *frame)
{
    return node->role == NODE_FRONTEND && upward_is_charged(frame) &&
           frame->wave > 0 &&
           frame->wave >> PACKET_WAVE_BITS < stream->root->given_up;
}

int plain_take(struct node *node,
               struct stream *stream,
               struct peer *peer,
               struct frame *frame)
{
    struct branch *branch = stream_branch(stream, peer->slot);
    int r = branch ? 0 : -ENOMEM;

    if (frame->flags & (FRAME_WAVES | FRAME_OVER | FRAME_ASK))
        r = node_refuse(node, "its stream has no whole waves");
    if (is_given_up(node, stream, frame))
        return upward_discard(node, stream, peer, frame);
    if (stream->kind->refusal && (frame->flags & FRAME_COMPENSATING)) {
        frame_fini(frame);
        return node_refuse(node, stream->kind->refusal);
    }
    if (r == 0 && upward_is_charged(frame))
        r = debit_take(frame->flags & FRAME_LATE ? &branch->late : &branch->up,
                       peer->grant, frame_len(frame));
    if (r == 0 && peer->role == NODE_BACKEND &&
        wave_parts(stream->up.wave, peer->slot) > LIMIT_FRAME)
        r = node_refuse(node, "its wave is larger than any packet may be");
    if (r < 0) {
        frame_fini(frame);
        return r;
    }
    if (upward_is_charged(frame) && frame->wave > 0 &&
        branch->put <= frame->wave >> PACKET_WAVE_BITS)
        branch->put = 1 + (uint32_t)(frame->wave >> PACKET_WAVE_BITS);
    if (wave_put(stream->up.wave, peer->slot, peer->rank, frame,
                 upward_is_charged(frame) ? (uint32_t)frame_len(frame) : 0,
                 node->now_ms) < 0)
        node->failed = true;
    upward_run(node, stream);
    return 0;
}

void plain_run(struct node *node, struct stream *stream)
{
    if (stream->root && !node->filter.is_out &&
        stream->root->state_asked > stream->root->state_called)
        upward_call_for_state(node, stream);
    upward_release_sets(node, stream);
    upward_go_on(node, stream);
}
