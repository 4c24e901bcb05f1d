/* check.c - the invariants of a node between two steps. */
#include "protocol/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "protocol/state.h"

struct check {
    const struct node *node;
    char *text;
    bool holds;
};

/* A relation that holds costs no function call. */
#define check_that(check, holds_, ...)                                         \
    ((holds_) ? (void)0 : does_not_hold(check, __VA_ARGS__))

/* Record the first relation that does not hold. */
static void does_not_hold(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

static void does_not_hold(struct check *check, const char *format, ...)
{
    va_list args;

    if (!check->holds)
        return;
    check->holds = false;
    va_start(args, format);
    vsnprintf(check->text, NODE_CHECK_TEXT, format, args);
    va_end(args);
}

/* Sorted runs that neither touch nor overlap. */
static void check_ranks(struct check *check,
                        const struct ranks *set,
                        const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct ranks_run *run = &set->runs[i];

        check_that(check,
                   run->first <= run->last &&
                       (i == 0 || run[-1].last + 1 < run->first),
                   "%s: run %zu is %u to %u", name, i, run->first, run->last);
    }
}

static void check_fifo(struct check *check,
                       const struct fifo *fifo,
                       uint32_t stream,
                       const char *name)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < fifo->count; i++)
        bytes += frame_len(&fifo_at(fifo, i)->frame);
    check_that(check, fifo->count <= fifo->room && bytes == fifo->bytes,
               "stream %u: %s has %u frames of %" PRIu64
               " bytes, says %" PRIu64,
               stream, name, fifo->count, bytes, fifo->bytes);
}

/* One parent, and all pointers to it agree; each peer is at its own index. */
static void check_peers(struct check *check)
{
    const struct node *node = check->node;
    uint32_t parents = 0;

    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node->peers[slot];

        if (!peer)
            continue;
        parents += peer == node->parent;
        check_that(check, peer->slot == slot, "peer %u says slot %u", slot,
                   peer->slot);
        check_that(check,
                   peer->link < node->link_count &&
                       node->links[peer->link] == peer,
                   "slot %u: link %u is not its own", slot, peer->link);
        check_that(check, peer != node->parent || peer->is_parent,
                   "the parent, %u, is no parent", peer->rank);
        check_ranks(check, &peer->below, "below a peer");
        check_that(check, !peer->ready || !peer->asking,
                   "%u asks to be a child, and is one", peer->rank);
    }
    for (uint32_t link = 0; link < node->link_count; link++)
        check_that(check, !node->links[link] || node->links[link]->link == link,
                   "link %u has the peer of another", link);
    check_that(check, parents == (node->parent ? 1 : 0),
               "the parent is there %u times", parents);
    check_that(check, !node->parent || node->role != NODE_FRONTEND,
               "the front-end has a parent");
}

/* Rank, role, parent, and the search for a parent. */
static void check_place(struct check *check)
{
    const struct node *node = check->node;
    bool root = node->role == NODE_FRONTEND;
    bool searches = node->heal.orphan.phase != ORPHAN_NOT;

    check_that(check, root == (node->rank == 0), "rank %u has role %d",
               node->rank, node->role);
    check_that(check,
               !searches || (!root && (!node->parent ||
                                       node->heal.orphan.phase >= ORPHAN_DIAL)),
               "it looks for a parent, and is the front-end, or pauses and has "
               "one");
    check_that(check, root || node->parent || searches || !node->launched,
               "it has no parent, and looks for none");
    check_that(check, node->launched == (node->heal.table != NULL),
               "it is launched or has a table, not both");
    check_that(check,
               root || node->uncovered_count + node->status.observer_count == 0,
               "observers, or back-ends without a branch, below the front-end");
    check_that(check, node->heal.probe_count <= LIMIT_CHILDREN,
               "%zu probes wait", node->heal.probe_count);
    check_that(check, node->incarnation <= LIMIT_INCARNATION, "incarnation %u",
               node->incarnation);
}

static void check_credit(struct check *check,
                         const struct stream *stream,
                         const struct credit *credit,
                         const struct debit *debit,
                         const char *name)
{
    uint32_t id = stream->definition.id;

    check_that(check, credit->used == 0 || credit->window > 0,
               "stream %u: %" PRIu64 " bytes sent without a window, %s", id,
               credit->used, name);
    check_that(check, debit->owed <= debit->taken,
               "stream %u: %" PRIu64 " bytes owed of %" PRIu64 " taken, %s", id,
               debit->owed, debit->taken, name);
    check_that(check, debit->owed == 0 || debit->owed < debit->window / 2,
               "stream %u: %" PRIu64 " bytes owed, of a window of %u, %s", id,
               debit->owed, debit->window, name);
}

