/* upward.c - packets on their way up: waves, filter calls, credit. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

void upward_return_credit(struct node *node,
                          struct stream *stream,
                          struct peer *peer,
                          bool late,
                          size_t len)
{
    struct branch *branch = &stream->branches[peer->slot];
    struct debit *debit = late ? &branch->late : &branch->up;
    uint32_t back;

    debit->window = peer->grant;
    back = debit_consume(debit, len);
    if (back > 0)
        node_send(node, peer,
                  msg_credit_encode(&(struct msg_credit){
                      .flags = late ? FRAME_LATE : 0,
                      .stream = stream->definition.id,
                      .sender = node->rank,
                      .bytes = back,
                  }));
}

/* Return the credit of a released set. */
static void return_credit_of_set(struct node *node,
                                 struct stream *stream,
                                 struct wave_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct peer *peer = node_child(node, set->slots[i]);

        if (set->credits[i] > 0 && peer && peer->rank == set->inlets[i] &&
            peer->slot < stream->branch_count)
            upward_return_credit(node, stream, peer, set->late_lane,
                                 set->credits[i]);
    }
}

/* Return credit early for packets of waves that are not complete (3.4). */
static void upward_lend(struct node *node, struct stream *stream)
{
    if (!wave_has_parts(stream->up.wave))
        return;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        struct peer *peer = node_child(node, slot);
        uint64_t bytes = peer ? wave_lend(stream->up.wave, slot) : 0;

        if (bytes > 0)
            upward_return_credit(node, stream, peer, false, bytes);
    }
}

void upward_leave(struct node *node, struct stream *stream, uint32_t slot)
{
    struct peer *peer = node_child(node, slot);
    uint64_t owed = wave_owed(stream->up.wave, slot);

    if (stream->exact)
        return; /* exact_trimmed() follows */
    if (wave_leave(stream->up.wave, slot) < 0)
        node->failed = true;
    else if (owed > 0 && peer && peer->life.state == LINK_UP)
        upward_return_credit(node, stream, peer, false, owed);
}

void upward_unlink(struct node *node, struct stream *stream, uint32_t slot)
{
    if (stream->exact) {
        exact_unlink(node, stream, slot);
        return;
    }
    if (wave_leave(stream->up.wave, slot) < 0)
        node->failed = true;
    wave_unlink(stream->up.wave, slot);
}

/* Whether the application has not asked for such packets (4.3b). */
static bool is_withheld(const struct stream *stream, const struct frame *frame)
{
    return stream->definition.waves_only &&
           (frame->flags & (FRAME_LATE | FRAME_COMPENSATING));
}

/* Deliver a packet, or a run of lost waves, to the application. */
static void deliver(struct node *node,
                    struct stream *stream,
                    struct frame frame)
{
    struct action *action;

    stream->app.untaken++;
    stream->app.untaken_bytes += frame_len(&frame);
    action = node_act(node, ACTION_DELIVER);
    action->stream = stream->definition.id;
    action->frame = frame;
}

/* Front-end: a late packet names its wave, of which nothing may come on time. */
static void name_wave(struct stream_root *root, uint64_t wave)
{
    uint64_t epoch = wave >> PACKET_WAVE_BITS;
    uint64_t known = root->named >> PACKET_WAVE_BITS;

    if (wave > root->over && (root->named <= root->over || epoch < known ||
                              (epoch == known && wave > root->named)))
        root->named = wave;
}

static void deliver_packet(struct node *node,
                           struct stream *stream,
                           struct frame frame)
{
    bool withheld = is_withheld(stream, &frame);

    if (stream->error) { /* it is not open: its filters did not have this */
        frame_fini(&frame);
        return;
    }
    if (!withheld && !(frame.flags & FRAME_EMPTY)) {
        deliver(node, stream, frame);
        return;
    }
    /* A joiner is no member of the waves that it misses (12.3). */
    if (withheld && !(frame.flags & FRAME_NEWCOMER) &&
        stream->root->withheld < UINT32_MAX) {
        stream->root->withheld++;
        name_wave(stream->root, frame.wave);
    }
    frame_fini(&frame);
}

