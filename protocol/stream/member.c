/* member.c - claims, stability, and who is a member. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* A claim goes at once when this many bytes have come since the last. */
#define CLAIM_BYTES (LIMIT_UNSTABLE / 2)

/* A branch that has members and a child behind it. */
static const struct branch *branch_at(const struct node *node,
                                      const struct stream *stream,
                                      uint32_t slot)
{
    const struct branch *branch = &stream->branches[slot];

    return node_child(node, slot) && branch->members.count > 0 ? branch : NULL;
}

void member_claimed(struct node *node,
                    const struct stream *stream,
                    struct ranks *out)
{
    uint32_t slot;

    for (slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = branch_at(node, stream, slot);
        const struct ranks *members;

        if (!branch)
            continue;
        /* on stream 0 who is there is known, claimed or not */
        members = stream->definition.id == 0 ? &node->peers[slot]->below
                                             : &branch->claim.members;
        if (ranks_unite(out, members) < 0)
            node->failed = true;
    }
}

bool member_has_members(const struct node *node, const struct stream *stream)
{
    uint32_t slot;

    for (slot = 0; slot < stream->branch_count; slot++)
        if (branch_at(node, stream, slot))
            return true;
    return false;
}

bool member_is_drained(const struct node *node, const struct stream *stream)
{
    uint32_t slot;

    if (stream->definition.id == 0 || !upward_is_drained(stream) ||
        !upward_is_idle(node, stream) || member_has_members(node, stream))
        return false;
    for (slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = &stream->branches[slot];
        struct peer *peer = node_child(node, slot);

        if (peer && peer->role == NODE_COMMNODE && branch->claimed &&
            !branch->claim.drained)
            return false;
    }
    return true;
}

/* Take the error of `from`, if `claim` has none yet. */
static void add_error(struct node *node,
                      struct claim *claim,
                      const char *error,
                      uint32_t rank)
{
    if (!error || claim->error)
        return;
    claim->error = strdup(error);
    claim->error_rank = rank;
    if (!claim->error)
        node->failed = true;
}

/* What may truly be claimed now: the union of the sets, the least of each
 * number over the children that have members (10.1). */
static void member_build(struct node *node,
                         const struct stream *stream,
                         struct claim *claim)
{
    uint32_t slot;
    bool first = true;

    *claim = (struct claim){.recoverable = stream->filters.recoverable,
                            .replayable = stream_is_replayable(stream),
                            .received = stream->down.last,
                            .lossy = stream->settle.lossy};
    add_error(node, claim, stream->error, node->rank);
    if (node->role == NODE_BACKEND) {
        if (stream->active &&
            ranks_add(&claim->members, node->rank, node->rank) < 0)
            node->failed = true;
        claim->received = stream->down.passed;
        claim->settled = stream->settle.settled;
        claim->epoch = stream->settle.epoch;
        return;
    }
    member_claimed(node, stream, &claim->members);
    claim->drained = member_is_drained(node, stream);
    for (slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = branch_at(node, stream, slot);
        const struct claim *theirs;

        if (!branch)
            continue;
        theirs = &branch->claim;
        if (theirs->received < claim->received)
            claim->received = theirs->received;
        if (first || theirs->settled < claim->settled) {
            claim->settled = theirs->settled;
            claim->epoch = theirs->epoch;
        }
        first = false;
        if (theirs->lossy > claim->lossy)
            claim->lossy = theirs->lossy;
        claim->recoverable &= theirs->recoverable;
        claim->replayable &= theirs->replayable;
        add_error(node, claim, theirs->error, theirs->error_rank);
    }
}

/* Pack and send `claim`, and remember it as the last one sent. */
static void send_claim(struct node *node,
                       struct stream *stream,
                       struct claim *claim)
{
    struct frame frame;

