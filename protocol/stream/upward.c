/* upward.c - packets on their way up: waves, filter calls, credit. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
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
        struct peer *peer = node_child(node, set->links[i]);

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

/* The parent knows of all waves up to `level`. */
static void raise_level(struct stream *stream, uint64_t level)
{
    uint64_t before = stream->up.level;

    if (before >= level)
        return;
    if (before >> PACKET_WAVE_BITS < level >> PACKET_WAVE_BITS &&
        (before & PACKET_WAVE_MASK) > 0)
        stream->up.ended = before;
    stream->up.level = level;
}

void upward_begin(struct node *node, struct stream *stream)
{
    stream->up.counted =
        node->role != NODE_COMMNODE || wave_is_counted(stream->up.wave);
}

void upward_enter(struct stream *stream, uint32_t epoch, bool newcomer)
{
    stream->up.counted = false;
    stream->up.epoch = epoch;
    stream->up.newcomer = newcomer;
}

void upward_begin_epoch(struct stream *stream, uint32_t epoch)
{
    stream->up.epoch = epoch;
    stream->up.count = 0;
    stream->up.newcomer = false;
}

void upward_uncount(struct stream *stream)
{
    stream->up.counted = false;
}

void upward_recount(const struct node *node, struct stream *stream)
{
    stream->up.counted =
        node->role == NODE_BACKEND || stream_has_members(node, stream);
    if (stream->up.counted)
        settle_counted(stream);
}

void upward_hold(struct stream *stream, bool hold)
{
    stream->up.compensating = hold;
}

void upward_drop_queue(struct stream *stream)
{
    fifo_fini(&stream->up.out);
    fifo_fini(&stream->up.late_out);
    stream->up.resumes = 0;
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
            deliver_upward(node, stream, frame);
        else
            frame_fini(&frame);
        return;
    }
    if (stream->kind->stamp && frame.type == FRAME_DATA)
        stream->kind->stamp(node, stream, &frame);
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
    if (stream->kind->sent && frame.type == FRAME_DATA)
        stream->kind->sent(stream, &frame);
    if (frame.type == FRAME_DATA && frame.wave > 0 &&
        !(frame.flags & FRAME_LATE))
        stream->up.split = !(frame.flags & FRAME_LAST);
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
    return stream->kind->bytes ? stream->kind->bytes(stream)
                               : wave_bytes(stream->up.wave);
}

bool upward_is_drained(const struct stream *stream)
{
    /* Where a sync returns by wave only whole waves matter at the front-end. */
    return stream->up.out.count == 0 && stream->up.late_out.count == 0 &&
           ((stream->kind->syncs_by_wave && stream->root) ||
            upward_bytes(stream) == 0);
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

void upward_resume(struct node *node,
                   struct stream *stream,
                   struct wave_number level)
{
    stream->up.counted = true;
    settle_counted(stream);
    raise_level(stream, level.wave);
    upward_emit(node, stream,
                msg_resume_encode(&(struct msg_resume){
                    .generation = level.generation,
                    .level = level.wave,
                }));
}

/* The highest wave at the end of an epoch that was lost and has no place yet;
 * 0: none. It keeps its place, also if its children have gone on to a later epoch
 * (4.3b). */
static uint64_t ended_wave(const struct node *node, const struct stream *stream)
{
    if (node->role == NODE_BACKEND || !stream->kind->is_lossy ||
        stream->definition.sync != COP_WAIT_FOR_ALL ||
        (stream->root && !stream->definition.waves_only))
        return 0;
    return wave_ended(stream->up.wave);
}

static void pass_ended(struct node *node, struct stream *stream)
{
    uint64_t ended;

    while ((ended = ended_wave(node, stream)) > 0) {
        wave_skip(stream->up.wave, ended);
        if (stream->root)
            deliver_lost(node, stream, ended);
        else if (stream->up.level < ended)
            upward_resume(node, stream, (struct wave_number){.wave = ended});
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
            deliver_lost(node, stream, level);
        }
        return;
    }
    if (stream->up.counted &&
        (level <= stream->up.level || (level & PACKET_WAVE_MASK) == 0 ||
         stream->definition.sync != COP_WAIT_FOR_ALL))
        return;
    if (wave_holds(stream->up.wave, level))
        return;
    upward_resume(node, stream, (struct wave_number){.wave = level});
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

    if (ended_wave(node, stream) > 0)
        return true;
    return !upward_is_idle(node, stream) &&
           (stream->definition.sync != COP_WAIT_FOR_ALL || call->late ||
            !call->what.upward ||
            call->what.sequence >> PACKET_WAVE_BITS < epoch);
}

void upward_release_sets(struct node *node, struct stream *stream)
{
    struct wave_set set;
    bool hurry = stream->settle.hurried > stream->settle.settled.number;
    int r;

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
            deliver_lost(node, stream, set.sequence - 1);
            stream->root->over = set.sequence;
            stream->root->skips = false;
        }
        if (stream->kind->sort)
            stream->kind->sort(node, stream, &set);
        upward_release(node, stream, &set);
    }
}

void upward_go_on(struct node *node, struct stream *stream)
{
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
        (stream->kind->waits && stream->kind->waits(stream)))
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

bool upward_accepts(const struct node *node,
                    const struct stream *stream,
                    size_t len)
{
    return node->parent && node->parent->life.state == LINK_UP &&
           stream->loaded && stream->up.out.count == 0 &&
           (!stream->kind->accepts || stream->kind->accepts(node, stream)) &&
           wave_bytes(stream->up.wave) == 0 &&
           credit_allows(&stream->up.credit, len + stream->kind->extra_len);
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
    if (stream->kind->stamp)
        stream->kind->stamp(node, stream, &packet);
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
    if (stream->error && stream->totals) /* no filter joins it here (17.10) */
        stream->totals->used = true;
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

/* ---- the parent ---- */

void upward_orphaned(struct node *node, struct stream *stream, uint32_t parent)
{
    memset(&stream->up.credit, 0, sizeof(stream->up.credit));
    memset(&stream->up.late_credit, 0, sizeof(stream->up.late_credit));
    downward_orphaned(node, stream);
    settle_orphaned(stream);
    if (stream->definition.id == 0) {
        node->claims = 0;
        node->gained_at = 1;
    }
    upward_hold(stream, false);
    stream->kind->orphaned(node, stream, parent);
}

void upward_adopted(struct node *node, struct stream *stream)
{
    if (!stream->active)
        return;
    downward_ask(node, stream);
    if (stream->definition.id == 0 || !stream->loaded) {
        if (stream->definition.id != 0)
            stream->kind->count_anew(node, stream);
        settle_update(node, stream);
        return;
    }
    if (stream->filters.recoverable) {
        upward_hold(stream, true);
        upward_run(node, stream);
    } else if (node->role == NODE_COMMNODE && stream_is_drained(node, stream)) {
        /* the adopter may expect members that have left since it was asked */
        settle_send_claim(node, stream, (struct mark){0});
    } else {
        stream->kind->adopted(node, stream);
    }
}