/* Front-end: each wave up to `level` has been released, or nothing of it has
 * come and nothing will. Deliver the lost ones as empty packets (4.3b). */
static void pass_waves(struct node *node, struct stream *stream, uint64_t level)
{
    uint64_t over = level & ~(uint64_t)PACKET_WAVE_MASK; /* of this epoch */
    uint64_t named = stream->root->named;

    if (named > stream->root->over && named < over) {
        stream->root->named = 0;
        pass_waves(node, stream, named);
    }
    if (over < stream->root->over)
        over = stream->root->over;
    if (level <= over)
        return;
    deliver(node, stream,
            (struct frame){
                .type = FRAME_DATA,
                .flags = FRAME_EMPTY,
                .stream = stream->definition.id,
                .wave = level,
                .run = level - over,
            });
    stream->root->over = level;
    stream->root->lost_wave = true;
}

void upward_end_epochs(struct node *node, struct stream *stream, uint32_t epoch)
{
    uint64_t begin = (uint64_t)epoch << PACKET_WAVE_BITS;

    if (!stream->definition.waves_only)
        return;
    pass_waves(node, stream, begin);
    if (stream->root->over < begin)
        stream->root->over = begin;
}

/* The parent knows of all waves up to `level`. */
static void raise_level(struct stream *stream, uint64_t level)
{
    if (stream->up.level < level)
        stream->up.level = level;
}

void upward_claim(struct node *node, struct stream *stream)
{
    assert(node->role != NODE_FRONTEND);
    if (fifo_push_settled(&stream->up.out, stream->settle.settled) < 0)
        node->failed = true;
}

void upward_emit(struct node *node, struct stream *stream, struct frame frame)
{
    frame.stream = stream->definition.id;
    if (frame.type == FRAME_DATA && !(frame.flags & FRAME_LATE))
        raise_level(stream, frame.wave);
    if (node->role == NODE_FRONTEND) {
        if (frame.type == FRAME_DATA)
            deliver_packet(node, stream, frame);
        else
            frame_fini(&frame);
        return;
    }
    if (stream->exact && frame.type == FRAME_DATA)
        exact_stamp(node, stream, &frame);
    if (frame.flags & FRAME_COMPENSATING) {
        /* Ahead of the queue; an orphan's own state covers it (9.2). */
        if (node->parent)
            node_send(node, node->parent, frame);
        else
            frame_fini(&frame);
        return;
    }
    if (frame.type == FRAME_RESUME)
        stream->up.resumes++;
    if (fifo_push(frame.flags & FRAME_LATE ? &stream->up.late_out
                                           : &stream->up.out,
                  &frame, 0) < 0)
        node->failed = true;
}

/* Send the head of a queue to the parent. */
static inline void upward_put(struct node *node,
                              struct stream *stream,
                              struct frame frame)
{
    uint32_t epoch = (uint32_t)(frame.wave >> PACKET_WAVE_BITS);

    if (upward_is_charged(&frame) && frame.wave > 0 && stream->up.put <= epoch)
        stream->up.put = 1 + epoch;
    if (stream->exact && frame.type == FRAME_DATA)
        exact_sent(stream, &frame);
    node_send(node, node->parent, frame);
}

/* Late packets never wait for packets on time (3.4). */
static void pump_late_lane(struct node *node, struct stream *stream)
{
    struct frame *head;

    while ((head = fifo_peek(&stream->up.late_out))) {
        if (!credit_allows(&stream->up.late_credit, frame_len(head)))
            return;
        credit_spend(&stream->up.late_credit, frame_len(head));
        upward_put(node, stream, fifo_pop(&stream->up.late_out).frame);
    }
}

/* Claim once the last packet of former members has been sent (10.1b). */
static void claim_if_drained(struct node *node, struct stream *stream)
{
    if (stream->settle.has_sent && !stream->settle.sent.drained &&
        stream_is_drained(node, stream))
        settle_update(node, stream);
}