    if (claim_encode(claim, stream->definition.id, &frame) < 0) {
        node->failed = true;
        return;
    }
    node_send(node, node->parent, frame);
    claim_fini(&stream->settle.sent);
    stream->settle.sent = *claim;
    memset(claim, 0, sizeof(*claim));
    stream->settle.has_sent = true;
    stream->settle.claim_due = false;
    stream->down.unclaimed = 0;
}

/* Members have come who have not settled so much, or all have gone: it is to be
 * reached again, behind what those who come then have sent. What waits to be
 * said of it speaks of others (10.1). */
static void fall_back(struct node *node,
                      struct stream *stream,
                      uint64_t settled,
                      uint32_t epoch)
{
    uint32_t i;

    if (node->role != NODE_COMMNODE || settled >= stream->settle.settled)
        return;
    stream->settle.settled = settled;
    stream->settle.epoch = epoch;
    for (i = 0; i < stream->up.out.count; i++) {
        struct frame *frame = fifo_at(&stream->up.out, i);

        if (frame->type != FRAME_CLAIM || frame->sequence <= settled)
            continue;
        frame->sequence = settled;
        frame->tag = (int32_t)epoch;
    }
}

void member_send_claim(struct node *node,
                       struct stream *stream,
                       uint64_t settled,
                       uint32_t epoch)
{
    struct claim claim;

    if (!node->parent || node->parent->life.state != LINK_UP)
        return;
    member_build(node, stream, &claim);
    fall_back(node, stream, claim.settled, claim.epoch);
    if (settled < claim.settled) {
        claim.settled = settled;
        claim.epoch = epoch;
    }
    if (claim.settled > claim.received)
        claim.settled = claim.received;
    stream->settle.told = claim.settled;
    stream->settle.told_epoch = claim.epoch;
    send_claim(node, stream, &claim);
    claim_fini(&claim);
}

/* Whether what could be claimed now should not wait for the next beat
 * (PROTOCOL 10.1a). */
static bool is_urgent(const struct node *node,
                      const struct stream *stream,
                      const struct claim *claim)
{
    const struct claim *sent = &stream->settle.sent;
    uint32_t slot;

    if (stream->definition.id == 0)
        return claim->received > sent->received ||
               !ranks_equal(&sent->members, &claim->members);
    if (claim->drained && !sent->drained)
        return true;
    if (stream->settle.has_sent &&
        ranks_equal(&sent->members, &claim->members)) {
        if (node->role == NODE_BACKEND)
            return stream->down.unclaimed >= CLAIM_BYTES;
        return feed_bytes(&stream->down.feed, sent->received,
                          claim->received) >= CLAIM_BYTES;
    }
    if (claim->error || node->role == NODE_BACKEND)
        return true;
    /* one claim for all children, not one for each */
    for (slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = branch_at(node, stream, slot);

        if (branch && !ranks_cover(&branch->claim.members, &branch->members))
            return false;
    }
    return true;
}

/* A back-end on a stream that flows: no claim is built for each packet. */
static bool claims_later(const struct node *node, const struct stream *stream)
{
    return node->role == NODE_BACKEND && stream->definition.id != 0 &&
           stream->settle.has_sent && stream->down.unclaimed < CLAIM_BYTES;
}

/* Whether every member that is not in limbo has claimed the stream (3.1a). */
static bool is_claimed(struct node *node,
                       const struct stream *stream,
                       const struct claim *claim)
{
    struct ranks awaited = {0};
    bool claimed;

    if (ranks_copy(&awaited, &stream->definition.members) < 0 ||
        ranks_subtract(&awaited, &claim->members) < 0)
        node->failed = true;
    cover_exempt(node, &awaited);
    claimed = awaited.count == 0;
    ranks_fini(&awaited);
    return claimed;
}

/* Front-end: the stream is open when its members have claimed it (3.1a). An
 * error that comes later, from a member in limbo or a joiner, is an event. */
