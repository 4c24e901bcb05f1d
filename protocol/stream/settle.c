/* settle.c - claims, stability and settling (PROTOCOL 10). */
#include <errno.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* The branch of `slot` if it has members and a child; else NULL. */
static const struct branch *branch_at(const struct node *node,
                                      const struct stream *stream,
                                      uint32_t slot)
{
    const struct branch *branch = &stream->branches[slot];

    return node_child(node, slot) && branch->members.count > 0 ? branch : NULL;
}

void settle_claimed(struct node *node,
                    const struct stream *stream,
                    struct ranks *out)
{
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = branch_at(node, stream, slot);
        const struct ranks *members;

        if (!branch)
            continue;
        /* on stream 0 the members are known without claims */
        members = stream->definition.id == 0 ? &node->peers[slot]->below
                                             : &branch->claim.members;
        if (ranks_unite(out, members) < 0)
            node->failed = true;
    }
}

bool stream_has_members(const struct node *node, const struct stream *stream)
{
    for (uint32_t slot = 0; slot < stream->branch_count; slot++)
        if (branch_at(node, stream, slot))
            return true;
    return false;
}

bool branch_is_owed(const struct node *node,
                    const struct stream *stream,
                    uint32_t slot)
{
    const struct branch *branch = &stream->branches[slot];
    const struct peer *peer = node_child(node, slot);

    return peer && peer->role == NODE_COMMNODE && branch->members.count == 0 &&
           (branch->claimed || branch->counts) && !branch->claim.drained;
}

/* Whether any child is owed. */
static bool owes(const struct node *node, const struct stream *stream)
{
    for (uint32_t slot = 0; slot < stream->branch_count; slot++)
        if (branch_is_owed(node, stream, slot))
            return true;
    return false;
}

void settle_counted(struct stream *stream)
{
    stream->settle.sent.drained = false;
}

bool stream_is_drained(const struct node *node, const struct stream *stream)
{
    if (stream->kind->waits && stream->kind->waits(stream))
        return false;
    if (stream->definition.id == 0 || !upward_is_drained(stream) ||
        !upward_is_idle(node, stream) || stream_has_members(node, stream))
        return false;
    return !owes(node, stream);
}

/* Add an error to `claim` if it has none yet. */
static void claim_add_error(struct node *node,
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

/* What can be claimed now: the union of the sets, and the least of each number
 * over the children that have members (10.1). */
static void settle_build(struct node *node,
                         const struct stream *stream,
                         struct claim *claim)
{
    bool first = true;

    *claim = (struct claim){.recoverable = stream->filters.recoverable,
                            .replayable = stream_is_replayable(stream),
                            .received = stream->down.last};
    if (loss_raise(&claim->loss, &stream->settle.loss) < 0)
        node->failed = true;
    claim_add_error(node, claim, stream->error, node->rank);
    if (stream->kind->count)
        stream->kind->count(node, stream, claim);
    if (node->role == NODE_BACKEND) {
        if (stream->active &&
            ranks_add(&claim->members, node->rank, node->rank) < 0)
            node->failed = true;
        claim->received = stream->down.passed;
        claim->settled = stream->settle.settled;
        return;
    }
    settle_claimed(node, stream, &claim->members);
    claim->drained = stream_is_drained(node, stream);
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = branch_at(node, stream, slot);
        const struct claim *theirs = &stream->branches[slot].claim;

        /* without members too: packets of former ones may come (18.7) */
        if (loss_raise(&claim->loss, &theirs->loss) < 0)
            node->failed = true;
        if (!branch)
            continue;
        if (theirs->received < claim->received)
            claim->received = theirs->received;
        if (first || theirs->settled.number < claim->settled.number)
            claim->settled = theirs->settled;
        first = false;
        if (branch->claimed) { /* else nothing is known against it (9.4) */
            claim->recoverable &= theirs->recoverable;
            claim->replayable &= theirs->replayable;
        }
        claim_add_error(node, claim, theirs->error, theirs->error_rank);
    }
    if (stream->kind->settled) {
        claim->settled = stream->kind->settled(node, stream);
        if (claim->settled.number > claim->received)
            claim->settled = (struct mark){0}; /* to be settled again */
    }
}

/* Pack and send `claim`, and remember it as the last one sent. */
static void pack_and_send_claim(struct node *node,
                                struct stream *stream,
                                struct claim *claim)
{
    struct frame frame;

