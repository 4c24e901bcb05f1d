/* downward.c - packets and control on their way down. */
#include <errno.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/destinations.h"
#include "wire/packet.h"

/* A back-end sends FEED when it has a new parent, and when it becomes a member:
 * each at most once for a link and stream. */
#define LEAF_FEEDS 2

bool stream_is_replayable(const struct stream *stream)
{
    return !stream->filters.down || stream->filters.down_one_to_one;
}

/* Whether the child `peer` gets packets of this stream now. */
static bool is_fed(const struct node *node,
                   const struct stream *stream,
                   const struct peer *peer)
{
    const struct branch *control;

    if (peer->life.state != LINK_UP || !peer->ready ||
        peer->slot >= stream->branch_count)
        return false;
    if (!stream->branches[peer->slot].fed)
        return false;
    if (stream->definition.id == 0)
        return true;
    control = &node->streams[0]->branches[peer->slot];
    return stream->branches[peer->slot].members.count > 0 &&
           control->cursor >= stream->opened_at;
}

/* Send packets without a number: those of an upstream filter (5.6). */
static void pump_aside(struct node *node,
                       struct branch *branch,
                       struct peer *peer)
{
    struct frame *head;

    while ((head = fifo_peek(&branch->aside))) {
        if (!credit_allows(&branch->down, frame_len(head)))
            return;
        credit_spend(&branch->down, frame_len(head));
        node_send(node, peer, fifo_pop(&branch->aside).frame);
    }
}

void downward_pump_child(struct node *node,
                         struct stream *stream,
                         uint32_t slot)
{
    struct peer *peer = node_child(node, slot);
    struct branch *branch;
    struct queued *stored;

    if (!peer || !is_fed(node, stream, peer))
        return;
    branch = &stream->branches[slot];
    while ((stored = feed_at(&stream->down.feed, branch->cursor + 1))) {
        const struct frame *next = &stored->frame;
        struct frame frame;
        uint64_t behind = 0;

        if ((next->type == FRAME_SKIP || next->flags & FRAME_SOME) &&
            skip_passes(peer, next)) {
            skip_note(node, stream, branch, peer, next);
            continue;
        }
        /* the cursor of a joining child may be below stable */
        if (next->number > stream->down.feed.stable)
            behind = next->number - stream->down.feed.stable;
        if (downward_is_charged(next)) {
            if (!credit_allows(&branch->down, frame_len(next)))
                break;
            credit_spend(&branch->down, frame_len(next));
        }
        skip_send(node, stream, branch, peer);
        branch->unasked += frame_len(next);
        frame = frame_ref(next);
        frame.behind = behind > UINT32_MAX ? UINT32_MAX : (uint32_t)behind;
        branch->cursor++;
        node_send(node, peer, frame);
    }
    if (branch->aside.count > 0)
        pump_aside(node, branch, peer);
}

void downward_return_credit(struct node *node,
                            struct stream *stream,
                            size_t len)
{
    uint32_t back;

    if (!node->parent || len == 0)
        return;
    stream->down.debit.window = node->parent->grant;
    back = debit_consume(&stream->down.debit, len);
    if (back > 0)
        node_send(node, node->parent,
                  msg_credit_encode(&(struct msg_credit){
                      .stream = stream->definition.id,
                      .sender = node->rank,
                      .bytes = back,
                  }));
}

void downward_begin(struct stream *stream, uint64_t number)
{
    stream->down.last = number;
    stream->down.passed = number;
}

void downward_source(const struct node *node, struct stream *stream)
{
    stream->down.sourced = stream_has_members(node, stream);
}

void downward_restart(struct node *node, struct stream *stream, uint64_t number)
{
    for (uint32_t i = 0; i < stream->down.feed.store.count; i++)
        downward_return_credit(node, stream,
                               fifo_at(&stream->down.feed.store, i)->credit);
    /* Packets without a number are not retransmitted: keep them. */
    for (uint32_t i = stream->down.in.count; i > 0; i--) {
        struct queued waits = fifo_pop(&stream->down.in);

        if (waits.frame.number == 0) {
            if (fifo_push(&stream->down.in, &waits.frame, waits.credit) < 0)
                node->failed = true;
            continue;
        }
        downward_return_credit(node, stream, waits.credit);
        frame_fini(&waits.frame);
    }
    feed_restart(&stream->down.feed, number);
    downward_begin(stream, number);
}

