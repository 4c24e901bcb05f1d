/* members.c - the members of each stream, and the branch that each is on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* The branch has lost its last member. A commnode counts until it says that it
 * is drained (18.7). `gone`: its link has ended. */
static void branch_emptied(struct node *node,
                           struct stream *stream,
                           const struct peer *peer,
                           bool gone)
{
    if (gone)
        stream->branches[peer->slot].claimed = false; /* nothing more comes */
    if (!gone && branch_is_owed(node, stream, peer->slot)) {
        if (stream->kind->owe)
            stream->kind->owe(stream, peer->slot);
    } else if (stream->kind->leave) {
        stream->kind->leave(node, stream, peer->slot);
    }
}

/* Whether packets of members that a claim of `peer` has dropped may be in it. They
 * are not if it had not read OPEN when it made the claim. */
static bool may_have_packets(const struct node *node,
                             const struct stream *stream,
                             const struct peer *peer)
{
    const struct stream *zero = node->streams[0];

    return peer->slot >= zero->branch_count ||
           zero->branches[peer->slot].claim.read >= stream->opened_at;
}

/* Keep on the branch to `peer` only members below `peer`. */
static void trim_branch(struct node *node,
                        struct stream *stream,
                        struct peer *peer,
                        bool gone)
{
    struct branch *branch;
    uint64_t had;

    if (peer->slot >= stream->branch_count)
        return;
    branch = &stream->branches[peer->slot];
    had = ranks_size(&branch->members);
    if (ranks_intersect(&branch->members, &peer->below) < 0 ||
        ranks_intersect(&branch->claim.members, &peer->below) < 0)
        node->failed = true;
    if (branch->members.count == 0 && (had > 0 || gone))
        branch_emptied(node, stream, peer, gone);
    else if (ranks_size(&branch->members) < had && stream->kind->owe &&
             may_have_packets(node, stream, peer))
        stream->kind->owe(stream, peer->slot);
}

/* The members of `stream` have changed: continue whatever waited for that.
 * `lost`: LOST has taken the last one of a branch. */
static void members_changed(struct node *node, struct stream *stream, bool lost)
{
    if (node->role == NODE_BACKEND)
        return;
    if (stream->kind->trimmed)
        stream->kind->trimmed(node, stream);
    /* the parent may have read LOST ahead of a COMPENSATION of this node */
    if (lost && stream->up.counted && node->role == NODE_COMMNODE &&
        stream->definition.id != 0 && !stream_has_members(node, stream))
        upward_uncount(stream);
    if (!stream_has_members(node, stream)) {
        downward_source(node, stream);
        settle_fall_back(node, stream, (struct mark){0});
    }
    downward_passed(node, stream);
    settle_update(node, stream);
    upward_run(node, stream);
}

/* Remove the members that are not below `peer` any more from its branches. */
static void trim(struct node *node, struct peer *peer, bool gone)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        trim_branch(node, node->streams[i], peer, gone);
        members_changed(node, node->streams[i], false);
    }
}

void member_trim(struct node *node, struct peer *peer)
{
    trim(node, peer, false);
}

void member_forget(struct node *node, struct peer *peer)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        struct branch *branch = stream_branch(node->streams[i], peer->slot);

        if (!branch)
            continue;
        slot_free(branch->slot);
        if (loss_raise(&node->streams[i]->settle.loss, &branch->claim.loss) < 0)
            node->failed = true;
        node->streams[i]->kind->unlink(node, node->streams[i], peer->slot);
        ranks_fini(&branch->members);
        claim_fini(&branch->claim);
        fifo_fini(&branch->aside);
        memset(branch, 0, sizeof(*branch));
    }
}

