/* waves.c - streams of whole waves (PROTOCOL 16): what all nodes do. */
#include "protocol/stream/waves.h"

#include <errno.h>
#include <stdlib.h>

#include "protocol/state.h"
#include "wire/packet.h"

int waves_begin(struct stream *stream, const struct node *node)
{
    struct waves *waves = calloc(1, sizeof(*waves));

    if (!waves ||
        (node->role != NODE_BACKEND && tally_new(&waves->tally) < 0)) {
        free(waves);
        return -ENOMEM;
    }
    waves->retain.entered = true;
    waves->retain.hash = waves_hash(node->rank);
    stream->waves = waves;
    return 0;
}

void waves_end(struct stream *stream)
{
    struct waves *waves = stream->waves;

    if (!waves)
        return;
    tally_free(waves->tally);
    for (uint32_t slot = 0; slot < waves->set_count; slot++)
        ranks_fini(&waves->sets[slot]);
    free(waves->sets);
    ranks_fini(&waves->told);
    kept_fini(&waves->retain.kept);
    free(waves->accept.late);
    free(waves->accept.gone);
    free(waves);
}

/* ---- the members that count ---- */

/* The set of `slot`, created if necessary; NULL: out of memory. */
static struct ranks *set_at(struct waves *waves, uint32_t slot)
{
    return array_reach(&waves->sets, &waves->set_count, slot,
                       sizeof(*waves->sets)) < 0
               ? NULL
               : &waves->sets[slot];
}

/* Have waves wait for the child, or no longer. */
static void expect_child(struct node *node,
                         struct stream *stream,
                         const struct peer *peer,
                         bool expected)
{
    if (tally_expect(stream->waves->tally, peer->slot, peer->rank, expected) <
        0)
        node->failed = true;
}

/* Set the members below the child that count: those of `members`. A commnode
 * counts without any until it says that it is drained (18.7). */
static void set_members(struct node *node,
                        struct stream *stream,
                        const struct peer *peer,
                        const struct ranks *members)
{
    struct ranks *set = set_at(stream->waves, peer->slot);
    bool had = set && set->count > 0;

    if (!set || ranks_copy(set, members) < 0 ||
        ranks_intersect(set, &stream->branches[peer->slot].members) < 0)
        node->failed = true;
    else if (set->count > 0 || (had && peer->role == NODE_BACKEND))
        expect_child(node, stream, peer, set->count > 0);
}

void waves_open_branch(struct node *node,
                       struct stream *stream,
                       const struct peer *peer)
{
    const struct ranks *members = &stream->branches[peer->slot].members;

    stream->branches[peer->slot].counts = members->count > 0;
    if (members->count > 0 &&
        tally_join(stream->waves->tally, peer->slot, peer->rank,
                   (struct wave_number){0}) < 0)
        node->failed = true;
    set_members(node, stream, peer, members);
}

/* Whether this node is a member or has members below it. */
static bool has_members(const struct node *node, const struct stream *stream)
{
    const struct waves *waves = stream->waves;

    if (node->role == NODE_BACKEND)
        return stream->active;
    for (uint32_t slot = 0; slot < waves->set_count; slot++)
        if (waves->sets[slot].count > 0)
            return true;
    return false;
}

void waves_opened(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;

    waves->counted = has_members(node, stream);
    for (uint32_t slot = 0; slot < waves->set_count; slot++)
        if (ranks_unite(&waves->told, &waves->sets[slot]) < 0)
            node->failed = true;
}

int waves_resumed(struct node *node,
                  struct stream *stream,
                  struct peer *peer,
                  struct wave_number level)
{
    struct waves *waves = stream->waves;
    struct branch *branch = stream_branch(stream, peer->slot);

    if (!branch)
        return -ENOMEM;
    if (branch->members.count == 0 && peer->role == NODE_BACKEND)
        return 0; /* it was given up */
    branch->counts = true;
    branch->claim.drained = false;
    if (tally_join(waves->tally, peer->slot, peer->rank, level) < 0)
        node->failed = true;
    expect_child(node, stream, peer, true); /* its claim may come much later */
    if (waves->final > 0)                   /* FINAL answers RESUME (16.5) */
        node_send(node, peer,
                  msg_final_encode(&(struct msg_final){
                      .stream = stream->definition.id,
                      .sender = node->rank,
                      .level = waves->final,
                  }));
    return 0;
}

/* Ask the child for a RESUME: send it EXPEL with an empty set of members. */
static void ask_resume(struct node *node, struct peer *peer)
{
    struct frame frame = {.type = FRAME_EXPEL, .origin = node->rank};
    uint32_t none = 0;

    if (packet_pack(&frame.payload, "%aud", &none, 0u) < 0)
        node->failed = true;
    else
        node_send(node, peer, frame);
}