void downward_snapshot(const struct node *node,
                       struct stream *stream,
                       uint64_t number)
{
    stream->down.refeeding = false;
    downward_begin(stream, number);
    if (node->role != NODE_COMMNODE)
        return;
    feed_restart(&stream->down.feed, number);
    stream->down.feed.stable = number; /* it has none of the packets either */
    stream->down.stable_due = true;
}

void downward_taken(struct node *node, struct stream *stream, size_t len)
{
    if (len > stream->down.unreturned || stream->app.untaken == 0)
        len = stream->down.unreturned;
    stream->down.unreturned -= len;
    downward_return_credit(node, stream, len);
}

void downward_drop(struct node *node, struct stream *stream)
{
    deliver_drop(stream);
    downward_taken(node, stream, 0);
}

/* The lowest cursor of the children that get packets. */
static uint64_t lowest_cursor(const struct node *node,
                              const struct stream *stream)
{
    uint64_t low = feed_last(&stream->down.feed);

    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = &stream->branches[slot];
        const struct peer *peer = node_child(node, slot);

        if (!peer || !branch->fed || branch->cursor >= low)
            continue;
        if (branch->members.count > 0 ||
            (stream->definition.id == 0 && peer->ready))
            low = branch->cursor;
    }
    return low;
}

void downward_passed(struct node *node, struct stream *stream)
{
    uint64_t low = lowest_cursor(node, stream), upto;

    while (stream->down.passed < low) {
        const struct queued *stored =
            feed_at(&stream->down.feed, ++stream->down.passed);

        if (stored)
            downward_return_credit(node, stream, stored->credit);
    }
    upto = low;
    if (stream_is_replayable(stream) && stream->down.feed.stable < upto)
        upto = stream->down.feed.stable;
    feed_drop(&stream->down.feed, upto);
}

bool downward_is_filtering(const struct node *node, const struct stream *stream)
{
    return node->filter.is_out && !node->filter.what.upward &&
           node->filter.what.stream == stream->definition.id;
}

void downward_orphaned(struct node *node, struct stream *stream)
{
    memset(&stream->down.debit, 0, sizeof(stream->down.debit));
    stream->down.unreturned = 0;
    for (uint32_t i = 0; i < stream->down.feed.store.count; i++)
        fifo_at(&stream->down.feed.store, i)->credit = 0;
    for (uint32_t i = 0; i < stream->down.in.count; i++)
        fifo_at(&stream->down.in, i)->credit = 0;
    if (downward_is_filtering(node, stream))
        node->filter.credit = 0;
}

void downward_pump(struct node *node, struct stream *stream)
{
    for (uint32_t slot = 0; slot < stream->branch_count; slot++)
        downward_pump_child(node, stream, slot);
    downward_passed(node, stream);
}

void downward_aside(struct node *node,
                    struct stream *stream,
                    struct frame frame)
{
    frame.stream = stream->definition.id;
    frame.number = 0;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        struct branch *branch = &stream->branches[slot];
        struct frame copy;

        if (branch->members.count == 0)
            continue;
        copy = frame_ref(&frame);
        if (fifo_push(&branch->aside, &copy, 0) < 0)
            node->failed = true;
        downward_pump_child(node, stream, slot);
    }
    frame_fini(&frame);
}

/* Back-end: note a marker where it is among the packets. Of those with no packet
 * between them the last one is enough. */
static void note_marker(struct node *node,
                        struct stream *stream,
                        struct mark marker)
{
    struct fifo *markers = &stream->app.markers;
    struct queued *last =
        markers->count > 0 ? fifo_at(markers, markers->count - 1) : NULL;

    if (last && last->frame.number == stream->app.delivered) {
        last->settled = marker;
        return;
    }
    if (fifo_push_settled(markers, marker) < 0) {
        node->failed = true;
        return;
    }
    fifo_at(markers, markers->count - 1)->frame.number = stream->app.delivered;
    node->markers += markers->count == 1;
}