static void check_claim(struct check *check,
                        const struct stream *stream,
                        const struct claim *claim,
                        const char *name)
{
    uint32_t id = stream->definition.id;

    check_ranks(check, &claim->members, name);
    check_that(check, claim->settled.number <= claim->received,
               "stream %u: %s, settled %" PRIu64 ", received %" PRIu64, id,
               name, claim->settled.number, claim->received);
}

/* Downward: packets in order, and no more credit than bytes received. */
static void check_downflow(struct check *check, const struct stream *stream)
{
    const struct downflow *down = &stream->down;
    const struct filter_call *call = &check->node->filter;
    uint32_t id = stream->definition.id;
    uint64_t credit = down->debit.owed + down->unreturned;

    if (call->is_out && !call->what.upward && call->what.stream == id)
        credit += call->credit;
    for (uint32_t i = 0; i < down->feed.store.count; i++) {
        const struct queued *stored = fifo_at(&down->feed.store, i);

        credit += stored->credit;
        check_that(check, stored->frame.number == down->feed.base + 1 + i,
                   "stream %u: %" PRIu64 " is stored %u behind %" PRIu64, id,
                   stored->frame.number, i, down->feed.base);
    }
    for (uint32_t i = 0; i < down->in.count; i++) {
        const struct queued *queued = fifo_at(&down->in, i);

        credit += queued->credit;
        check_that(check,
                   queued->frame.type == FRAME_DATA ||
                       queued->frame.type == FRAME_MARKER ||
                       queued->frame.type == FRAME_SKIP,
                   "stream %u: a %s frame is no packet", id,
                   frame_name(queued->frame.type));
    }
    check_that(check, credit <= down->debit.taken,
               "stream %u: credit for %" PRIu64 " bytes, %" PRIu64 " came", id,
               credit, down->debit.taken);
    check_fifo(check, &down->feed.store, id, "feed");
    check_fifo(check, &down->in, id, "down_in");
}

/* Upward: packets, RESUME, and queued claims. */
static void check_upflow(struct check *check, const struct stream *stream)
{
    const struct upflow *up = &stream->up;
    uint32_t id = stream->definition.id, resumes = 0;

    check_that(check,
               check->node->role != NODE_FRONTEND ||
                   up->out.count + up->late_out.count == 0,
               "stream %u: %u frames go up from the front-end", id,
               up->out.count + up->late_out.count);
    for (uint32_t i = 0; i < up->out.count; i++) {
        const struct queued *queued = fifo_at(&up->out, i);

        resumes += queued->frame.type == FRAME_RESUME;
        check_that(
            check,
            queued->frame.type == FRAME_RESUME ||
                queued->frame.type == FRAME_DATA ||
                (queued->frame.type == 0 &&
                 queued->settled.number <= stream->settle.settled.number),
            "stream %u: place %u on the way up is of type %u", id, i,
            queued->frame.type);
    }
    check_that(check, resumes == up->resumes,
               "stream %u: %u RESUMEs wait, and %u are counted", id, resumes,
               up->resumes);
    for (uint32_t i = 0; i < up->late_out.count; i++)
        check_that(check, fifo_at(&up->late_out, i)->frame.flags & FRAME_LATE,
                   "stream %u: a packet on time is in the late lane", id);
    check_fifo(check, &up->out, id, "up_out");
    check_fifo(check, &up->late_out, id, "late_out");
}

static void check_branch(struct check *check,
                         const struct stream *stream,
                         uint32_t slot)
{
    const struct branch *branch = &stream->branches[slot];
    const struct peer *child = node_child(check->node, slot);
    uint32_t id = stream->definition.id;
    uint64_t waiting = stream->waves && stream->waves->tally
                           ? tally_held(stream->waves->tally, slot)
                           : wave_owed(stream->up.wave, slot);

    check_that(check, child || branch->members.count == 0,
               "stream %u: slot %u has members and no child", id, slot);
    check_credit(check, stream, &branch->down, &branch->up, "a branch");
    check_claim(check, stream, &branch->claim, "a branch's claim");
    check_that(check, branch->claimed || branch->claim.members.count == 0,
               "stream %u: slot %u has a claim and none came", id, slot);
    check_that(check, waiting + branch->up.owed <= branch->up.taken,
               "stream %u: slot %u: %" PRIu64 " bytes wait, %" PRIu64 " came",
               id, slot, waiting, branch->up.taken);
    for (uint32_t i = 0; i < branch->aside.count; i++)
        check_that(check, fifo_at(&branch->aside, i)->frame.number == 0,
                   "stream %u: slot %u: a numbered packet goes aside", id,
                   slot);
    check_that(check,
               id == 0 || ranks_cover(&branch->members, &branch->claim.members),
               "stream %u: slot %u claims for others", id, slot);
    check_ranks(check, &branch->members, "a branch's members");
    check_fifo(check, &branch->aside, id, "aside");
}

