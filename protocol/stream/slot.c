/* slot.c - the slots of a stream of totals (PROTOCOL 17). */
#include "protocol/stream/slot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "protocol/stream/tally.h"
#include "wire/packet.h"

int totals_begin(struct stream *stream, const struct node *node)
{
    (void)node;
    stream->totals = calloc(1, sizeof(*stream->totals));
    return stream->totals ? 0 : -ENOMEM;
}

void totals_end(struct stream *stream)
{
    struct totals *totals = stream->totals;

    if (!totals)
        return;
    for (size_t i = 0; i < totals->parting_count; i++)
        frame_fini(&totals->partings[i].frame);
    total_fini(&totals->packing);
    free(totals->partings);
    free(totals->inputs);
    free(totals->inlets);
    free(totals->keys);
    free(totals->kept);
    free(totals);
}

void slot_free(struct slot *slot)
{
    if (!slot)
        return;
    ranks_fini(&slot->set);
    total_fini(&slot->next);
    free(slot);
}

struct slot *slot_at(const struct node *node,
                     const struct stream *stream,
                     uint32_t at)
{
    return node_child(node, at) ? stream->branches[at].slot : NULL;
}

/* ---- sets (17.5) ---- */

bool slots_unite(struct node *node,
                 const struct stream *stream,
                 struct ranks *out)
{
    bool good = true;

    for (uint32_t at = 0; at < stream->branch_count; at++) {
        const struct slot *slot = slot_at(node, stream, at);

        if (!slot)
            continue;
        good &= !slot->is_doubted && !ranks_meet(out, &slot->set);
        if (ranks_unite(out, &slot->set) < 0)
            node->failed = true;
    }
    return good;
}

struct mark totals_settled(struct node *node, const struct stream *stream)
{
    struct mark settled = {0};
    struct ranks set = {0};
    bool first = true;

    if (slots_unite(node, stream, &set) && !ranks_meet(&set, &node->lost)) {
        for (uint32_t at = 0; at < stream->branch_count; at++) {
            const struct slot *slot = slot_at(node, stream, at);

            if (!slot || slot->set.count == 0)
                continue;
            if (first || slot->settled.number < settled.number)
                settled = slot->settled;
            first = false;
        }
    }
    ranks_fini(&set);
    return settled;
}

bool slots_lack(const struct node *node,
                const struct stream *stream,
                uint32_t rank)
{
    for (uint32_t at = 0; at < stream->branch_count; at++) {
        const struct slot *slot = slot_at(node, stream, at);

        if (slot && ranks_has(&slot->set, rank))
            return false;
    }
    return true;
}

/* Whether the total of a back-end that has left is to be joined now (17.7). */
static bool may_part(const struct node *node, const struct stream *stream)
{
    for (size_t i = 0; i < stream->totals->parting_count; i++)
        if (slots_lack(node, stream, stream->totals->partings[i].rank))
            return true;
    return false;
}

bool totals_are_whole(struct node *node, const struct stream *stream)
{
    struct ranks set = {0};
    bool whole;

    /* A commnode that was stopped may have an old part of a member whose new
     * branch has ended: less than a sync has covered. */
    if (stream->totals->changed ||
        (stream->definition.members.count > 0 &&
         totals_settled(node, stream).number < stream->settle.settled.number))
        return false;
    whole = slots_unite(node, stream, &set) && !ranks_meet(&set, &node->lost) &&
            ranks_cover(&set, &stream->definition.members);
    ranks_fini(&set);
    return whole;
}

/* ---- changes ---- */

bool totals_wait(const struct stream *stream)
{
    return stream->totals->changed || stream->up.compensating;
}

/* The total has changed by more than the packets that were sent. */
static void totals_change(struct node *node, struct stream *stream)
{
    stream->totals->changed = true;
    if (node->parent && node->parent->life.state == LINK_UP)
        upward_hold(stream, true);
}

void totals_missed(struct node *node, struct stream *stream)
{
    totals_change(node, stream);
}

void slot_end(struct node *node, struct stream *stream, uint32_t at)
{
    struct branch *branch;

    if (at >= stream->branch_count)
        return;
    branch = &stream->branches[at];
    if (!branch->slot)
        return;
    slot_free(branch->slot);
    branch->slot = NULL;
    totals_change(node, stream);
}

void slot_claimed(struct node *node, struct stream *stream, struct peer *peer)
{
    struct slot *slot = stream->branches[peer->slot].slot;
    struct mark settled = stream->branches[peer->slot].claim.settled;

    (void)node;
    if (!slot)
        return;
    if (slot->is_due) {
        slot->later = settled; /* packets after TOTAL may wait here */
        slot->has_later = true;
    } else {
        slot->settled = settled;
    }
}

/* The slot of `branch`, created if necessary; NULL: out of memory. */
static struct slot *slot_make(struct stream *stream, struct branch *branch)
{
    if (!branch->slot) {
        branch->slot = calloc(1, sizeof(*branch->slot));
        if (branch->slot)
            branch->slot->key = ++stream->totals->last_key;
    }
    return branch->slot;
}