/* Back-end: the packet alone, without its destinations. */
static void strip(struct node *node, struct frame *frame)
{
    struct payload *packet = NULL;

    if (destinations_cut(&packet, frame->payload) < 0)
        node->failed = true;
    frame_fini(frame);
    frame->payload = packet;
    frame->flags &= (uint8_t)~FRAME_SOME;
}

void downward_note_epoch(struct stream *stream, uint32_t epoch)
{
    if (stream->down.epoch < epoch)
        stream->down.epoch = epoch;
}

static void note_marker_epoch(struct stream *stream, const struct frame *frame)
{
    struct msg_marker marker;

    if (frame->type == FRAME_MARKER && msg_marker_decode(frame, &marker) == 0)
        downward_note_epoch(stream, marker.epoch);
}

void downward_commit(struct node *node,
                     struct stream *stream,
                     struct frame frame,
                     uint32_t credit)
{
    note_marker_epoch(stream, &frame);
    if (node->role != NODE_BACKEND) {
        /* Retained packets need no credit: 3.5 bounds them (3.4). */
        if (stream_is_replayable(stream)) {
            journal_add(node, &frame);
            downward_return_credit(node, stream, credit);
            credit = 0;
        }
        /* -EPROTO: the feed was restarted and does not need this packet */
        if (feed_push(&stream->down.feed, &frame, credit) == -ENOMEM)
            node->failed = true;
        downward_pump(node, stream);
        return;
    }
    stream->down.passed = frame.number;
    stream->down.unreturned += credit;
    if (node->leaving)
        downward_drop(node, stream);
    if (frame.type == FRAME_MARKER) {
        struct msg_marker marker;

        msg_marker_decode(&frame, &marker);
        note_marker(node, stream, (struct mark){marker.number, marker.epoch});
        if (stream->kind->marker &&
            stream->kind->marker(node, stream, &frame) &&
            stream->app.markers.count > 0)
            settle_marker(node, stream);
        settle_try(node, stream);
    } else if (frame.type == FRAME_DATA && !(frame.flags & FRAME_EMPTY) &&
               !node->leaving) {
        if (frame.flags & FRAME_SOME)
            strip(node, &frame);
        deliver_frame(node, stream, frame);
        return;
    }
    frame_fini(&frame);
}

void downward_set_stable(struct node *node,
                         struct stream *stream,
                         uint64_t number)
{
    if (number <= stream->down.feed.stable || number > stream->down.last)
        return;
    stream->down.feed.stable = number;
    stream->down.stable_due = true;
    downward_passed(node, stream);
}

void downward_tell_stable(struct node *node,
                          struct peer *peer,
                          const struct stream *stream)
{
    node_send(node, peer,
              msg_stable_encode(&(struct msg_stable){
                  .stream = stream->definition.id,
                  .sender = node->rank,
                  .number = stream->down.feed.stable,
              }));
}

/* Tell the commnodes below: no packet may follow with the number. */
void downward_beat(struct node *node, struct stream *stream)
{
    if (!stream->down.stable_due || !stream_is_replayable(stream))
        return;
    stream->down.stable_due = false;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        struct peer *peer = node_child(node, slot);
        const struct branch *branch = &stream->branches[slot];

        if (peer && peer->ready && peer->role == NODE_COMMNODE &&
            branch->cursor >= stream->down.feed.stable &&
            (branch->members.count > 0 || stream->definition.id == 0))
            downward_tell_stable(node, peer, stream);
    }
}

/* PROTOCOL 10.5: skip to `stable`, with the children. A node is behind the
 * stable number when a new parent feeds it, or when its members have moved to
 * other parents while it was silent. */
void downward_lift(struct node *node, struct stream *stream, uint64_t stable)
{
    if (node->role != NODE_COMMNODE || stream->definition.id == 0 ||
        stable <= stream->down.last)
        return;
    downward_restart(node, stream, stable);
    for (uint32_t slot = 0; slot < stream->branch_count; slot++)
        if (stream->branches[slot].cursor < stable) {
            stream->branches[slot].cursor = stable;
            stream->branches[slot].skipped = 0;
        }
}

