/* skip.c - numbers of packets that are for members on other branches only
 * (PROTOCOL 10.7). */
#include <errno.h>

#include "protocol/state.h"
#include "wire/destinations.h"

bool skip_passes(const struct peer *peer, const struct frame *frame)
{
    struct ranks_run own = {peer->rank, peer->rank};
    struct ranks leaf = {.runs = &own, .count = 1};

    if (frame->type == FRAME_SKIP)
        return true;
    return frame->type == FRAME_DATA && (frame->flags & FRAME_SOME) &&
           !destinations_meet(frame->payload, peer->role == NODE_BACKEND
                                                  ? &leaf
                                                  : &peer->below);
}

void skip_send(struct node *node,
               const struct stream *stream,
               struct branch *branch,
               struct peer *peer)
{
    uint64_t stable = stream->down.feed.stable, behind = 0;

    if (branch->skipped == 0)
        return;
    if (branch->cursor > stable)
        behind = branch->cursor - stable;
    node_send(node, peer,
              msg_skip_encode(&(struct msg_skip){
                  .flags = branch->unasked >= CLAIM_BYTES ? FRAME_ASK : 0,
                  .stream = stream->definition.id,
                  .claims = peer->claims,
                  .count = branch->skipped,
                  .behind = behind > UINT32_MAX ? UINT32_MAX : (uint32_t)behind,
                  .number = branch->cursor,
              }));
    branch->skipped = 0;
    if (branch->unasked >= CLAIM_BYTES)
        branch->unasked = 0;
}

void skip_note(struct node *node,
               const struct stream *stream,
               struct branch *branch,
               struct peer *peer,
               const struct frame *frame)
{
    node->skips = true;
    branch->cursor++;
    branch->skipped++;
    branch->unasked += frame->type == FRAME_SKIP && (frame->flags & FRAME_ASK)
                           ? CLAIM_BYTES
                           : frame_len(frame);
    if (branch->unasked >= CLAIM_BYTES || branch->skipped == LIMIT_SKIPS)
        skip_send(node, stream, branch, peer);
}

void skip_flush(struct node *node, struct stream *stream)
{
    for (uint32_t slot = 0; node->skips && slot < stream->branch_count;
         slot++) {
        struct branch *branch = &stream->branches[slot];
        struct peer *peer = node_child(node, slot);

        if (branch->skipped > 0 && peer && peer->ready && branch->fed)
            skip_send(node, stream, branch, peer);
    }
}

void skip_reconsider(struct node *node, struct peer *peer)
{
    for (size_t i = 1; node->skips && i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];
        struct branch *branch;
        uint64_t from;

        if (peer->slot >= stream->branch_count)
            continue;
        branch = &stream->branches[peer->slot];
        from = branch->cursor - branch->skipped;
        if (from < stream->down.feed.base) /* stable: not for its members */
            from = stream->down.feed.base;
        if (from >= branch->cursor)
            continue;
        branch->skipped -= (uint32_t)(branch->cursor - from);
        branch->cursor = from;
    }
}

/* Whether this node lacks packets after `from` that may be for new members. */
static bool may_lack(const struct stream *stream, uint64_t from)
{
    const struct fifo *in = &stream->down.in;

    if (stream->definition.id == 0 || !stream_is_replayable(stream))
        return false;
    for (uint32_t i = 0; i < in->count; i++)
        if (fifo_at(in, i)->frame.type == FRAME_SKIP &&
            fifo_at(in, i)->frame.number > from)
            return true; /* it waits behind a filter call */
    return feed_skips(&stream->down.feed, from);
}

bool skip_feed_again(struct node *node, struct stream *stream, uint64_t from)
{
    if (!may_lack(stream, from))
        return false;
    downward_restart(node, stream, from);
    if (node->parent)
        downward_ask(node, stream);
    return true;
}

void skip_gained(struct node *node, const struct peer *peer)
{
    for (size_t i = 1; node->skips && i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (peer->slot >= stream->branch_count)
            continue;
        if (stream->branches[peer->slot].fed)
            skip_feed_again(node, stream, stream->branches[peer->slot].cursor);
        downward_pump_child(node, stream, peer->slot);
    }
}