static void try_open(struct node *node,
                     struct stream *stream,
                     const struct claim *claim)
{
    struct action *tell;

    if (!stream->loaded)
        return;
    if (!stream->top.opening) {
        if (claim->error && !stream->top.faulted)
            node_tell(node, TELL_FILTER_ERROR, claim->error_rank,
                      stream->definition.id, claim->error);
        stream->top.faulted |= claim->error != NULL;
        return;
    }
    if (!claim->error && !is_claimed(node, stream, claim))
        return;
    stream->top.opening = false;
    stream->top.faulted = claim->error != NULL;
    tell = node_tell(node, TELL_OPENED, claim->error_rank,
                     stream->definition.id, claim->error);
    tell->code = claim->error ? -ELIBBAD : 0;
}

/* Front-end: joiners that have claimed the stream are given a marker, so that
 * they pair from the start of an epoch (12.3). */
static void settle_in(struct node *node,
                      struct stream *stream,
                      const struct claim *claim)
{
    if (!ranks_meet(&stream->top.entering, &claim->members))
        return;
    if (ranks_subtract(&stream->top.entering, &claim->members) < 0)
        node->failed = true;
    if (!stream->closing && stream_is_replayable(stream))
        downward_marker(node, stream);
}

/* Front-end: what every member has received is stable (10.2). */
static void update_root(struct node *node, struct stream *stream)
{
    struct claim claim;

    member_build(node, stream, &claim);
    settle_in(node, stream, &claim);
    try_open(node, stream, &claim);
    stream->settle.sent.recoverable = claim.recoverable;
    if (ranks_cover(&claim.members, &stream->definition.members))
        member_stable(node, stream, claim.received);
    claim_fini(&claim);
}

void member_update(struct node *node, struct stream *stream)
{
    struct claim claim;

    if (!stream->loaded || !stream->active)
        return;
    if (node->role == NODE_FRONTEND) {
        update_root(node, stream);
        return;
    }
    if (!node->parent || node->parent->life.state != LINK_UP || !node->reported)
        return; /* the parent knows nobody below us yet */
    if (claims_later(node, stream)) {
        stream->settle.claim_due = true;
        return;
    }
    member_build(node, stream, &claim);
    if (stream->settle.has_sent &&
        claim.received <= stream->settle.sent.received &&
        claim.drained == stream->settle.sent.drained &&
        ranks_equal(&claim.members, &stream->settle.sent.members)) {
        claim_fini(&claim);
        return;
    }
    if (is_urgent(node, stream, &claim) && stream->up.resumes == 0)
        member_send_claim(node, stream, stream->settle.told,
                          stream->settle.told_epoch);
    else
        stream->settle.claim_due = true;
    claim_fini(&claim);
}

void member_stable(struct node *node, struct stream *stream, uint64_t number)
{
    if (number <= stream->down.feed.stable || number > stream->down.last)
        return;
    stream->down.feed.stable = number;
    stream->settle.stable_due = true;
    downward_passed(node, stream);
}

/* Tell the children what is stable: an idle stream carries no packets. */
static void send_stable(struct node *node, struct stream *stream)
{
    uint32_t slot;

    stream->settle.stable_due = false;
    for (slot = 0; slot < stream->branch_count; slot++) {
        struct peer *peer = node_child(node, slot);
        const struct branch *branch = &stream->branches[slot];

        if (peer && peer->role == NODE_COMMNODE &&
            branch->cursor >= stream->down.feed.stable &&
            (branch->members.count > 0 || stream->definition.id == 0))
            node_send_header(node, peer, FRAME_STABLE, stream->definition.id,
                             stream->down.feed.stable, 0);
    }
}

void member_beat(struct node *node)
{
    size_t i;

    for (i = node->stream_count; i-- > 0;) {
        struct stream *stream = node->streams[i];

        if (stream->settle.claim_due)
            member_send_claim(node, stream, stream->settle.told,
                              stream->settle.told_epoch);
        if (stream->settle.stable_due && stream_is_replayable(stream))
            send_stable(node, stream);
        if (stream->closing)
            downward_pending(node, stream);
    }
}

/* ---- settling (10.6) ---- */