int slot_take(struct node *node, struct peer *peer, const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    struct branch *branch;
    struct slot *slot;
    struct total total = {0};
    bool is_lost;
    int r;

    if (!stream)
        return frame->stream > node->last_seen ? -EPROTO : 0;
    if (!stream->totals)
        return node_refuse(node, "the stream has no totals");
    r = total_decode(frame, &total);
    if (r < 0)
        return r;
    if (!member_may_claim(node, peer, &total.set) ||
        (node->role == NODE_FRONTEND &&
         total.settled.number > stream->down.last)) {
        total_fini(&total);
        return -EPROTO;
    }
    branch = stream_branch(stream, peer->slot);
    /* a back-end that was given up: its link has ended for the stream (17.6) */
    slot = branch && !(peer->role == NODE_BACKEND &&
                       ranks_has(&node->lost, peer->rank))
               ? slot_make(stream, branch)
               : NULL;
    if (!slot) {
        total_fini(&total);
        return branch ? 0 : -ENOMEM;
    }
    wave_void(stream->up.wave, peer->slot); /* the total covers them */
    r = plain_replaced(stream, peer, (struct wave_number){.wave = total.level});
    wave_answer(stream->up.wave, peer->slot,
                (uint64_t)total.settled.epoch << PACKET_WAVE_BITS);
    total_fini(&slot->next);
    slot->next = total;
    slot->is_due = true;
    slot->has_later = false;
    is_lost = total.is_doubted && peer->role == NODE_BACKEND;
    stream->totals->broken |= is_lost;
    totals_change(node, stream);
    upward_run(node, stream);
    stream = node_stream(node, frame->stream);
    if (is_lost && stream && node->role == NODE_FRONTEND)
        failure_end(node, stream, peer->rank,
                    "a back-end could not pack its part of the total");
    return r;
}

/* ---- the call ---- */

/* Whether to wait, at most for one heartbeat, for the first total of a child
 * with members: one total that covers all of them is enough. */
static bool is_awaited(const struct node *node, const struct stream *stream)
{
    if (node->role != NODE_COMMNODE || stream->totals->impatient)
        return false;
    for (uint32_t at = 0; at < stream->branch_count; at++)
        if (node_child(node, at) && stream->branches[at].members.count > 0 &&
            !stream->branches[at].slot)
            return true;
    return false;
}

/* Whether nothing was joined yet, here or below. Then the total is known
 * without a call. */
static bool is_blank(const struct node *node, const struct stream *stream)
{
    if (stream->totals->used || stream->totals->parting_count > 0)
        return false;
    for (uint32_t at = 0; at < stream->branch_count; at++) {
        const struct slot *slot = slot_at(node, stream, at);

        if (slot && slot->is_due && !slot->next.is_empty)
            return false;
    }
    return true;
}

/* Whether the total is to be packed: no wave may be released before that. */
static bool totals_are_due(const struct node *node, struct stream *stream)
{
    const struct stream_root *root = stream->root;

    if (!stream->loaded)
        return false;
    if (may_part(node, stream))
        stream->totals->changed = true;
    return totals_wait(stream) ||
           (root && root->state_asked > root->state_called);
}

void totals_run(struct node *node, struct stream *stream)
{
    if (totals_are_due(node, stream))
        node_due(node, stream, DUE_TOTAL);
    else
        upward_release_sets(node, stream);
    upward_go_on(node, stream);
}

void totals_pack(struct node *node, struct stream *stream)
{
    while (totals_are_due(node, stream)) {
        bool is_late = node->filter.is_out && !is_blank(node, stream);

        if (is_late)
            stream->due |= DUE_TOTAL; /* when the call has ended */
        if (is_late || is_awaited(node, stream) || totals_call(node, stream))
            return;
    }
    upward_run(node, stream);
}

bool totals_precede_claim(struct node *node, struct stream *stream)
{
    if (stream->totals->told)
        return false;
    upward_hold(stream, true); /* the claim follows the total (17.4) */
    node_due(node, stream, DUE_TOTAL);
    return true;
}

void totals_orphaned(struct node *node, struct stream *stream, uint32_t rank)
{
    (void)node;
    (void)rank;
    stream->totals->told = false;
    if (stream->active && stream->filters.recoverable)
        upward_drop_queue(stream);
}

void totals_beat(struct node *node, struct stream *stream)
{
    if (!totals_wait(stream) || !is_awaited(node, stream))
        return;
    stream->totals->impatient = true;
    upward_run(node, stream);
}

/* ---- waves ---- */

void totals_sort(const struct node *node,
                 struct stream *stream,
                 struct wave_set *set)
{
    size_t i, left = 0;

    for (i = 0; i < set->count; i++) {
        struct frame *frame = &set->frames[i];
        const struct slot *slot = NULL;

        if (node->role != NODE_BACKEND && set->links[i] != WAVE_NO_LINK)
            slot = slot_at(node, stream, set->links[i]);
        if ((frame->flags & FRAME_VOID) ||
            (!slot && node->role != NODE_BACKEND)) {
            set->contributors -= frame->contributors < set->contributors
                                     ? frame->contributors
                                     : set->contributors;
            frame_fini(frame);
            continue;
        }
        set->frames[left] = *frame;
        set->inlets[left] = set->inlets[i];
        set->links[left++] = slot ? slot->key : SLOT_OWN;
    }
    set->count = left;
    stream->totals->used |= left > 0;
}

/* ---- back-ends that leave (17.7) ---- */

void totals_part(struct node *node,
                 struct stream *stream,
                 uint32_t rank,
                 struct frame *frame)
{
    struct totals *totals = stream->totals;

    if (array_grow(&totals->partings, totals->parting_count,
                   sizeof(*totals->partings)) < 0) {
        frame_fini(frame);
        node->failed = true;
        return;
    }
    totals->partings[totals->parting_count++] = (struct parting){rank, *frame};
    frame->payload = NULL;
}

uint64_t totals_bytes(const struct stream *stream)
{
    uint64_t bytes = 0;

    if (!stream->totals)
        return 0;
    for (uint32_t at = 0; at < stream->branch_count; at++) {
        const struct slot *slot = stream->branches[at].slot;

        if (slot && slot->next.payload)
            bytes += slot->next.payload->len;
    }
    for (size_t i = 0; i < stream->totals->parting_count; i++)
        bytes += frame_len(&stream->totals->partings[i].frame);
    return bytes;
}