void upward_pump(struct node *node, struct stream *stream)
{
    struct frame *head;

    if (!node->parent || node->parent->life.state != LINK_UP)
        return;
    if (stream->up.compensating)
        return; /* the filter state goes first (9.1) */
    pump_late_lane(node, stream);
    while ((head = fifo_peek(&stream->up.out))) {
        struct queued next;

        if (upward_is_charged(head)) {
            if (!credit_allows(&stream->up.credit, frame_len(head)))
                return;
            credit_spend(&stream->up.credit, frame_len(head));
        }
        if (head->type == 0 && stream->up.late_out.count > 0)
            return; /* a settled claim covers late packets too */
        next = fifo_pop(&stream->up.out);
        if (next.frame.type == 0) {
            settle_send_claim(node, stream, next.settled);
            continue;
        }
        upward_put(node, stream, next.frame);
        assert(next.frame.type != FRAME_RESUME || stream->up.resumes > 0);
        if (next.frame.type == FRAME_RESUME && --stream->up.resumes == 0)
            settle_update(node, stream);
    }
    if (node->role == NODE_COMMNODE)
        claim_if_drained(node, stream);
}

void upward_grant(struct stream *stream, uint32_t window)
{
    credit_grant(&stream->up.credit, window);
    credit_grant(&stream->up.late_credit, window);
}

uint64_t upward_bytes(const struct stream *stream)
{
    if (stream->exact && stream->exact->tally)
        return tally_bytes(stream->exact->tally);
    return wave_bytes(stream->up.wave);
}

bool upward_is_drained(const struct stream *stream)
{
    /* At the front-end of an exact stream only whole waves matter. */
    return stream->up.out.count == 0 && stream->up.late_out.count == 0 &&
           ((stream->exact && stream->root) || upward_bytes(stream) == 0);
}

inline bool upward_may_release(const struct node *node,
                               const struct stream *stream)
{
    /* During a sync every wave may be released. */
    if (node->role == NODE_FRONTEND)
        return stream->root->sync || stream->closing ||
               stream->app.untaken_bytes < LIMIT_WINDOW_MAX;
    /* The state that is packed next covers the queue (9.1). */
    if (stream->up.compensating)
        return true;
    /* Of aligned waves, packets that are filtered alone use the late lane,
     * except those without a number (5.6). */
    if (stream->definition.sync != COP_DO_NOT_WAIT &&
        wave_has_alone(stream->up.wave) && stream->up.late_out.count == 0)
        return true;
    return stream->up.out.bytes < LIMIT_WINDOW_MAX;
}

/* Send a set up without a filter call. */
static void upward_pass(struct node *node,
                        struct stream *stream,
                        struct wave_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct frame frame = set->frames[i];

        frame.flags &= (uint8_t)~FRAME_LAST;
        if (!set->late)
            frame.wave = set->sequence; /* of a timed set: 4.6 */
        if (i + 1 == set->count && !set->late && set->sequence > 0)
            frame.flags |= FRAME_LAST;
        upward_emit(node, stream, frame);
    }
}

/* Answer a wave with an empty frame (4.2). */
static void emit_empty(struct node *node,
                       struct stream *stream,
                       uint64_t wave,
                       uint32_t contributors)
{
    if (stream->definition.sync != COP_WAIT_FOR_ALL || wave == 0)
        return;
    upward_emit(node, stream,
                (struct frame){
                    .type = FRAME_DATA,
                    .flags = FRAME_EMPTY | FRAME_LAST,
                    .origin = node->rank,
                    .contributors = contributors,
                    .wave = wave,
                });
}

void node_begin_call(struct node *node)
{
    assert(!node->filter.is_out);
    node->filter.is_out = true;
    node->filter.expired = false;
    node->filter.late = false;
    node->filter.newcomer = false;
    node->filter.compensating = false;
    node->filter.credit = 0;
    node->filter.since_ms = node->now_ms;
    node->filter.deadline_ms = node->now_ms + node->times.filter_timeout_ms;
}

bool node_is_filtering(const struct node *node,
                       uint32_t *stream,
                       uint64_t *since_ms)
{
    if (!node->filter.is_out)
        return false;
    *stream = node->filter.what.stream;
    *since_ms = node->filter.since_ms;
    return true;
}