/* A back-end: whether its application has dealt with what it took. */
static bool has_dealt(const struct node *node, const struct stream *stream)
{
    uint64_t said = stream->app.settle_at > node->receive_at
                        ? stream->app.settle_at
                        : node->receive_at;

    return stream->app.untaken == 0 && said >= stream->app.taken_at;
}

/* All children that have members have settled the marker `settled`. */
static void reached(struct node *node,
                    struct stream *stream,
                    const struct claim *claim)
{
    uint64_t settled = claim->settled;
    uint32_t epoch = claim->epoch;
    struct action *news;

    stream->settle.settled = settled;
    stream->settle.epoch = epoch;
    if (node->role == NODE_FRONTEND) {
        if (!stream->top.sync || settled < stream->top.sync)
            return;
        stream->top.sync = 0;
        news = node_tell(node, TELL_SYNCED, 0, stream->definition.id, NULL);
        news->sequence = settled;
        /* Markers for joiners came between: not one epoch, but all since. */
        news->code = claim->lossy > stream->top.synced_epoch;
        stream->top.synced_epoch = epoch;
        if (news->code)
            stream->top.given_up = epoch;
        return;
    }
    upward_emit(node, stream,
                (struct frame){
                    .type = FRAME_CLAIM,
                    .tag = (int32_t)epoch,
                    .sequence = settled,
                });
}

/* Whether anything of the epochs before `epoch` still waits here. */
static bool is_behind(const struct node *node,
                      const struct stream *stream,
                      uint32_t epoch)
{
    return !upward_is_idle(node, stream) ||
           wave_holds(stream->up.wave, (uint64_t)epoch << PACKET_WAVE_BITS);
}

static void try_settle_internal(struct node *node, struct stream *stream)
{
    struct claim claim;
    bool covered;

    member_build(node, stream, &claim);
    if (!member_has_members(node, stream)) {
        claim.settled = stream->top.sync;
        claim.epoch = stream->top.sync_epoch;
    }
    covered = node->role != NODE_FRONTEND ||
              ranks_cover(&claim.members, &stream->definition.members);
    if (covered && claim.settled > stream->settle.settled &&
        claim.settled <= claim.received && /* our own marker has come */
        !is_behind(node, stream, claim.epoch))
        reached(node, stream, &claim);
    claim_fini(&claim);
}

void member_try_settle(struct node *node, struct stream *stream)
{
    if (node->role == NODE_BACKEND) {
        if (stream->app.marker && stream->active && stream->loaded &&
            has_dealt(node, stream) && upward_is_idle(node, stream) &&
            wave_bytes(stream->up.wave) == 0)
            upward_settle(node, stream);
        return;
    }
    if (stream->settle.hurried > stream->settle.settled ||
        stream->top.sync > stream->settle.settled)
        try_settle_internal(node, stream);
}

/* ---- who is a member ---- */

/* Keep on the branch to `peer` only members that are below it. */
static void trim_branch(struct node *node,
                        struct stream *stream,
                        struct peer *peer)
{
    struct branch *branch;
    bool had;

    if (peer->slot >= stream->branch_count)
        return;
    branch = &stream->branches[peer->slot];
    had = branch->members.count > 0;
    if (ranks_intersect(&branch->members, &peer->below) < 0 ||
        ranks_intersect(&branch->claim.members, &peer->below) < 0)
        node->failed = true;
    if (had && branch->members.count == 0)
        upward_leave(node, stream, peer->slot);
}

/* What a change of members makes possible on one stream. */
static void changed(struct node *node, struct stream *stream)
{
    if (node->role == NODE_BACKEND)
        return;
    if (stream->up.counted && node->role == NODE_COMMNODE &&
        stream->definition.id != 0 && !member_has_members(node, stream))
        stream->up.counted = false;
    if (!member_has_members(node, stream)) {
        stream->down.sourced = false;
        fall_back(node, stream, 0, 0);
    }
    downward_passed(node, stream);
    member_update(node, stream);
    upward_run(node, stream);
}