/* Whether the parent knew of all members below this node when it skipped. */
static bool is_informed(struct node *node, uint32_t claims)
{
    const struct stream *zero = node->streams[0];

    if (node->role == NODE_BACKEND)
        return true;
    settle_update(node, node->streams[0]); /* a claim that is due */
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        if (peer && peer->ready &&
            !ranks_cover(&zero->settle.sent.members, &peer->below))
            return false;
    }
    return claims >= node->gained_at;
}

/* Queue the numbers behind `down.last` up to `skip->number`. */
static void skip_queue(struct node *node,
                       struct stream *stream,
                       const struct msg_skip *skip)
{
    struct frame hole = {.type = FRAME_SKIP, .stream = stream->definition.id};

    node->skips = true;
    while (stream->down.last < skip->number) {
        hole.number =
            node->role == NODE_BACKEND ? skip->number : stream->down.last + 1;
        stream->down.last = hole.number;
        if (hole.number == skip->number)
            hole.flags = skip->flags & FRAME_ASK;
        if (fifo_push(&stream->down.in, &hole, 0) < 0)
            node->failed = true;
    }
    if (node->role == NODE_BACKEND)
        stream->settle.unclaimed +=
            skip->flags & FRAME_ASK ? CLAIM_BYTES : frame_len(&hole);
}

int skip_take(struct node *node,
              struct stream *stream,
              const struct frame *frame)
{
    struct msg_skip skip;
    uint64_t first;

    if (msg_skip_decode(frame, &skip) < 0 || skip.number < skip.count)
        return -EPROTO;
    if (skip.behind < skip.number)
        downward_lift(node, stream, skip.number - skip.behind);
    if (skip.number > stream->down.feed.base + 8 * (uint64_t)LIMIT_SKIPS &&
        node->role == NODE_COMMNODE)
        return -EPROTO; /* 3.5 does not allow so many */
    first = skip.number - skip.count + 1;
    if (skip.number <= stream->down.last)
        return 0;
    if (first > stream->down.last + 1) {
        if (stream->down.refeeding)
            return 0;
        if (node->role != NODE_BACKEND)
            return -EPROTO;
        launch_end(node, "a packet is missing before one that came");
        return 0;
    }
    /* if filters renumber, nothing is sent again (5.5) */
    if (stream_is_replayable(stream) && !is_informed(node, skip.claims)) {
        downward_ask(node, stream);
        return 0;
    }
    stream->down.refeeding = false;
    skip_queue(node, stream, &skip);
    if (stream_is_replayable(stream) && node->role != NODE_BACKEND &&
        skip.behind <= skip.number)
        downward_set_stable(node, stream, skip.number - skip.behind);
    downward_run(node, stream);
    return 0;
}

/* ---- the front-end ---- */

/* The members among `ranks`, which may have been lost. */
static int find_members(const struct node *node,
                        const struct stream *stream,
                        const uint32_t *ranks,
                        size_t count,
                        struct ranks *out)
{
    int r = ranks_add_list(out, ranks, count);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        if (!ranks_has(&stream->definition.members, ranks[i]) &&
            !ranks_has(&node->lost, ranks[i]))
            return -EINVAL;
    r = ranks_intersect(out, &stream->definition.members);
    if (r == 0 && out->count == 0)
        r = -ENODEV;
    return r;
}

int skip_send_to(struct node *node,
                 struct stream *stream,
                 struct frame *frame,
                 const uint32_t *ranks,
                 size_t count)
{
    struct frame packet = {.flags = FRAME_SOME, .tag = frame->tag};
    struct ranks to = {0};
    int r = -EINVAL;

    for (size_t i = 0; i < count; i++)
        if (ranks[i] == RANK_NONE)
            return -EINVAL;
    if (count > 0 && stream->definition.sync != COP_WAIT_FOR_ALL)
        r = find_members(node, stream, ranks, count, &to);
    if (r == 0)
        r = destinations_add(&packet.payload, frame->payload, &to);
    if (r == 0)
        r = downward_send(node, stream, &packet);
    if (r == 0)
        frame_fini(frame);
    frame_fini(&packet);
    ranks_fini(&to);
    return r;
}