/* Have the upstream filter called with `set`. */
static void upward_call(struct node *node,
                        struct stream *stream,
                        struct wave_set *set)
{
    node_begin_call(node);
    node->filter.late = set->late;
    node->filter.newcomer = set->newcomer;
    node->filter.compensating = set->compensating;
    node->filter.what = (struct node_call){
        .stream = stream->definition.id,
        .upward = true,
        .sequence = set->sequence,
        .contributors = set->contributors,
        .child_count = node_child_count(node),
        .parameters = node_call_parameters(node, stream, 0),
        .inputs = set->frames,
        .inlets = set->inlets,
        .input_count = set->count,
        .slots = stream->totals ? CALL_JOIN : CALL_WITHOUT_SLOTS,
        .keys = set->slots,
    };
    node_act(node, ACTION_FILTER)->call = &node->filter.what;
}

inline void upward_release(struct node *node,
                           struct stream *stream,
                           struct wave_set *set)
{
    if (set->count == 0)
        emit_empty(node, stream, set->late ? 0 : set->sequence,
                   set->contributors);
    else if (stream->filters.up &&
             (set->count > 1 || stream->filters.up_single))
        upward_call(node, stream, set);
    else
        upward_pass(node, stream, set);
}

void upward_resume(struct node *node, struct stream *stream, uint64_t level)
{
    stream->up.counted = true;
    raise_level(stream, level);
    upward_emit(node, stream,
                msg_resume_encode(&(struct msg_resume){
                    .generation = stream->exact ? stream->exact->generation : 0,
                    .level = level,
                }));
}

/* Waves at the end of an epoch were lost: they keep their places, also if their
 * children have gone on to a later epoch (4.3b). */
static void pass_ended(struct node *node, struct stream *stream)
{
    uint64_t ended;

    if (node->role == NODE_BACKEND || stream->totals ||
        stream->definition.sync != COP_WAIT_FOR_ALL ||
        (stream->root && !stream->definition.waves_only))
        return;
    while ((ended = wave_ended(stream->up.wave)) > 0) {
        wave_skip(stream->up.wave, ended);
        if (stream->root)
            pass_waves(node, stream, ended);
        else if (stream->up.level < ended)
            upward_resume(node, stream, ended);
    }
}

/* Waves were skipped: send RESUME if no packet tells the parent where the count
 * begins (4.5); the front-end tells the application. */
static void resume_if_skipped(struct node *node, struct stream *stream)
{
    uint64_t level;

    if (node->role == NODE_BACKEND || !wave_is_counted(stream->up.wave))
        return;
    level = wave_level(stream->up.wave);
    if (stream->root) {
        /* The begin of an epoch is no wave: an orphan may name earlier ones. */
        if (stream->definition.waves_only && (level & PACKET_WAVE_MASK) > 0 &&
            upward_may_release(node, stream) &&
            !wave_holds(stream->up.wave, level)) {
            wave_skip(stream->up.wave, level);
            pass_waves(node, stream, level);
        }
        return;
    }
    if (stream->up.counted &&
        (level <= stream->up.level || (level & PACKET_WAVE_MASK) == 0 ||
         stream->definition.sync != COP_WAIT_FOR_ALL))
        return;
    if (wave_holds(stream->up.wave, level))
        return;
    upward_resume(node, stream, level);
}

bool upward_is_idle(const struct node *node, const struct stream *stream)
{
    return !(node->filter.is_out &&
             node->filter.what.stream == stream->definition.id);
}

bool upward_is_behind(const struct node *node,
                      const struct stream *stream,
                      uint32_t epoch)
{
    const struct filter_call *call = &node->filter;

    return !upward_is_idle(node, stream) &&
           (stream->definition.sync != COP_WAIT_FOR_ALL || call->late ||
            !call->what.upward ||
            call->what.sequence >> PACKET_WAVE_BITS < epoch);
}