void member_lost_child(struct node *node, struct peer *peer, const char *text)
{
    struct ranks none = {0}, below = peer->below;

    peer->below = none;
    node->shifted = true;
    for (size_t i = 0; i < node->stream_count; i++)
        if (node->streams[i]->kind->part_ended)
            node->streams[i]->kind->part_ended(node, node->streams[i],
                                               peer->slot);
    trim(node, peer, true);
    member_forget(node, peer);
    /* A stream without members may have waited for the branch (10.1b). */
    for (size_t i = 0; i < node->stream_count; i++)
        settle_update(node, node->streams[i]);
    peer->below = below;
    if (node->closing && !peer->left &&
        (ranks_add(&node->astray, peer->rank, peer->rank) < 0 ||
         ranks_unite(&node->astray, &peer->below) < 0))
        node->failed = true;
    if (node->closing)
        return;
    if (!node->launched)
        record_gone_below(node, peer, text);
    else if (peer->left)
        record_gone(node, peer->rank, "it has left");
    else if (peer->moving)
        ; /* it has another parent, as far as known here (18.3) */
    else if (peer->role == NODE_COMMNODE && !peer->gave_up)
        record_tell(node, peer->rank, peer->incarnation, TABLE_FAILED, text);
    else if (peer->role == NODE_COMMNODE)
        record_doubt(node, peer->rank, peer->incarnation);
    if (node->role == NODE_FRONTEND)
        cover_update(node);
}

void member_give_up(struct node *node,
                    enum control_type how,
                    const struct ranks *ranks,
                    const char *text)
{
    struct control control = {.type = how};
    uint32_t rank = RANK_NONE;

    if (ranks_copy(&control.ranks, ranks) < 0 ||
        ranks_intersect(&control.ranks, &node->backends) < 0)
        node->failed = true;
    observer_given_up(node, &control.ranks, text);
    while ((rank = ranks_after(&control.ranks, rank)) != RANK_NONE) {
        node_tell(node, TELL_BACKEND_LOST, rank, 0, text);
        plan_lost(node, rank);
    }
    if (control.ranks.count > 0) {
        zero_send(node, &control);
        view_changed(node);
    }
    control_fini(&control);
    cover_update(node);
}

/* Remove lost ranks from one stream. */
static void remove_lost(struct node *node,
                        struct stream *stream,
                        const struct ranks *ranks)
{
    bool emptied = false;

    if (stream->kind->lost && node->role == NODE_FRONTEND)
        stream->kind->lost(node, stream, ranks);
    if (ranks_subtract(&stream->definition.members, ranks) < 0)
        node->failed = true;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        struct branch *branch = &stream->branches[slot];
        const struct peer *peer = node_child(node, slot);
        bool had = branch->members.count > 0;

        if (ranks_subtract(&branch->members, ranks) < 0 ||
            ranks_subtract(&branch->claim.members, ranks) < 0)
            node->failed = true;
        if (!had || branch->members.count > 0)
            continue;
        emptied = true;
        if (peer)
            branch_emptied(node, stream, peer, false);
    }
    members_changed(node, stream, emptied);
}

void member_lost(struct node *node, const struct ranks *ranks, bool left)
{
    if (node->role == NODE_BACKEND && ranks_has(ranks, node->rank)) {
        node->parted = left;
        launch_end(node, left ? "this back-end has left the network"
                              : "the front-end has given this back-end up");
        return;
    }
    if (ranks_subtract(&node->backends, ranks) < 0 ||
        ranks_unite(&node->lost, ranks) < 0)
        node->failed = true;
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && ranks_subtract(&peer->below, ranks) < 0)
            node->failed = true;
        if (peer && peer->role == NODE_BACKEND && ranks_has(ranks, peer->rank))
            for (size_t i = 0; i < node->stream_count; i++)
                if (node->streams[i]->kind->part_ended)
                    node->streams[i]->kind->part_ended(node, node->streams[i],
                                                       slot);
    }
    for (size_t i = 0; i < node->stream_count; i++)
        remove_lost(node, node->streams[i], ranks);
}

/* Add the new members below `peer` to its branch, behind packet `start`. */
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
        /* an adopted child has asked for nothing yet: after ENTER it will */
        branch->fed = node->streams[0]->branches[peer->slot].fed;
        branch->cursor = start;
        branch->skipped = 0;
        branch->claim.received = start;
        credit_grant(&branch->down, peer->granted);
    }
    if (ranks_unite(&branch->members, &here) < 0)
        node->failed = true;
    ranks_fini(&here);
}