/* A stream of whole waves: kept packets are not final, and their sums are right
 * (16.5, 16.6). Only members of a branch count there (16.9). */
static void check_waves(struct check *check, const struct stream *stream)
{
    const struct waves *waves = stream->waves;
    struct kept_sum kept = kept_now(&waves->retain.kept);
    const struct kept_packet *packet;
    struct kept_place place = {0};
    uint32_t id = stream->definition.id, count = 0, overs = 0;
    uint64_t bytes = 0, wave = 0;

    while ((packet = kept_next(&waves->retain.kept, &place))) {
        bool over = packet->flags & FRAME_OVER;

        overs += over;
        bytes += over ? 0 : FRAME_HEAD_MAX + packet->len;
        check_that(check,
                   packet->wave >= wave &&
                       (over || packet->wave > waves->final),
                   "stream %u: wave %" PRIu64 " is kept at %u, final %" PRIu64,
                   id, packet->wave, count, waves->final);
        wave = packet->wave;
        count++;
    }
    check_that(check,
               bytes == kept.bytes && count == kept.count &&
                   overs == kept.overs,
               "stream %u: %u packets with %" PRIu64
               " bytes are kept, says %u with %" PRIu64,
               id, count, bytes, kept.count, kept.bytes);
    check_that(check,
               !waves->tally || check->node->role == NODE_COMMNODE ||
                   tally_level(waves->tally).wave == waves->final,
               "stream %u: the front-end's level is not what is final", id);
    for (uint32_t slot = 0; slot < waves->set_count; slot++)
        check_that(check,
                   slot < stream->branch_count
                       ? ranks_cover(&stream->branches[slot].members,
                                     &waves->sets[slot])
                       : waves->sets[slot].count == 0,
                   "stream %u: slot %u counts for others", id, slot);
}

/* The slot of a link: its key is unique, a due TOTAL waits for a call, and only
 * while a TOTAL is due is there a later marker (17.2, 17.4). */
static void check_slot(struct check *check,
                       const struct stream *stream,
                       uint32_t at)
{
    const struct totals *totals = stream->totals;
    const struct slot *slot = stream->branches[at].slot;
    uint32_t id = stream->definition.id;

    if (!slot)
        return;
    check_that(check, totals && node_child(check->node, at),
               "stream %u: slot %u has a total, and no child or no use for it",
               id, at);
    check_that(check, totals && slot->key > 0 && slot->key <= totals->last_key,
               "stream %u: the key of slot %u is %u", id, at, slot->key);
    for (uint32_t i = 0; i < at; i++)
        check_that(check,
                   !stream->branches[i].slot ||
                       stream->branches[i].slot->key != slot->key,
                   "stream %u: slots %u and %u have one key", id, i, at);
    check_that(check, !slot->is_due || (totals && totals->changed),
               "stream %u: slot %u is to be replaced, and by no call", id, at);
    check_that(check, slot->is_due || !slot->has_later,
               "stream %u: slot %u settles behind a total that is in", id, at);
    check_ranks(check, &slot->set, "the set of a slot");
    check_ranks(check, &slot->next.set, "the set of a total");
}

/* A stream of totals: only the front-end has back-ends that have left, each
 * once (17.7), and vouches for the total (17.5). */
static void check_totals(struct check *check, const struct stream *stream)
{
    const struct totals *totals = stream->totals;
    bool root = check->node->role == NODE_FRONTEND;
    uint32_t id = stream->definition.id;

    check_that(check, root || (totals->parting_count == 0 && !totals->vouches),
               "stream %u: it vouches, or waits for those that left", id);
    for (size_t i = 0; i < totals->parting_count; i++)
        for (size_t k = 0; k < i; k++)
            check_that(
                check, totals->partings[k].rank != totals->partings[i].rank,
                "stream %u: %u has left twice", id, totals->partings[i].rank);
    check_ranks(check, &totals->packing.set, "the set of the last total");
}