void downward_stable(struct node *node, struct stream *stream, uint64_t number)
{
    if (stream_is_replayable(stream))
        downward_lift(node, stream, number);
    downward_set_stable(node, stream, number);
    settle_update(node, stream);
    upward_run(node, stream);
    downward_pending(node, stream);
}

/* A child asks for the packets after `from`. Stable packets are not
 * retransmitted: the child starts after them, and is told the stable number, as
 * no packet may follow that carries it (PROTOCOL 10.5). Returns the number
 * after which the child starts. */
static uint64_t begin_stable(struct node *node,
                             struct peer *peer,
                             const struct stream *stream,
                             uint64_t from)
{
    uint64_t stable = stream->down.feed.stable;

    if (from >= stable)
        return from;
    if (peer->role == NODE_COMMNODE && stream_is_replayable(stream))
        downward_tell_stable(node, peer, stream);
    return stable;
}

int downward_take(struct node *node, struct stream *stream, struct frame *frame)
{
    uint64_t number = frame->number;
    uint32_t behind = frame->behind;

    frame->behind = 0; /* set again for each child */
    if (frame->type == FRAME_CONTROL && number == 0)
        return zero_take(node, frame);
    if ((number == 0 && !downward_is_charged(frame)) ||
        ((frame->flags & FRAME_SOME) &&
         !destinations_are_there(frame->payload))) {
        frame_fini(frame);
        return -EPROTO; /* markers and empty answers have a number */
    }
    if (downward_is_charged(frame) && node->parent &&
        debit_take(&stream->down.debit, node->parent->grant, frame_len(frame)) <
            0) {
        frame_fini(frame);
        return -EPROTO;
    }
    if (behind < number)
        downward_lift(node, stream, number - behind);
    if (number > 0) { /* PROTOCOL 10.5: the next packet, or a duplicate */
        if (number <= stream->down.last ||
            (stream->down.refeeding && number != stream->down.last + 1)) {
            /* a duplicate, or sent before the parent read FEED */
            if (downward_is_charged(frame))
                downward_return_credit(node, stream, frame_len(frame));
            frame_fini(frame);
            return 0;
        }
        if (number != stream->down.last + 1 || behind > number) {
            frame_fini(frame);
            if (node->role == NODE_BACKEND && number > stream->down.last) {
                launch_end(node, "a packet is missing before one that came");
                return 0; /* PROTOCOL 11.2 */
            }
            return -EPROTO;
        }
        stream->down.refeeding = false;
        stream->down.last = number;
        if (stream_is_replayable(stream) && node->role != NODE_BACKEND)
            downward_set_stable(node, stream, number - behind);
    }
    if (frame->type == FRAME_CONTROL)
        return zero_take(node, frame);
    if (node->role == NODE_BACKEND)
        stream->settle.unclaimed += frame_len(frame);
    if (number == 0 && stream->loaded && !stream->filters.down) {
        struct frame aside = *frame;

        frame->payload = NULL;
        downward_return_credit(node, stream, frame_len(&aside));
        if (node->role == NODE_BACKEND) {
            uint64_t passed = stream->down.passed;

            downward_commit(node, stream, aside, 0);
            stream->down.passed = passed;
        } else {
            downward_aside(node, stream, aside);
        }
        return 0;
    }
    if (fifo_push(&stream->down.in, frame,
                  downward_is_charged(frame) ? (uint32_t)frame_len(frame) : 0) <
        0)
        node->failed = true;
    downward_run(node, stream);
    return 0;
}