    claim->read = stream->down.last;
    if (claim_encode(claim, stream->definition.id, &frame) < 0) {
        node->failed = true;
        return;
    }
    node_send(node, node->parent, frame);
    if (stream->definition.id == 0) {
        node->claims++;
        if (!stream->settle.has_sent ||
            !ranks_cover(&stream->settle.sent.members, &claim->members))
            node->gained_at = node->claims;
    }
    if (claim->drained)
        upward_uncount(stream); /* the parent does not count it any more */
    claim_fini(&stream->settle.sent);
    stream->settle.sent = *claim;
    memset(claim, 0, sizeof(*claim));
    stream->settle.has_sent = true;
    stream->settle.claim_due = false;
    stream->settle.unclaimed = 0;
}

void settle_begin(struct stream *stream, struct mark settled)
{
    stream->settle.settled = settled;
    stream->settle.told = settled;
}

void settle_orphaned(struct stream *stream)
{
    stream->settle.has_sent = false;
    settle_counted(stream);
    stream->settle.claim_due = false;
    stream->settle.told = (struct mark){0};
}

void settle_hurry(struct stream *stream, struct mark settled)
{
    if (settled.number > stream->settle.hurried)
        stream->settle.hurried = settled.number;
}

void settle_told(struct node *node, struct stream *stream, struct mark settled)
{
    stream->settle.told = settled;
    settle_update(node, stream);
}

/* Claims in the queue that promise more are lowered too (10.1). */
void settle_fall_back(struct node *node,
                      struct stream *stream,
                      struct mark settled)
{
    if (node->role != NODE_COMMNODE ||
        settled.number >= stream->settle.settled.number)
        return;
    stream->settle.settled = settled;
    for (uint32_t i = 0; i < stream->up.out.count; i++) {
        struct queued *queued = fifo_at(&stream->up.out, i);

        if (queued->frame.type == 0 && queued->settled.number > settled.number)
            queued->settled = settled;
    }
}

void settle_send_claim(struct node *node,
                       struct stream *stream,
                       struct mark settled)
{
    struct claim claim;

    if (!node->parent || node->parent->life.state != LINK_UP)
        return;
    if (node->heal.orphan.left && stream->kind->is_lossy)
        settled = (struct mark){0}; /* not before they know (18.6) */
    if (stream->kind->announce)
        stream->kind->announce(node, stream);
    settle_build(node, stream, &claim);
    if (stream->kind->claim_sent)
        stream->kind->claim_sent(node, stream, &claim);
    settle_fall_back(node, stream, claim.settled);
    if (settled.number < claim.settled.number)
        claim.settled = settled;
    if (claim.settled.number > claim.received)
        claim.settled.number = claim.received;
    stream->settle.told = claim.settled;
    pack_and_send_claim(node, stream, &claim);
    claim_fini(&claim);
}

void settle_send_nobody(struct node *node, const struct stream *stream)
{
    struct claim claim = {
        .counts = stream->waves != NULL,
        .received = stream->down.last,
        .read = stream->down.last,
        .recoverable = stream->filters.recoverable,
        .replayable = true,
        .drained = stream->definition.id != 0,
    };
    struct frame frame;

    if (loss_raise(&claim.loss, &stream->settle.loss) < 0 ||
        claim_encode(&claim, stream->definition.id, &frame) < 0)
        node->failed = true;
    else
        node_send(node, node->parent, frame);
    claim_fini(&claim);
}

/* Whether the counting members have changed since the last claim (16.9). */
static bool is_recounted(const struct stream *stream, const struct claim *claim)
{
    return stream->kind->is_recounted &&
           stream->kind->is_recounted(stream, claim);
}

/* Whether to send `claim` now, not with the next heartbeat (10.1a). */
static bool is_claim_urgent(const struct node *node,
                            const struct stream *stream,
                            const struct claim *claim)
{
    const struct claim *sent = &stream->settle.sent;

    if (stream->definition.id == 0)
        return claim->received > sent->received ||
               !ranks_equal(&sent->members, &claim->members);
    if ((claim->drained && !sent->drained) ||
        (stream->settle.has_sent && is_recounted(stream, claim)))
        return true;
    if (stream->settle.has_sent &&
        ranks_equal(&sent->members, &claim->members)) {
        if (node->role == NODE_BACKEND)
            return stream->settle.unclaimed >= CLAIM_BYTES;
        return feed_bytes(&stream->down.feed, sent->received,
                          claim->received) >= CLAIM_BYTES;
    }
    if (claim->error || node->role == NODE_BACKEND)
        return true;
    /* wait for all children: one claim, not one for each */
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        const struct branch *branch = branch_at(node, stream, slot);

        if (branch && !ranks_cover(&branch->claim.members, &branch->members))
            return false;
    }
    return true;
}