/* A stream has a root at the front-end, and at no other node. */
static void check_root(struct check *check, const struct stream *stream)
{
    const struct stream_root *root = stream->root;
    uint32_t id = stream->definition.id;

    check_that(check, (root != NULL) == (check->node->role == NODE_FRONTEND),
               "stream %u: a root at a %d", id, check->node->role);
    if (!root)
        return;
    check_that(check, root->given_up <= root->synced_epoch,
               "stream %u: gave epoch %u up, synced %u", id, root->given_up,
               root->synced_epoch);
    check_that(check,
               root->sync <= root->sent.number &&
                   root->sent.number <= stream->down.last,
               "stream %u: waits for marker %" PRIu64 ", last %" PRIu64, id,
               root->sync, root->sent.number);
    check_that(check, root->synced_epoch <= root->sent.epoch,
               "stream %u: synced epoch %u, sent %u", id, root->synced_epoch,
               root->sent.epoch);
    check_that(check, root->state_called <= root->state_asked,
               "stream %u: state %" PRIu64 " packed, %" PRIu64 " asked", id,
               root->state_called, root->state_asked);
}

static void check_stream(struct check *check, const struct stream *stream)
{
    const struct node *node = check->node;
    uint32_t id = stream->definition.id;

    check_that(check, stream->branch_count <= node->peer_count,
               "stream %u: %u branches, %u peers", id, stream->branch_count,
               node->peer_count);
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        check_branch(check, stream, slot);
        check_slot(check, stream, slot);
    }
    check_that(check, stream->applied <= stream->pending_count,
               "stream %u: %zu of %zu controls have taken effect", id,
               stream->applied, stream->pending_count);
    check_credit(check, stream, &stream->up.credit, &stream->down.debit,
                 "the parent");
    check_claim(check, stream, &stream->settle.sent, "our claim");
    check_root(check, stream);
    check_that(check,
               node->role == NODE_COMMNODE ||
                   stream->up.put <= (uint64_t)stream->up.epoch + 1,
               "stream %u: put %u, epoch %u", id, stream->up.put,
               stream->up.epoch);
    check_that(check, stream->app.untaken > 0 || stream->app.untaken_bytes == 0,
               "stream %u: %" PRIu64 " bytes of no packet", id,
               stream->app.untaken_bytes);
    check_that(check,
               stream->app.taken_at <= node->takes &&
                   stream->app.settle_at <= node->takes,
               "stream %u: taken at %" PRIu64 " of %" PRIu64, id,
               stream->app.taken_at, node->takes);
    if (stream->waves)
        check_waves(check, stream);
    if (stream->totals)
        check_totals(check, stream);
    check_downflow(check, stream);
    check_upflow(check, stream);
}

static void check_streams(struct check *check)
{
    const struct node *node = check->node;
    uint32_t markers = 0;

    for (size_t i = 0; i < node->stream_count; i++) {
        const struct stream *stream = node->streams[i];

        markers += stream->app.markers.count > 0;
        check_that(check,
                   i == 0 ? stream->definition.id == 0
                          : node->streams[i - 1]->definition.id <
                                stream->definition.id,
                   "stream %u is at %zu", stream->definition.id, i);
        check_that(check,
                   stream->definition.id <= node->last_seen ||
                       stream->definition.id < node->next_stream,
                   "stream %u, and the last one seen is %u",
                   stream->definition.id, node->last_seen);
        check_stream(check, stream);
    }
    check_that(check, markers == node->markers,
               "%u markers wait, and %u are counted", markers, node->markers);
}

bool node_check(const struct node *node, char text[NODE_CHECK_TEXT])
{
    struct check check = {.node = node, .text = text, .holds = true};

    if (node->ended || node->failed || !node->started)
        return true;
    check_peers(&check);
    check_streams(&check);
    check_place(&check);
    check_that(
        &check, node->filter.is_out || node->filter.deadline_ms == UINT64_MAX,
        "no call is out, and one ends at %" PRIu64, node->filter.deadline_ms);
    check_that(
        &check,
        !node->filter.is_out || node_stream(node, node->filter.what.stream),
        "the call is of stream %u, which is gone", node->filter.what.stream);
    check_that(&check, node->last_stream <= node->last_seen,
               "the last stream is %u, the last seen %u", node->last_stream,
               node->last_seen);
    check_ranks(&check, &node->backends, "back-ends");
    check_ranks(&check, &node->lost, "lost");
    check_that(&check, !ranks_meet(&node->backends, &node->lost),
               "a back-end is lost");
    return check.holds;
}