static void release_sets(struct node *node, struct stream *stream)
{
    struct wave_set set;
    bool hurry = stream->settle.hurried > stream->settle.settled.number;
    int r;

    if (stream->root && !stream->totals && !node->filter.is_out &&
        stream->root->state_asked > stream->root->state_called)
        upward_call_for_state(node, stream);
    while (stream->loaded && upward_may_release(node, stream)) {
        if (stream->up.compensating && !node->filter.is_out) {
            upward_call_for_state(node, stream);
            break;
        }
        if (node->filter.is_out &&
            (stream->filters.up || stream->filters.down ||
             stream->up.compensating)) {
            stream->queued = true;
            break;
        }
        if (upward_is_idle(node, stream))
            pass_ended(node, stream);
        r = wave_take(stream->up.wave, node->now_ms, hurry, &set);
        if (r < 0)
            node->failed = true;
        if (r <= 0)
            break;
        return_credit_of_set(node, stream, &set);
        if (stream->definition.waves_only && !set.late && set.sequence > 0) {
            pass_waves(node, stream, set.sequence - 1);
            stream->root->over = set.sequence;
        }
        if (stream->totals)
            totals_sort(node, stream, &set);
        upward_release(node, stream, &set);
    }
}

void upward_run(struct node *node, struct stream *stream)
{
    if (stream->exact && node->role != NODE_BACKEND) {
        exact_run(node, stream);
        return;
    }
    if (stream->totals && totals_are_due(node, stream))
        node_due(node, stream, DUE_TOTAL);
    else
        release_sets(node, stream);
    upward_lend(node, stream);
    if (upward_is_idle(node, stream))
        resume_if_skipped(node, stream);
    settle_try(node, stream);
    upward_pump(node, stream);
}

uint64_t upward_deadline_ms(const struct node *node,
                            const struct stream *stream)
{
    if (!stream->loaded || node->filter.is_out ||
        !upward_may_release(node, stream) ||
        (stream->totals && totals_wait(stream)))
        return UINT64_MAX;
    return wave_deadline_ms(stream->up.wave);
}