/* Whether a back-end claims with the heartbeat, not after each packet. */
static bool claims_later(const struct node *node, const struct stream *stream)
{
    return node->role == NODE_BACKEND && stream->definition.id != 0 &&
           stream->settle.has_sent && stream->settle.unclaimed < CLAIM_BYTES;
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

/* Front-end: an error of a node that did not take part in the opening is an
 * event. Claims repeat it (3.1a). */
static void tell_errors(struct node *node, struct stream *stream)
{
    struct ranks *faulted = &stream->root->faulted;

    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        const struct claim *claim = &stream->branches[slot].claim;

        if (!claim->error || ranks_has(faulted, claim->error_rank))
            continue;
        node_tell(node, TELL_FILTER_ERROR, claim->error_rank,
                  stream->definition.id, claim->error);
        if (ranks_add(faulted, claim->error_rank, claim->error_rank) < 0)
            node->failed = true;
    }
}

/* Front-end: the stream is open when its members have claimed it (3.1a). */
static void try_finish_opening(struct node *node,
                               struct stream *stream,
                               const struct claim *claim)
{
    struct action *tell;

    if (!stream->loaded)
        return;
    if (!stream->root->opening) {
        if (!stream->root->refused)
            tell_errors(node, stream);
        return;
    }
    if (!claim->error && !is_claimed(node, stream, claim))
        return;
    stream->root->opening = false;
    stream->root->refused = claim->error != NULL;
    tell = node_tell(node, TELL_OPENED, claim->error_rank,
                     stream->definition.id, claim->error);
    tell->code = claim->error ? -ELIBBAD : 0;
}

/* If a sync waits for one of the joiners, it ends at another marker (16.11). */
void settle_joiners(struct node *node, struct stream *stream)
{
    struct ranks named = {0};

    settle_claimed(node, stream, &named);
    if (ranks_intersect(&named, &stream->root->entering) < 0 ||
        ranks_subtract(&stream->root->entering, &named) < 0)
        node->failed = true;
    if (named.count == 0)
        return;
    if (!stream->closing && stream_is_replayable(stream)) {
        bool awaited = stream->kind->delays_sync &&
                       stream->kind->delays_sync(stream, &named);

        downward_marker(node, stream, &named);
        if (awaited)
            downward_sync(node, stream);
    }
    ranks_fini(&named);
}

/* Front-end: what every member has received is stable (10.2). */
static void settle_update_root(struct node *node, struct stream *stream)
{
    struct claim claim;
    bool proves = stream->root->opening;

    settle_build(node, stream, &claim);
    if (ranks_meet(&stream->root->entering, &claim.members))
        node_due(node, stream, DUE_MARKER);
    try_finish_opening(node, stream, &claim);
    stream->root->recoverable =
        claim.recoverable && (proves || stream->root->recoverable);
    if (ranks_cover(&claim.members, &stream->definition.members))
        downward_set_stable(node, stream, claim.received);
    if (node->views.sent_count > 0 && stream->definition.id == 0)
        node->due |= DUE_VIEW;
    claim_fini(&claim);
}

void settle_update(struct node *node, struct stream *stream)
{
    struct claim claim;

    if (!stream->loaded || !stream->active)
        return;
    if (node->role == NODE_FRONTEND) {
        settle_update_root(node, stream);
        return;
    }
    if (!node->parent || node->parent->life.state != LINK_UP || !node->reported)
        return; /* the parent does not know this node's members */
    if (claims_later(node, stream)) {
        stream->settle.claim_due = true;
        return;
    }
    settle_build(node, stream, &claim);
    if (stream->settle.has_sent &&
        claim.received <= stream->settle.sent.received &&
        claim.drained == stream->settle.sent.drained &&
        !is_recounted(stream, &claim) &&
        ranks_equal(&claim.members, &stream->settle.sent.members)) {
        claim_fini(&claim);
        return;
    }
    if (stream->kind->precedes_claim &&
        stream->kind->precedes_claim(node, stream)) {
        claim_fini(&claim);
        return;
    }
    if (is_claim_urgent(node, stream, &claim) &&
        (stream->up.resumes == 0 || stream->kind->announce))
        settle_send_claim(node, stream, stream->settle.told);
    else
        stream->settle.claim_due = true;
    claim_fini(&claim);
}

void settle_beat(struct node *node)
{
    for (size_t i = node->stream_count; i-- > 0;) {
        struct stream *stream = node->streams[i];

        skip_flush(node, stream);
        if (stream->settle.claim_due)
            settle_send_claim(node, stream, stream->settle.told);
        if (stream->kind->beat)
            stream->kind->beat(node, stream);
        downward_beat(node, stream);
        if (stream->closing)
            downward_pending(node, stream);
    }
}

/* ---- settling (10.6) ---- */