int downward_send(struct node *node, struct stream *stream, struct frame *frame)
{
    uint64_t waiting = stream->down.feed.store.bytes + stream->down.in.bytes;
    struct frame packet = {
        .type = FRAME_DATA,
        .flags = frame->flags & FRAME_SOME,
        .stream = stream->definition.id,
        .tag = frame->tag,
        .origin = node->rank,
        .payload = frame->payload,
    };

    if (stream->closing)
        return -ENOENT;
    if (stream->definition.members.count == 0)
        return -ENODEV;
    if (waiting >= LIMIT_UNSTABLE)
        return -EAGAIN;
    frame->payload = NULL;
    packet.number = ++stream->down.last;
    stream->root->packets++;
    if (fifo_push(&stream->down.in, &packet, 0) < 0)
        node->failed = true;
    downward_run(node, stream);
    return 0;
}

uint64_t downward_marker(struct node *node,
                         struct stream *stream,
                         const struct ranks *named)
{
    struct payload *names = NULL;
    struct frame marker;

    stream->root->sent.epoch++;
    if (stream->kind->named && named)
        stream->kind->named(node, stream, named, &names);
    marker = msg_marker_encode(&(struct msg_marker){
        .stream = stream->definition.id,
        .epoch = stream->root->sent.epoch,
        .sender = node->rank,
        .number = ++stream->down.last,
        .payload = names,
    });
    stream->root->sent.number = stream->down.last;
    if (fifo_push(&stream->down.in, &marker, 0) < 0)
        node->failed = true;
    downward_run(node, stream);
    return stream->down.last;
}

void downward_sync(struct node *node, struct stream *stream)
{
    stream->root->sync = stream->down.last + 1;
    if (stream->kind->sync_sent) /* first, as waves may be accepted below */
        stream->kind->sync_sent(stream);
    downward_marker(node, stream, NULL);
}

void downward_ask(struct node *node, struct stream *stream)
{
    uint64_t low = lowest_cursor(node, stream);

    if (node->role == NODE_COMMNODE && stream->definition.id != 0 &&
        low < stream->down.feed.base) {
        /* as an orphan it adopted a child with a lower cursor (10.3) */
        downward_restart(node, stream, low);
    }
    stream->down.refeeding = true;
    downward_source(node, stream);
    node_send(node, node->parent,
              msg_feed_encode(&(struct msg_feed){
                  .stream = stream->definition.id,
                  .sender = node->rank,
                  .epoch = stream->down.epoch,
                  .last = stream->down.last,
              }));
}

int downward_feed(struct node *node,
                  struct peer *peer,
                  const struct frame *frame)
{
    struct msg_feed feed;
    struct stream *stream;
    struct branch *branch;
    uint64_t from;

    if (msg_feed_decode(frame, &feed) < 0)
        return -EPROTO;
    stream = node_stream(node, feed.stream);
    if (!stream)
        return 0; /* closed, or its OPEN is still in flight */
    downward_note_epoch(stream, feed.epoch);
    from = feed.last;
    branch = stream_branch(stream, peer->slot);
    if (!branch)
        return -ENOMEM;
    if (peer->role == NODE_BACKEND && branch->asked++ == LEAF_FEEDS)
        return node_refuse(node, "a back-end has not so many beginnings");
    if (stream->definition.id != 0 && branch->members.count == 0) {
        branch->fed = true; /* effective once it has members */
        branch->skipped = 0;
        branch->cursor = feed_last(&stream->down.feed);
        from = begin_stable(node, peer, stream, from);
        if (from >= stream->down.feed.base && from < branch->cursor)
            branch->cursor = from;
        return 0;
    }
    if (from < stream->down.feed.stable && stream->definition.id == 0) {
        snapshot_send(node, peer); /* PROTOCOL 3.1 */
        return 0;
    }
    from = begin_stable(node, peer, stream, from);
    branch->fed = true;
    branch->cursor = from;
    branch->skipped = 0;
    if (skip_feed_again(node, stream, from)) {
        downward_pump(node, stream);
        return 0;
    }
    if (node->parent && stream->definition.id != 0 &&
        (from < stream->down.feed.base || !stream->down.sourced)) {
        /* This node lacks the packets after `from`: ask for them (10.4). */
        downward_restart(node, stream, from);
        downward_ask(node, stream);
    } else if (node->parent && stream->definition.id != 0 &&
               from > stream->down.last) {
        downward_ask(node, stream); /* the child is ahead of this node */
    }
    downward_pump(node, stream);
    return 0;
}