void member_trim(struct node *node, struct peer *peer)
{
    size_t i;

    for (i = 0; i < node->stream_count; i++) {
        trim_branch(node, node->streams[i], peer);
        changed(node, node->streams[i]);
    }
}

void member_forget(struct node *node, struct peer *peer)
{
    size_t i;

    for (i = 0; i < node->stream_count; i++) {
        struct branch *branch = stream_branch(node->streams[i], peer->slot);

        if (!branch)
            continue;
        if (branch->claim.lossy > node->streams[i]->settle.lossy)
            node->streams[i]->settle.lossy = branch->claim.lossy;
        upward_unlink(node, node->streams[i], peer->slot);
        ranks_fini(&branch->members);
        claim_fini(&branch->claim);
        fifo_fini(&branch->aside);
        memset(branch, 0, sizeof(*branch));
    }
}

void member_lost_child(struct node *node, struct peer *peer, const char *text)
{
    struct ranks none = {0}, below = peer->below;
    size_t i;

    peer->below = none;
    node->shifted = true;
    member_trim(node, peer);
    member_forget(node, peer);
    /* A stream without members may have waited for what was in it (10.1b). */
    for (i = 0; i < node->stream_count; i++)
        member_update(node, node->streams[i]);
    peer->below = below;
    if (node->closing)
        return;
    if (!node->launched)
        record_gone_below(node, peer, text);
    else if (peer->left)
        record_gone(node, peer->rank, "it has left");
    else if (peer->role == NODE_COMMNODE && !peer->gave_up)
        record_tell(node, peer->rank, peer->incarnation, TABLE_FAILED, text);
    else if (peer->role == NODE_COMMNODE)
        record_doubt(node, peer->rank, peer->incarnation);
    if (node->role == NODE_FRONTEND)
        cover_update(node);
}

void member_give_up(struct node *node,
                    const struct ranks *ranks,
                    const char *text)
{
    struct control control = {.type = CONTROL_LOST};
    uint32_t rank = RANK_NONE;

    if (ranks_copy(&control.ranks, ranks) < 0 ||
        ranks_intersect(&control.ranks, &node->backends) < 0)
        node->failed = true;
    observer_given_up(node, &control.ranks, text);
    while ((rank = ranks_after(&control.ranks, rank)) != RANK_NONE)
        node_tell(node, TELL_BACKEND_LOST, rank, 0, text);
    if (control.ranks.count > 0)
        downward_control(node, &control);
    control_fini(&control);
    cover_update(node);
}

/* Take lost ranks out of one stream. */
static void remove_lost(struct node *node,
                        struct stream *stream,
                        const struct ranks *ranks)
{
    uint32_t slot;

    if (ranks_subtract(&stream->definition.members, ranks) < 0)
        node->failed = true;
    for (slot = 0; slot < stream->branch_count; slot++) {
        struct branch *branch = &stream->branches[slot];
        bool had = branch->members.count > 0;

        if (ranks_subtract(&branch->members, ranks) < 0 ||
            ranks_subtract(&branch->claim.members, ranks) < 0)
            node->failed = true;
        if (had && branch->members.count == 0)
            upward_leave(node, stream, slot);
    }
    changed(node, stream);
}

void member_lost(struct node *node, const struct ranks *ranks)
{
    uint32_t slot;
    size_t i;

    if (node->role == NODE_BACKEND && ranks_has(ranks, node->rank)) {
        launch_end(node, "the front-end has given this back-end up");
        return;
    }
    if (ranks_subtract(&node->backends, ranks) < 0 ||
        ranks_unite(&node->lost, ranks) < 0)
        node->failed = true;
    for (slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && ranks_subtract(&peer->below, ranks) < 0)
            node->failed = true;
    }
    for (i = 0; i < node->stream_count; i++)
        remove_lost(node, node->streams[i], ranks);
}