void waves_claimed(struct node *node, struct stream *stream, struct peer *peer)
{
    const struct waves *waves = stream->waves;

    set_members(node, stream, peer,
                &stream->branches[peer->slot].claim.counting);
    /* The claim has crossed a frame that left the branch without members here,
     * but not there: LOST, or a claim on stream 0 that crossed OPEN (16.9). */
    if (!node->failed && waves->sets[peer->slot].count > 0 &&
        !tally_counts(waves->tally, peer->slot))
        ask_resume(node, peer);
}

void waves_trimmed(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;
    struct ranks below = {0};

    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        const struct peer *peer = node_child(node, slot);
        const struct ranks *members = &stream->branches[slot].members;
        struct ranks *set = set_at(waves, slot);
        bool was = set && set->count > 0;
        bool waits = branch_is_owed(node, stream, slot);

        if (!set || ranks_intersect(set, members) < 0 ||
            ranks_unite(&below, members) < 0)
            node->failed = true;
        /* the child may have sent RESUME but no claim yet */
        if (peer && waits && stream->branches[slot].counts)
            expect_child(node, stream, peer, true);
        else if (peer && set && set->count == 0 && peer->role == NODE_BACKEND &&
                 (was || members->count == 0))
            expect_child(node, stream, peer, false);
    }
    if (ranks_intersect(&waves->told, &below) < 0)
        node->failed = true;
    ranks_fini(&below);
}

void waves_leave(struct node *node, struct stream *stream, uint32_t slot)
{
    struct peer *peer = node_child(node, slot);

    stream->branches[slot].counts = false;
    if (peer)
        expect_child(node, stream, peer, false);
}

void waves_unlink(struct node *node, struct stream *stream, uint32_t slot)
{
    struct ranks *set = set_at(stream->waves, slot);

    if (!set) {
        node->failed = true;
        return;
    }
    ranks_fini(set);
    tally_unlink(stream->waves->tally, slot);
}

struct wave_number waves_stand(const struct node *node,
                               const struct stream *stream)
{
    const struct waves *waves = stream->waves;

    for (uint32_t i = 0; i < stream->up.out.count; i++) {
        const struct frame *frame = &fifo_at(&stream->up.out, i)->frame;

        if (frame->type == FRAME_DATA && frame->flags & FRAME_WAVES)
            return (struct wave_number){frame->generation, frame->wave - 1};
    }
    if (node->role == NODE_BACKEND)
        return waves->retain.level;
    if (!upward_is_idle(node, stream) && node->filter.what.upward &&
        !waves_is_stale(node, stream))
        return (struct wave_number){waves->call.generation,
                                    waves->call.wave - 1};
    return tally_level(waves->tally);
}

static struct frame make_resume(const struct node *node,
                                const struct stream *stream,
                                struct wave_number level)
{
    return msg_resume_encode(&(struct msg_resume){
        .stream = stream->definition.id,
        .sender = node->rank,
        .generation = level.generation,
        .level = level.wave,
    });
}

void waves_announce(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;

    if (waves->counted || !node->parent ||
        node->parent->life.state != LINK_UP || !node->reported ||
        (!has_members(node, stream) &&
         (node->role == NODE_BACKEND || stream_is_drained(node, stream))))
        return;
    waves->counted = true;
    settle_counted(stream);
    node_send(node, node->parent,
              make_resume(node, stream, waves_stand(node, stream)));
}

void waves_count(struct node *node,
                 const struct stream *stream,
                 struct claim *claim)
{
    const struct waves *waves = stream->waves;

    claim->counts = true;
    if (node->role == NODE_BACKEND && stream->active &&
        ranks_add(&claim->counting, node->rank, node->rank) < 0)
        node->failed = true;
    for (uint32_t slot = 0; slot < waves->set_count; slot++)
        if (ranks_unite(&claim->counting, &waves->sets[slot]) < 0)
            node->failed = true;
}

void waves_claim_sent(struct node *node,
                      struct stream *stream,
                      const struct claim *claim)
{
    if (claim->drained)
        stream->waves->counted = false;
    if (ranks_copy(&stream->waves->told, &claim->counting) < 0)
        node->failed = true;
}

bool waves_is_recounted(const struct stream *stream, const struct claim *claim)
{
    return !ranks_equal(&claim->counting, &stream->waves->told);
}

void waves_uncount(struct stream *stream)
{
    struct wave_number part = stream->waves->part;
    const struct frame *head;

    stream->waves->counted = false;
    ranks_fini(&stream->waves->told);
    stream->waves->part = (struct wave_number){0};
    while (part.wave > 0 && (head = fifo_peek(&stream->up.out)) &&
           head->type == FRAME_DATA && head->generation == part.generation &&
           head->wave == part.wave) {
        struct queued rest = fifo_pop(&stream->up.out);

        frame_fini(&rest.frame);
    }
}