/* Add the new members of ENTER to `stream`, which is number `index` in it. */
static void enter_stream(struct node *node,
                         struct stream *stream,
                         const struct control *control,
                         uint32_t index)
{
    bool first = !stream_has_members(node, stream);
    const struct ranks *joined = &control->ranks;
    uint64_t start = control->starts[index];

    if (ranks_unite(&stream->definition.members, joined) < 0)
        node->failed = true;
    downward_note_epoch(stream, control->epochs[index]);
    if (stream->kind->entered && node->role == NODE_FRONTEND)
        stream->kind->entered(node, stream, joined);
    if (node->role == NODE_BACKEND) {
        if (stream->active || !ranks_has(joined, node->rank))
            return;
        stream->active = true;
        downward_begin(stream, start);
        settle_begin(stream, (struct mark){control->markers[index],
                                           control->epochs[index]});
        if (node->parent)
            upward_grant(stream, node->parent->granted);
        stream->kind->enter(node, stream, control->epochs[index]);
        if (node->parent && node->incarnation > 0)
            downward_ask(node, stream); /* the parent had ENTER earlier */
        node_act(node, ACTION_LOAD)->definition = &stream->definition;
        return;
    }
    if (first && node->role == NODE_COMMNODE && stream->down.last < start)
        downward_restart(node, stream, start);
    /* an orphan that asks to be adopted is not ready */
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node_child(node, slot) && node->peers[slot]->ready)
            enter_branch(node, stream, node->peers[slot], joined, start);
    /* After an adoption the parent may have handled ENTER before it learned of
     * these members below this node. Then it waits for FEED. */
    if ((first || !stream->down.sourced) && node->parent &&
        (node->incarnation > 0 || node->shifted))
        downward_ask(node, stream);
    else if (first)
        downward_source(node, stream);
    downward_pump(node, stream);
    settle_update(node, stream);
}

void member_enter(struct node *node, const struct control *control)
{
    if (ranks_unite(&node->streams[0]->definition.members, &control->ranks) < 0)
        node->failed = true;
    if (ranks_has(&control->ranks, node->rank))
        node->outside = false;
    for (uint32_t i = 0; i < control->stream_count; i++) {
        struct stream *stream = node_stream(node, control->streams[i]);

        if (stream && stream->definition.id != 0)
            enter_stream(node, stream, control, i);
    }
}

/* List the streams that a joiner enters, each with its present position. */
static int list_growing(struct node *node, struct control *control)
{
    control->streams = calloc(node->stream_count, sizeof(*control->streams));
    control->starts = calloc(node->stream_count, sizeof(*control->starts));
    control->markers = calloc(node->stream_count, sizeof(*control->markers));
    control->epochs = calloc(node->stream_count, sizeof(*control->epochs));
    if (!control->streams || !control->starts || !control->markers ||
        !control->epochs)
        return -ENOMEM;
    for (size_t i = 1; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (!stream->definition.grow || stream->closing)
            continue;
        if (ranks_unite(&stream->root->entering, &control->ranks) < 0)
            return -ENOMEM;
        control->streams[control->stream_count] = stream->definition.id;
        control->starts[control->stream_count] = stream->down.last;
        control->markers[control->stream_count] = stream->root->sent.number;
        control->epochs[control->stream_count] = stream->root->sent.epoch;
        control->stream_count++;
    }
    return 0;
}

/* Front-end: send ENTER for `joined`, with where they begin on each stream. */
static void admit_joined(struct node *node, const struct ranks *joined)
{
    struct control control = {.type = CONTROL_ENTER};
    uint32_t rank = RANK_NONE;
    char text[80];

    if (ranks_copy(&control.ranks, joined) < 0 ||
        list_growing(node, &control) < 0 ||
        ranks_unite(&node->backends, joined) < 0)
        node->failed = true;
    else
        zero_send(node, &control);
    snprintf(text, sizeof(text), "it enters %u of the open streams",
             control.stream_count);
    while ((rank = ranks_after(joined, rank)) != RANK_NONE)
        node_tell(node, TELL_BACKEND_JOINED, rank, 0, text);
    view_changed(node);
    control_fini(&control);
}

/* Back-ends `gained`, adopted or joined, are now below `peer`. The front-end
 * admits those that are not in `backends`. */