/* New members on the branch to one child, which begin behind `start`. */
static void enter_branch(struct node *node,
                         struct stream *stream,
                         struct peer *peer,
                         const struct ranks *joined,
                         uint64_t start)
{
    struct branch *branch = stream_branch(stream, peer->slot);
    struct ranks here = {0};

    if (!branch || ranks_copy(&here, joined) < 0 ||
        ranks_intersect(&here, &peer->below) < 0) {
        node->failed = true;
        ranks_fini(&here);
        return;
    }
    if (here.count > 0 && branch->members.count == 0) {
        branch->fed = true;
        branch->cursor = start;
        branch->claim.received = start;
        credit_grant(&branch->down, peer->granted);
    }
    if (ranks_unite(&branch->members, &here) < 0)
        node->failed = true;
    ranks_fini(&here);
}

/* New members of one stream. */
static void enter_stream(struct node *node,
                         struct stream *stream,
                         const struct control *control,
                         uint32_t index)
{
    bool first = !member_has_members(node, stream);
    const struct ranks *joined = &control->ranks;
    uint64_t start = control->starts[index];
    uint32_t slot;

    if (ranks_unite(&stream->definition.members, joined) < 0)
        node->failed = true;
    if (node->role == NODE_BACKEND) {
        if (stream->active || !ranks_has(joined, node->rank))
            return;
        stream->active = true;
        stream->up.counted = false;
        stream->down.last = start;
        stream->down.passed = start;
        stream->up.epoch = control->epochs[index];
        stream->settle.settled = control->markers[index];
        stream->settle.epoch = stream->up.epoch;
        stream->settle.told = stream->settle.settled;
        stream->settle.told_epoch = stream->up.epoch;
        if (node->parent)
            upward_grant(stream, node->parent->granted);
        upward_resume(node, stream,
                      (uint64_t)(stream->up.epoch + 1) << PACKET_WAVE_BITS);
        upward_pump(node, stream);
        if (node->parent && node->incarnation > 0)
            downward_ask(node, stream); /* it knew us before we did */
        node_act(node, ACTION_LOAD)->definition = &stream->definition;
        return;
    }
    if (first && node->role == NODE_COMMNODE && stream->down.last < start)
        downward_restart(node, stream, start);
    /* one that asks to be adopted is no child yet */
    for (slot = 0; slot < node->peer_count; slot++)
        if (node_child(node, slot) && node->peers[slot]->ready)
            enter_branch(node, stream, node->peers[slot], joined, start);
    /* our parent may have had it before us, or has had nobody here since, and
     * waits for the FEED of one whom we adopted */
    if ((first || !stream->down.sourced) && node->parent &&
        (node->incarnation > 0 || node->shifted))
        downward_ask(node, stream);
    else if (first)
        stream->down.sourced = member_has_members(node, stream);
    downward_pump(node, stream);
    member_update(node, stream);
}

void member_enter(struct node *node, const struct control *control)
{
    uint32_t i;

    if (ranks_unite(&node->streams[0]->definition.members, &control->ranks) < 0)
        node->failed = true;
    if (ranks_has(&control->ranks, node->rank))
        node->outside = false;
    for (i = 0; i < control->stream_count; i++) {
        struct stream *stream = node_stream(node, control->streams[i]);

        if (stream && stream->definition.id != 0)
            enter_stream(node, stream, control, i);
    }
}

/* The streams that a joiner becomes a member of, and from where on. */
static int list_growing(struct node *node, struct control *control)
{
    size_t i;

    control->streams = calloc(node->stream_count, sizeof(*control->streams));
    control->starts = calloc(node->stream_count, sizeof(*control->starts));
    control->markers = calloc(node->stream_count, sizeof(*control->markers));
    control->epochs = calloc(node->stream_count, sizeof(*control->epochs));
    if (!control->streams || !control->starts || !control->markers ||
        !control->epochs)
        return -ENOMEM;
    for (i = 1; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (!stream->definition.grow || stream->closing)
            continue;
        if (ranks_unite(&stream->top.entering, &control->ranks) < 0)
            return -ENOMEM;
        control->streams[control->stream_count] = stream->definition.id;
        control->starts[control->stream_count] = stream->down.last;
        control->markers[control->stream_count] = stream->top.sync_last;
        control->epochs[control->stream_count] = stream->top.sync_epoch;
        control->stream_count++;
    }
    return 0;
}