void upward_run_queued(struct node *node)
{
    uint32_t id;

    for (size_t i = 0; i < node->stream_count && !node->filter.is_out; i++) {
        struct stream *stream = node->streams[i];

        if (!stream->queued)
            continue;
        stream->queued = false;
        id = stream->definition.id;
        downward_run(node, stream);
        if (node_stream(node, id) == stream)
            upward_run(node, stream);
        else
            i--; /* the stream was closed and removed */
    }
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

int upward_take(struct node *node,
                struct stream *stream,
                struct peer *peer,
                struct frame *frame)
{
    struct branch *branch;
    int r;

    if (stream->exact)
        return exact_take(node, stream, peer, frame);
    branch = stream_branch(stream, peer->slot);
    r = branch ? 0 : -ENOMEM;
    if (frame->flags & (FRAME_EXACT | FRAME_OVER | FRAME_ASK))
        r = node_refuse(node, "its stream is not exact");
    if (is_given_up(node, stream, frame))
        return upward_discard(node, stream, peer, frame);
    if (stream->totals && (frame->flags & FRAME_COMPENSATING)) {
        frame_fini(frame);
        return node_refuse(node, "a cumulative stream has no compensations");
    }
    if (r == 0 && upward_is_charged(frame))
        r = debit_take(frame->flags & FRAME_LATE ? &branch->late : &branch->up,
                       peer->grant, frame_len(frame));
    if (r == 0 && peer->role == NODE_BACKEND &&
        wave_lent(stream->up.wave, peer->slot) > LIMIT_FRAME)
        r = node_refuse(node, "its wave is larger than any packet may be");
    if (r < 0) {
        frame_fini(frame);
        return r;
    }
    if (wave_put(stream->up.wave, peer->slot, peer->rank, frame,
                 upward_is_charged(frame) ? (uint32_t)frame_len(frame) : 0,
                 node->now_ms) < 0)
        node->failed = true;
    upward_run(node, stream);
    return 0;
}

int upward_discard(struct node *node,
                   struct stream *stream,
                   struct peer *peer,
                   struct frame *frame)
{
    struct branch *branch = stream_branch(stream, peer->slot);
    bool late = frame->flags & FRAME_LATE;
    int r = branch ? 0 : -ENOMEM;

    if (r == 0 && upward_is_charged(frame)) {
        r = debit_take(late ? &branch->late : &branch->up, peer->grant,
                       frame_len(frame));
        if (r == 0)
            upward_return_credit(node, stream, peer, late, frame_len(frame));
    }
    frame_fini(frame);
    return r;
}

void upward_close(struct node *node, struct stream *stream)
{
    if (stream->exact) {
        exact_close(node, stream);
        return;
    }
    for (uint32_t slot = 0; slot < stream->branch_count; slot++)
        if (node_child(node, slot))
            upward_leave(node, stream, slot);
}

bool upward_accepts(const struct node *node,
                    const struct stream *stream,
                    size_t len)
{
    return node->parent && node->parent->life.state == LINK_UP &&
           stream->loaded && stream->up.out.count == 0 &&
           (!stream->exact || retain_accepts(node, stream)) &&
           wave_bytes(stream->up.wave) == 0 &&
           credit_allows(&stream->up.credit,
                         len + (stream->exact ? FRAME_EXACT_LEN : 0));
}

/* Send a back-end's packet. The queue is empty and there is credit, as
 * upward_accepts() has found, so the packet goes past the queue. */
static void send_packet(struct node *node,
                        struct stream *stream,
                        struct frame packet)
{
    if (stream->up.compensating) {
        upward_emit(node, stream, packet);
        return;
    }
    raise_level(stream, packet.wave);
    if (stream->exact)
        retain_put(node, stream, &packet);
    credit_spend(&stream->up.credit, frame_len(&packet));
    upward_put(node, stream, packet);
}

int upward_send(struct node *node, struct stream *stream, struct frame *frame)
{
    struct frame packet = {
        .type = FRAME_DATA,
        .flags = FRAME_LAST,
        .stream = stream->definition.id,
        .tag = frame->tag,
        .origin = node->rank,
        .contributors = 1,
        .payload = frame->payload,
    };

    if (!stream->active || stream->closing)
        return -ENOENT;
    if (!upward_accepts(node, stream, frame_len(frame)))
        return -EAGAIN;
    if (stream->up.newcomer)
        packet.flags |= FRAME_NEWCOMER;
    frame->payload = NULL;
    packet.wave =
        ((uint64_t)stream->up.epoch << PACKET_WAVE_BITS) + ++stream->up.count;
    if (stream->filters.up && stream->filters.up_single) {
        if (wave_put(stream->up.wave, 0, node->rank, &packet, 0, node->now_ms) <
            0)
            node->failed = true;
        upward_run(node, stream);
    } else {
        send_packet(node, stream, packet);
    }
    return 0;
}

void upward_fault(struct node *node,
                  enum fault_kind kind,
                  uint32_t stream,
                  const char *text)
{
    struct msg_fault fault = {
        .kind = (int32_t)kind,
        .stream = stream,
        .reporter = node->rank,
    };
    char said[LIMIT_TEXT];

    if (node->role == NODE_FRONTEND) {
        node_tell(node, TELL_FILTER_ERROR, node->rank, stream, text);
        return;
    }
    if (!node->parent)
        return;
    snprintf(said, sizeof(said), "%s", text);
    if (packet_pack(&fault.payload, "%s", said) < 0) {
        node->failed = true;
        return;
    }
    node_send(node, node->parent, msg_fault_encode(&fault));
}

/* Send the output of a filter: `count` frames with tag and payload. */
static void emit_outputs(struct node *node,
                         struct stream *stream,
                         struct frame *frames,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct frame frame = {
            .type = FRAME_DATA,
            .tag = frames[i].tag,
            .origin = node->rank,
            .contributors =
                node->filter.compensating ? 0 : node->filter.what.contributors,
            .wave = node->filter.what.sequence,
            .payload = frames[i].payload,
        };

        frames[i].payload = NULL;
        if (node->filter.newcomer || stream->up.newcomer)
            frame.flags |= FRAME_NEWCOMER;
        if (node->filter.compensating)
            frame.flags |= FRAME_COMPENSATING;
        else if (node->filter.late)
            frame.flags |= FRAME_LATE;
        else if (i + 1 == count && frame.wave > 0)
            frame.flags |= FRAME_LAST;
        upward_emit(node, stream, frame);
    }
}