/* Back-end: note which packets the application has processed. */
static void note_processed(const struct node *node, struct stream *stream)
{
    uint64_t said = stream->app.settle_at > node->receive_at
                        ? stream->app.settle_at
                        : node->receive_at;

    if (said >= stream->app.taken_at || node->leaving)
        stream->app.processed = stream->app.delivered - stream->app.untaken;
}

/* Back-end: the application has processed all packets before the marker
 * (10.6). The packets that it sent until now are ahead of the claim. */
void settle_marker(struct node *node, struct stream *stream)
{
    struct mark marker = fifo_pop(&stream->app.markers).settled;

    if (stream->kind->settle)
        stream->kind->settle(node, stream, marker);
    stream->settle.settled = marker;
    upward_begin_epoch(stream, marker.epoch);
    node->markers -= stream->app.markers.count == 0;
    upward_claim(node, stream);
    upward_pump(node, stream);
}

/* Front-end: the sync returns. What was lost since the last one counts, in all
 * epochs: markers for joiners began some. */
static void tell_synced(struct node *node,
                        struct stream *stream,
                        const struct claim *claim)
{
    struct stream_root *root = stream->root;
    bool lossy =
        stream->kind->is_lossy && claim->loss.lossy > root->synced_epoch;
    struct action *news;

    deliver_end_epochs(node, stream, claim->settled.epoch);
    if (root->withheld_epoch < claim->settled.epoch) {
        root->withheld += root->withheld_last;
        root->withheld_last = 0;
    }
    news = node_tell(node, TELL_SYNCED, 0, stream->definition.id, NULL);
    news->sequence = claim->settled.number;
    news->code = lossy || root->withheld > 0 || root->lost_wave;
    news->rank = root->withheld;
    root->sync = 0;
    root->withheld = 0;
    root->lost_wave &= root->lost_epoch >= claim->settled.epoch;
    root->synced_epoch = claim->settled.epoch;
    if (!news->code)
        return;
    root->given_up = claim->settled.epoch;
    ranks_fini(&root->losers);
    if (lossy && ranks_copy(&root->losers, &claim->loss.losers) < 0)
        node->failed = true;
}

/* All children that have members have settled the marker of `claim`. */
static void marker_reached(struct node *node,
                           struct stream *stream,
                           const struct claim *claim)
{
    stream->settle.settled = claim->settled;
    if (node->role != NODE_FRONTEND)
        upward_claim(node, stream);
    else if (stream->root->sync &&
             claim->settled.number >= stream->root->sync &&
             !stream->kind->syncs_by_wave)
        tell_synced(node, stream, claim);
}

/* Whether a packet of an epoch before `epoch` still waits here. */
static bool is_behind(const struct node *node,
                      const struct stream *stream,
                      uint32_t epoch)
{
    return upward_is_behind(node, stream, epoch) ||
           wave_holds(stream->up.wave, (uint64_t)epoch << PACKET_WAVE_BITS);
}

static void try_settle_internal(struct node *node, struct stream *stream)
{
    struct claim claim;
    bool covered, nobody;

    settle_build(node, stream, &claim);
    /* While a slot has members, a TOTAL will report that they are gone. */
    nobody = stream->kind->is_whole && stream->root
                 ? stream->definition.members.count == 0
                 : !stream_has_members(node, stream);
    if (nobody)
        claim.settled = stream->root ? (struct mark){stream->root->sync,
                                                     stream->root->sent.epoch}
                                     : (struct mark){0};
    if (!stream->kind->settled && owes(node, stream))
        covered = false; /* 18.7; of totals nothing is owed (17.4) */
    else if (node->role != NODE_FRONTEND)
        covered = true;
    else if (stream->kind->is_whole)
        covered = stream->kind->is_whole(node, stream);
    else
        covered = ranks_cover(&claim.members, &stream->definition.members);
    if (covered && claim.settled.number > stream->settle.settled.number &&
        claim.settled.number <= claim.received && /* this node has the marker */
        !is_behind(node, stream, claim.settled.epoch))
        marker_reached(node, stream, &claim);
    claim_fini(&claim);
}

void settle_try(struct node *node, struct stream *stream)
{
    if (node->role == NODE_BACKEND) {
        note_processed(node, stream);
        if (!stream->active || !stream->loaded ||
            !upward_is_idle(node, stream) || wave_bytes(stream->up.wave) > 0)
            return;
        while (stream->app.markers.count > 0 &&
               fifo_peek(&stream->app.markers)->number <= stream->app.processed)
            settle_marker(node, stream);
        if (node->leaving && stream->kind->leaving)
            stream->kind->leaving(node, stream);
        return;
    }
    if (stream->settle.hurried > stream->settle.settled.number ||
        (stream->root && stream->root->sync > stream->settle.settled.number))
        try_settle_internal(node, stream);
}