void member_admit(struct node *node, const struct ranks *joined)
{
    struct control control = {.type = CONTROL_ENTER};
    uint32_t rank = RANK_NONE;

    if (ranks_copy(&control.ranks, joined) < 0 ||
        list_growing(node, &control) < 0 ||
        ranks_unite(&node->backends, joined) < 0)
        node->failed = true;
    else
        downward_control(node, &control);
    while ((rank = ranks_after(joined, rank)) != RANK_NONE)
        node_tell(node, TELL_BACKEND_JOINED, rank, 0, NULL);
    control_fini(&control);
}

/* Back-ends have come under that child: adopted ones, joiners, or, at the
 * front-end, some that were given up. */
static void member_gain(struct node *node,
                        struct peer *peer,
                        struct ranks *gained)
{
    size_t i;

    for (i = 1; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];
        struct branch *branch = stream_branch(stream, peer->slot);
        struct ranks members = {0};

        if (!branch || ranks_copy(&members, gained) < 0 ||
            ranks_intersect(&members, &stream->definition.members) < 0) {
            node->failed = true;
            ranks_fini(&members);
            return;
        }
        if (branch->members.count == 0 && members.count > 0)
            branch->fed = false; /* the child says from where (10.4) */
        if (ranks_unite(&branch->members, &members) < 0)
            node->failed = true;
        ranks_fini(&members);
    }
    if (node->role != NODE_FRONTEND)
        return;
    if (ranks_subtract(gained, &node->backends) < 0)
        node->failed = true;
    if (gained->count > 0 && !node->failed)
        member_admit(node, gained);
}

/* PROTOCOL 11.2: our parent took lost ranks out of a claim of ours. If it knew
 * of nobody else here when it heard that they were lost, it has stopped to feed
 * and to count us, and we have not seen that. */
static void begin_anew(struct node *node)
{
    size_t i;

    for (i = 1; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (!member_has_members(node, stream))
            continue;
        downward_ask(node, stream);
        upward_count_anew(node, stream);
        upward_run(node, stream);
    }
}

int member_expel(struct node *node, struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct ranks ranks = {0};
    const uint32_t *pairs;
    uint32_t count, slot;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r == 0)
        r = cop_packet_unpack(packet, "%aud", &pairs, &count);
    if (r == 0)
        r = ranks_from_pairs(&ranks, pairs, count);
    cop_packet_free(packet);
    if (r < 0)
        return r == -EINVAL ? -EBADMSG : r;
    if (node->role == NODE_BACKEND && ranks_has(&ranks, node->rank))
        launch_end(node, "the front-end has given this back-end up");
    for (slot = 0; slot < node->peer_count && !node->ended; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && ranks_meet(&peer->below, &ranks))
            node_send(node, peer, frame_ref(frame));
    }
    if (node->role == NODE_COMMNODE && node->parent)
        begin_anew(node);
    ranks_fini(&ranks);
    return 0;
}

/* A claim on stream 0: who is below that child now. */
static void rebase(struct node *node, struct peer *peer)
{
    struct branch *zero = stream_branch(node->streams[0], peer->slot);
    struct ranks gained = {0}, lost = {0};

    if (!zero || ranks_copy(&gained, &zero->claim.members) < 0 ||
        ranks_subtract(&gained, &peer->below) < 0 ||
        ranks_copy(&lost, &peer->below) < 0 ||
        ranks_subtract(&lost, &zero->claim.members) < 0 ||
        ranks_copy(&peer->below, &zero->claim.members) < 0 ||
        ranks_copy(&zero->members, &zero->claim.members) < 0)
        node->failed = true;
    node->shifted |= lost.count > 0 || gained.count > 0;
    if (lost.count > 0 && !node->failed)
        member_trim(node, peer);
    if (gained.count > 0 && !node->failed)
        member_gain(node, peer, &gained);
    if (node->role == NODE_FRONTEND)
        cover_update(node);
    ranks_fini(&gained);
    ranks_fini(&lost);
}