void upward_drop_inputs(struct node *node)
{
    for (size_t i = 0; i < node->filter.what.input_count; i++)
        frame_fini(&node->filter.what.inputs[i]);
    node->filter.what.input_count = 0;
}

int upward_count(struct stream *stream, const struct peer *peer, uint64_t level)
{
    const struct branch *branch = stream_branch(stream, peer->slot);

    if (!branch)
        return -ENOMEM;
    if (branch->members.count == 0)
        return 0; /* its members have left since (4.5) */
    return wave_join(stream->up.wave, peer->slot, peer->rank, level);
}

void upward_filtered(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, node->filter.what.stream);

    upward_drop_inputs(node);
    if (stream && stream->totals && node->filter.expired)
        totals_missed(node, stream);
    if (!stream || node->filter.expired)
        return;
    if (node->filter.what.state || node->filter.what.slots == CALL_PACK) {
        upward_send_state(node, stream, event);
        return;
    }
    if (event->text)
        upward_fault(node, FAULT_FILTER, stream->definition.id, event->text);
    if (stream->exact && exact_is_stale(node, stream))
        return; /* a redo has begun during the call (16.8) */
    if (event->up_count > 0)
        emit_outputs(node, stream, event->up, event->up_count);
    else
        emit_empty(node, stream,
                   node->filter.late ? 0 : node->filter.what.sequence,
                   node->filter.what.contributors);
    for (size_t i = 0; i < event->down_count; i++) {
        struct frame frame = {
            .type = FRAME_DATA,
            .tag = event->down[i].tag,
            .origin = node->rank,
            .payload = event->down[i].payload,
        };

        event->down[i].payload = NULL;
        downward_aside(node, stream, frame);
    }
}

/* The call takes too long. A commnode ends, as all its streams would wait for
 * the call; elsewhere the wave continues without it. */
void upward_expire(struct node *node)
{
    struct stream *stream = node_stream(node, node->filter.what.stream);
    bool ends = node->role == NODE_COMMNODE;
    bool opens = node->filter.what.init && stream && !stream->loaded;
    char text[LIMIT_TEXT];

    node->filter.expired = true;
    node->filter.deadline_ms = UINT64_MAX;
    snprintf(text, sizeof(text),
             "node %u: a filter call of stream %u lasts longer than "
             "filter_timeout, %u ms; %s",
             node->rank, node->filter.what.stream,
             node->times.filter_timeout_ms,
             ends ? "the node ends, its children find other parents"
                  : "the calls of all streams wait for it there");
    if (ends || !opens)
        upward_fault(node, ends ? FAULT_HUNG : FAULT_FILTER,
                     node->filter.what.stream, text);
    if (ends) {
        launch_break(node, text);
        return;
    }
    if (opens)
        node_filters_inited(node, stream, text);
    if (node->filter.what.init)
        return;
    if (!stream)
        return;
    if (node->filter.what.state && node->role == NODE_FRONTEND)
        upward_tell_state(node, stream, NULL, -ETIMEDOUT);
    if (node->filter.what.upward)
        emit_empty(node, stream,
                   node->filter.late ? 0 : node->filter.what.sequence,
                   node->filter.what.contributors);
    upward_pump(node, stream);
}

/* A back-end: the application has processed all packets before the marker
 * (10.6). The packets that it sent until now are ahead of the claim. */
void upward_settle(struct node *node, struct stream *stream)
{
    struct mark marker = fifo_pop(&stream->app.markers).settled;

    if (stream->exact)
        retain_settle(node, stream, marker);
    stream->settle.settled = marker;
    stream->up.epoch = marker.epoch;
    stream->up.count = 0;
    stream->up.newcomer = false;
    node->markers -= stream->app.markers.count == 0;
    upward_claim(node, stream);
    upward_pump(node, stream);
}