void waves_sent(struct stream *stream, const struct frame *frame)
{
    stream->waves->part =
        frame->flags & FRAME_LAST
            ? (struct wave_number){0}
            : (struct wave_number){frame->generation, frame->wave};
}

/* ---- the parent ---- */

void waves_orphaned(struct node *node, struct stream *stream, uint32_t rank)
{
    (void)node;
    (void)rank;
    if (stream->active)
        waves_uncount(stream);
}

void waves_count_anew(struct node *node, struct stream *stream)
{
    waves_uncount(stream);
    waves_announce(node, stream);
}

/* ---- waves ---- */

/* Whether a child may send such a packet. Returns 0 or -EPROTO. */
static int check_packet(struct node *node,
                        const struct peer *peer,
                        const struct frame *frame)
{
    uint8_t ending = FRAME_EMPTY | FRAME_LAST;

    if (!(frame->flags & FRAME_WAVES) ||
        frame->flags & (FRAME_LATE | FRAME_COMPENSATING) ||
        (frame->wave & PACKET_WAVE_MASK) == 0)
        return node_refuse(node, "it is no packet of a stream of whole waves");
    if (frame->flags & FRAME_OVER && (frame->flags & ending) != ending)
        return node_refuse(node, "the end of an epoch has no packet");
    if (peer->role == NODE_BACKEND && frame->flags & FRAME_LAST &&
        frame->check != waves_hash(peer->rank))
        return node_refuse(node, "it accounts for others than itself");
    return 0;
}

int waves_take(struct node *node,
               struct stream *stream,
               struct peer *peer,
               struct frame *frame)
{
    struct waves *waves = stream->waves;
    struct branch *branch = stream_branch(stream, peer->slot);
    uint32_t credit = upward_is_charged(frame) ? (uint32_t)frame_len(frame) : 0;
    int r = branch ? check_packet(node, peer, frame) : -ENOMEM;

    if (r == 0 && credit > 0)
        r = debit_take(&branch->up, peer->grant, credit);
    if (r == 0 && peer->role == NODE_BACKEND &&
        tally_parts(waves->tally, peer->slot) > LIMIT_FRAME)
        r = node_refuse(node, "its wave is larger than any packet may be");
    if (r < 0) {
        frame_fini(frame);
        return r;
    }
    if (!(frame->flags & FRAME_LAST))
        frame->check = 0;
    if (tally_put(waves->tally, peer->slot, peer->rank, frame, credit) < 0)
        node->failed = true;
    /* Most packets of a wave change nothing else. */
    if (node->role == NODE_FRONTEND || !waves->counted ||
        !tally_is_waiting(waves->tally))
        waves_run(node, stream);
    return 0;
}

void waves_stamp(struct node *node, struct stream *stream, struct frame *frame)
{
    const struct waves *waves = stream->waves;

    if (node->role == NODE_BACKEND) {
        retain_put(node, stream, frame);
        return;
    }
    frame->flags &= (uint8_t)~FRAME_ASK;
    frame->flags |= FRAME_WAVES;
    frame->generation = waves->call.generation;
    frame->check = 0;
    if (!(frame->flags & FRAME_LAST))
        return;
    frame->check = waves->check;
    if (waves->ask)
        frame->flags |= FRAME_ASK;
}

bool waves_is_stale(const struct node *node, const struct stream *stream)
{
    return node->role == NODE_COMMNODE &&
           stream->waves->call.generation < stream->waves->generation;
}

/* All children have ended the epoch: so has this node (16.10). */
static void emit_over(struct node *node,
                      struct stream *stream,
                      struct wave_number number)
{
    upward_emit(node, stream,
                (struct frame){
                    .type = FRAME_DATA,
                    .flags = FRAME_EMPTY | FRAME_LAST | FRAME_OVER,
                    .origin = node->rank,
                    .wave = number.wave,
                });
}

void waves_return_credit(struct node *node, struct stream *stream)
{
    if (!tally_owes(stream->waves->tally))
        return;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        struct peer *peer = node_child(node, slot);
        uint64_t bytes = tally_credit(stream->waves->tally, slot);

        if (bytes > 0 && peer && peer->life.state == LINK_UP)
            upward_return_credit(node, stream, peer, false, bytes);
    }
    tally_paid(stream->waves->tally);
}

/* Commnode: release one wave, or send RESUME or the end of an epoch in its
 * place. Returns false if there is none. */