bool member_may_claim(const struct node *node,
                      const struct peer *peer,
                      const struct ranks *members)
{
    uint64_t size = ranks_size(members);

    if (size == 0)
        return true;
    if (ranks_has(members, 0) || ranks_has(members, node->rank) ||
        (peer->role == NODE_BACKEND &&
         (size > 1 || !ranks_has(members, peer->rank))))
        return false;
    if (node->role == NODE_FRONTEND &&
        ranks_at(members, size - 1) >= node->next_rank)
        return false;
    return true; /* two branches may claim one that has moved (10.1) */
}

void member_expel_lost(struct node *node,
                       struct peer *peer,
                       struct ranks *claimed)
{
    struct frame frame = {.type = FRAME_EXPEL, .origin = node->rank};
    struct ranks ranks = {0};

    if (!ranks_meet(claimed, &node->lost))
        return;
    if (ranks_copy(&ranks, claimed) < 0 ||
        ranks_intersect(&ranks, &node->lost) < 0 ||
        ranks_subtract(claimed, &node->lost) < 0 ||
        packet_pack(&frame.payload, "%aud", ranks_pairs(&ranks),
                    (uint32_t)(2 * ranks.count)) < 0)
        node->failed = true;
    else
        node_send(node, peer, frame);
    ranks_fini(&ranks);
}

/* Read a claim, without those that were given up (11.2), and see whether it
 * can be true. `out` is untouched on error. */
static int read_claim(struct node *node,
                      const struct stream *stream,
                      struct peer *peer,
                      const struct frame *frame,
                      struct claim *out)
{
    struct claim claim = {0};
    int r = claim_decode(frame, &claim);

    if (r < 0)
        return r;
    if (claim.error &&
        (claim.error_rank >= LIMIT_NODES ||
         (peer->role == NODE_BACKEND && claim.error_rank != peer->rank))) {
        claim_fini(&claim);
        return node_refuse(node, "its error is not one of its nodes");
    }
    if (stream->definition.id == 0)
        member_expel_lost(node, peer, &claim.members);
    r = ranks_subtract(&claim.members, &node->lost);
    if (r == 0 &&
        ((stream->definition.id == 0 &&
          !member_may_claim(node, peer, &claim.members)) ||
         (node->role == NODE_FRONTEND && claim.received > stream->down.last)))
        r = -EPROTO;
    if (r < 0) {
        claim_fini(&claim);
        return r;
    }
    claim_fini(out);
    *out = claim;
    return 0;
}

int member_claim(struct node *node, struct peer *peer, struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    struct branch *branch;
    uint64_t level;
    int r;

    if (!stream)
        return frame->stream > node->last_seen ? -EPROTO : 0;
    branch = stream_branch(stream, peer->slot);
    if (!branch)
        return -ENOMEM;
    r = read_claim(node, stream, peer, frame, &branch->claim);
    if (r < 0)
        return r;
    branch->claimed = true;
    if (frame->stream == 0) {
        rebase(node, peer);
        member_update(node, stream);
        return 0;
    }
    if (ranks_intersect(&branch->claim.members, &peer->below) < 0)
        node->failed = true;
    fall_back(node, stream, branch->claim.settled, branch->claim.epoch);
    level = (uint64_t)branch->claim.epoch << PACKET_WAVE_BITS;
    wave_answer(stream->up.wave, peer->slot, level);
    if (branch->claim.settled > stream->settle.hurried)
        stream->settle.hurried = branch->claim.settled;
    member_update(node, stream);
    upward_run(node, stream);
    downward_pending(node, stream);
    return 0;
}