static void member_gain(struct node *node,
                        struct peer *peer,
                        struct ranks *gained)
{
    for (size_t i = 1; i < node->stream_count; i++) {
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
            branch->fed = false; /* the child sends FEED (10.4) */
        if (ranks_unite(&branch->members, &members) < 0)
            node->failed = true;
        ranks_fini(&members);
    }
    if (node->role != NODE_FRONTEND)
        return;
    if (ranks_subtract(gained, &node->backends) < 0)
        node->failed = true;
    if (gained->count > 0 && !node->failed)
        admit_joined(node, gained);
}

/* PROTOCOL 11.2: the parent removed lost ranks from a claim of this node. If it
 * knew of no other members below this node, it no longer sends packets to this
 * node, and its waves do not wait for this node. Ask for both again. */
static void reenter_streams(struct node *node)
{
    for (size_t i = 1; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (!stream_has_members(node, stream))
            continue;
        downward_ask(node, stream);
        stream->kind->count_anew(node, stream);
        upward_run(node, stream);
    }
}

int member_expel(struct node *node, struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct ranks ranks = {0};
    const uint32_t *pairs;
    uint32_t count;
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
    for (uint32_t slot = 0; slot < node->peer_count && !node->ended; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && ranks_meet(&peer->below, &ranks))
            node_send(node, peer, frame_ref(frame));
    }
    if (node->role == NODE_COMMNODE && node->parent)
        reenter_streams(node);
    ranks_fini(&ranks);
    return 0;
}

/* A claim on stream 0 lists the back-ends that are now below `peer`. */
static void update_below(struct node *node, struct peer *peer)
{
    struct branch *zero = stream_branch(node->streams[0], peer->slot);
    struct ranks gained = {0}, lost = {0};
    bool gains;

    if (!zero || ranks_copy(&gained, &zero->claim.members) < 0 ||
        ranks_subtract(&gained, &peer->below) < 0 ||
        ranks_copy(&lost, &peer->below) < 0 ||
        ranks_subtract(&lost, &zero->claim.members) < 0 ||
        ranks_copy(&peer->below, &zero->claim.members) < 0 ||
        ranks_copy(&zero->members, &zero->claim.members) < 0)
        node->failed = true;
    peer->claims++;
    gains = gained.count > 0;
    if (gains)
        skip_reconsider(node, peer);
    node->shifted |= lost.count > 0 || gained.count > 0;
    if (lost.count > 0 && !node->failed)
        member_trim(node, peer);
    if (gained.count > 0 && !node->failed)
        member_gain(node, peer, &gained);
    if (node->role == NODE_FRONTEND)
        cover_update(node);
    settle_update(node, node->streams[0]);
    if (gains)
        skip_gained(node, peer);
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
    return true; /* two branches may claim a back-end that has moved (10.1) */
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

/* Read a claim, remove the back-ends that were given up (11.2), and check
 * whether it can be true. `out` is untouched on error. */
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
        return node_refuse(node, "the error is not from a node below it");
    }
    if (peer->role == NODE_BACKEND && claim.loss.losers.count > 0 &&
        (ranks_size(&claim.loss.losers) > 1 ||
         !ranks_has(&claim.loss.losers, peer->rank))) {
        claim_fini(&claim);
        return node_refuse(node, "the loss is not of a node below it");
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
    claim.drained &= claim.members.count == 0 && peer->role == NODE_COMMNODE;
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
        update_below(node, peer);
        return 0;
    }
    if (ranks_intersect(&branch->claim.members, &branch->members) < 0)
        node->failed = true;
    if (branch->claim.drained && stream->kind->leave)
        stream->kind->leave(node, stream, peer->slot);
    if (stream->kind->claimed)
        stream->kind->claimed(node, stream, peer);
    settle_fall_back(node, stream,
                     stream->kind->settled ? stream->kind->settled(node, stream)
                                           : branch->claim.settled);
    level = (uint64_t)branch->claim.settled.epoch << PACKET_WAVE_BITS;
    wave_answer(stream->up.wave, peer->slot, level);
    settle_hurry(stream, branch->claim.settled);
    settle_update(node, stream);
    upward_run(node, stream);
    downward_pending(node, stream);
    return 0;
}