static bool release_next(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;
    struct tally_set set;
    int r = tally_next(waves->tally, &set);

    if (r < 0)
        node->failed = true;
    if (r <= TALLY_NOTHING)
        return false;
    if (r == TALLY_SKIP) {
        upward_emit(node, stream, make_resume(node, stream, set.number));
        return true;
    }
    waves->call = set.number;
    waves->check = set.check;
    waves->ask = set.ask;
    if (r == TALLY_OVER)
        emit_over(node, stream, set.number);
    else
        upward_release(node, stream, &set.set);
    return true;
}

static void release_waves(struct node *node, struct stream *stream)
{
    while (stream->loaded && upward_may_release(node, stream)) {
        if (node->filter.is_out &&
            (stream->filters.up || stream->filters.down)) {
            stream->queued = true;
            return;
        }
        if (!release_next(node, stream))
            return;
    }
}

uint64_t waves_bytes(const struct stream *stream)
{
    return stream->waves->tally ? tally_bytes(stream->waves->tally)
                                : wave_bytes(stream->up.wave);
}

void waves_run(struct node *node, struct stream *stream)
{
    if (node->role == NODE_BACKEND) { /* its own packets, and their filter */
        upward_release_sets(node, stream);
        upward_go_on(node, stream);
        return;
    }
    if (node->role == NODE_FRONTEND) {
        accept_run(node, stream);
    } else {
        waves_announce(node, stream);
        release_waves(node, stream);
    }
    waves_return_credit(node, stream);
    settle_try(node, stream);
    upward_pump(node, stream);
}

void waves_close(struct node *node, struct stream *stream)
{
    if (!stream->waves->tally)
        return;
    tally_drop(stream->waves->tally);
    waves_return_credit(node, stream);
}

void waves_against(struct node *node, struct stream *stream, struct frame frame)
{
    upward_fault(
        node, FAULT_FILTER, stream->definition.id,
        "the downstream filter emits upwards, which a stream of whole waves "
        "does not allow: its packet is dropped");
    frame_fini(&frame);
}

/* ---- FINAL and REDO ---- */

static void send_final(struct node *node, struct stream *stream)
{
    stream->waves->final_due = false;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && stream->branches[slot].members.count > 0)
            node_send(node, peer,
                      msg_final_encode(&(struct msg_final){
                          .stream = stream->definition.id,
                          .sender = node->rank,
                          .level = stream->waves->final,
                      }));
    }
}

void waves_rise(struct node *node,
                struct stream *stream,
                uint64_t final,
                bool at_once)
{
    struct waves *waves = stream->waves;

    if (final <= waves->final)
        return;
    waves->final = final;
    waves->final_due = true;
    if (node->role == NODE_BACKEND)
        retain_final(waves);
    else if (at_once)
        send_final(node, stream);
}

void waves_beat(struct node *node, struct stream *stream)
{
    if (stream->waves->final_due && node->role != NODE_BACKEND)
        send_final(node, stream);
}

int waves_final(struct node *node, const struct frame *frame)
{
    struct msg_final final;
    struct stream *stream;

    if (msg_final_decode(frame, &final) < 0)
        return -EPROTO;
    stream = node_stream(node, final.stream);
    if (stream && stream->waves)
        waves_rise(node, stream, final.level, true);
    return 0;
}

/* Drop the queued packets of older generations. Other frames stay. */
static void drop_old_output(struct node *node, struct stream *stream)
{
    for (uint32_t i = stream->up.out.count; i > 0; i--) {
        struct queued waits = fifo_pop(&stream->up.out);
        bool old = waits.frame.type == FRAME_DATA &&
                   waits.frame.generation < stream->waves->generation;

        if (old) {
            frame_fini(&waits.frame);
            continue;
        }
        if (waits.frame.type == 0) {
            if (fifo_push_settled(&stream->up.out, waits.settled) < 0)
                node->failed = true;
        } else if (fifo_push(&stream->up.out, &waits.frame, waits.credit) < 0) {
            node->failed = true;
        }
    }
}

void waves_redo(struct node *node,
                struct stream *stream,
                uint32_t generation,
                uint64_t final)
{
    struct waves *waves = stream->waves;

    waves_rise(node, stream, final, true);
    if (generation <= waves->generation)
        return;
    waves->generation = generation;
    drop_old_output(node, stream);
    if (node->role == NODE_BACKEND) {
        retain_redo(node, stream);
        upward_pump(node, stream);
        return;
    }
    tally_enter(waves->tally, generation, final);
    if (node->role == NODE_COMMNODE)
        waves_run(node, stream);
}

bool waves_snapshot(const struct stream *stream, struct control *control)
{
    control->generation = stream->waves->generation;
    control->after = stream->waves->final;
    return true;
}
