/* move.c - a node that has a parent asks another one (PROTOCOL 18).
 *
 * A mover is in the phases of an orphan's attempt, and has a parent. */
#include <errno.h>

#include "protocol/heal/columns.h"
#include "protocol/state.h"

bool move_is_under_way(const struct node *node)
{
    return node->parent && node->heal.orphan.phase != ORPHAN_NOT;
}

enum move_reason move_reason_of(int answer)
{
    switch (answer) {
    case ADOPTION_ORPHAN:
        return MOVE_ORPHAN;
    case ADOPTION_CLOSING:
        return MOVE_CLOSING;
    case ADOPTION_FULL:
        return MOVE_FULL;
    case ADOPTION_TOO_HIGH:
        return MOVE_TOO_HIGH;
    default:
        return MOVE_REFUSED;
    }
}

static void send_reason(struct node *node,
                        uint32_t mover,
                        uint64_t number,
                        enum move_reason reason)
{
    if (number > 0 && node->parent)
        node_send(node, node->parent,
                  msg_moved_encode(&(struct msg_moved){
                      .reason = reason,
                      .mover = mover,
                      .number = number,
                  }));
}

void move_failed(struct node *node, enum move_reason reason)
{
    struct orphan *orphan = &node->heal.orphan;

    orphan->phase = ORPHAN_NOT;
    orphan->kept = reason;
    send_reason(node, node->rank, orphan->move, reason);
    align_end(node);
}

/* The front-end has not heard of the end of this move: the command, or the report of
 * its result, may have met a link that had ended. */
static void move_repeat(struct node *node)
{
    const struct orphan *orphan = &node->heal.orphan;

    if (move_is_under_way(node))
        return;
    if (orphan->kept > 0)
        send_reason(node, node->rank, orphan->move,
                    (enum move_reason)orphan->kept);
    else
        recovery_repeat(node);
}

int move_take(struct node *node, const struct frame *frame)
{
    struct msg_move move;
    struct peer *peer;

    if (msg_move_decode(frame, &move) < 0 ||
        (move.mover != node->rank && node->role == NODE_BACKEND))
        return -EPROTO;
    if (move.mover == node->rank) {
        move_begin(node, move.parent, move.number);
        return 0;
    }
    peer = node_next_hop(node, move.mover);
    if (peer)
        node_send(node, peer, frame_ref(frame));
    else
        send_reason(node, move.mover, move.number, MOVE_UNREACHED);
    return 0;
}

void move_begin(struct node *node, uint32_t target, uint64_t number)
{
    struct table_entry next;

    if (number > 0 && number == node->heal.orphan.move) {
        move_repeat(node);
        return;
    }
    if (node->parent &&
        (node->heal.orphan.left || node->recovering != RECOVERY_NOT))
        return; /* the last move or adoption is not over: it is told again */
    if (!node->launched || !node->parent || node->leaving ||
        node->heal.orphan.phase != ORPHAN_NOT || node->closing ||
        node->ending || target == node->rank || target == node->parent->rank ||
        node->incarnation >= LIMIT_INCARNATION ||
        table_entry(node->heal.table, target, &next) < 0) {
        send_reason(node, node->rank, number, MOVE_UNABLE);
        return;
    }
    node->heal.orphan.move = number;
    node->heal.orphan.kept = 0;
    node->heal.orphan.since_ms = node->now_ms;
    node->heal.orphan.last_resort = false;
    orphan_dial(node, target);
}

void move_note_known(struct node *node)
{
    node->heal.orphan.known = node->streams[0]->down.last;
}

/* Whether the next parent may know less of stream 0 than this node, which has read
 * more by the old one since it asked. */
static bool is_ahead(const struct node *node)
{
    return node->streams[0]->down.last > node->heal.orphan.known;
}

/* PROTOCOL 18.4: the question goes the new way. */
static void move_align(struct node *node, struct peer *peer)
{
    struct msg_probe probe = {
        .align = PROBE_ALIGN,
        .orphan = node->rank,
        .incarnation = node->incarnation,
        .hops = 1,
    };

    if (align_ask(node, peer, &probe.payload) < 0)
        node->failed = true;
    move_note_known(node);
    node_send(node, peer, msg_probe_encode(&probe));
}

void move_adopted(struct node *node,
                  struct peer *peer,
                  const struct msg_adopted *adopted)
{
    struct orphan *orphan = &node->heal.orphan;

    orphan->phase = ORPHAN_ALIGN;
    orphan->deadline_ms = node->now_ms + node->times.probe_timeout_ms;
    orphan->who.ordinal = adopted->ordinal;
    peer->height = adopted->depth;
    move_align(node, peer);
}

/* The window that the candidate `peer` has granted is for packets to it now. */
static void use_window(struct node *node, const struct peer *peer)
{
    for (size_t i = 0; i < node->stream_count && peer->granted > 0; i++)
        upward_grant(node->streams[i], peer->granted);
}

/* The old parent is gone: `peer`, which has adopted this node, takes its place. */
static void move_attach(struct node *node, struct peer *peer)
{
    struct orphan *orphan = &node->heal.orphan;

    orphan->phase = ORPHAN_NOT;
    orphan->ordinal = orphan->who.ordinal;
    align_end(node);
    node->depth = peer->height + 1;
    if (ranks_copy(&node->streams[0]->settle.sent.members, &orphan->asked) < 0)
        node->failed = true; /* what the next parent knows from ADOPT */
    orphan_attach(node, peer);
    node->due |= DUE_PROBES;
}

/* PROTOCOL 18.6: nothing more goes to the parent. Have all nodes above it know
 * that what was sent may still be on its way. */
static void move_leave(struct node *node)
{
    struct orphan *orphan = &node->heal.orphan;
    struct peer *old = node->parent;

    for (size_t i = 0; i < node->stream_count; i++)
        if (node->role == NODE_COMMNODE)
            settle_send_nobody(node, node->streams[i]);
    node_send(node, old,
              msg_probe_encode(&(struct msg_probe){
                  .align = PROBE_TELL,
                  .orphan = node->rank,
                  .incarnation = node->incarnation,
                  .hops = 1,
              }));
    orphan->left = old;
    orphan->left_ms = node->now_ms + LIMIT_MOVE_MS;
    node->parent = NULL;
}

void move_commit(struct node *node, struct peer *peer)
{
    struct peer *old = node->parent;
    uint32_t rank = old->rank;

    if (node->role == NODE_COMMNODE)
        record_tell(node, node->rank, node->incarnation, peer->rank, NULL);
    if (old->life.state != LINK_UP) {
        node_act(node, ACTION_CLOSE)->link = old->link;
        node_remove_peer(node, old);
    } else {
        move_leave(node);
    }
    status_orphaned(node, RANK_NONE);
    for (size_t i = 0; i < node->stream_count; i++)
        upward_orphaned(node, node->streams[i], rank);
    recovery_begin(node, rank);
    recovery_dial(node);
    use_window(node, peer);
    move_attach(node, peer);
}

/* Whether the candidate is a parent that waits for this node's commit. */
static bool is_adopted(const struct node *node)
{
    return node->heal.orphan.phase == ORPHAN_ALIGN ||
           node->heal.orphan.phase == ORPHAN_SWITCH;
}

bool move_orphaned(struct node *node, struct peer *next)
{
    if (next && is_ahead(node)) {
        node_act(node, ACTION_CLOSE)->link = next->link;
        node_remove_peer(node, next);
        node->heal.orphan.phase = ORPHAN_NOT;
        align_end(node);
        return false;
    }
    recovery_dial(node);
    if (next)
        use_window(node, next);
    if (is_adopted(node))
        move_attach(node, next);
    return true;
}

void move_give_up(struct node *node, enum move_reason reason)
{
    if (!move_is_under_way(node))
        return;
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node->peers[slot];

        if (!peer || !peer->is_parent || peer == node->parent ||
            peer == node->heal.orphan.left)
            continue;
        node_act(node, ACTION_CLOSE)->link = peer->link;
        node_remove_peer(node, peer);
    }
    move_failed(node, reason);
}

int move_aligned(struct node *node,
                 struct peer *peer,
                 const struct frame *frame)
{
    struct orphan *orphan = &node->heal.orphan;
    struct msg_probed probed;
    int r;

    if (msg_probed_decode(frame, &probed) < 0 || probed.orphan != node->rank ||
        probed.incarnation != node->incarnation ||
        orphan->phase != ORPHAN_ALIGN)
        return -EPROTO;
    if (probed.answer != PROBE_OK) {
        move_give_up(node, MOVE_NO_PATH);
        return 0;
    }
    r = align_take(node, probed.payload);
    if (r < 0)
        return r;
    if (is_ahead(node) || align_is_open(node)) {
        move_align(node, peer);
        return 0;
    }
    orphan->phase = ORPHAN_SWITCH;
    orphan->deadline_ms = node->now_ms + LIMIT_MOVE_MS;
    return 0;
}

void move_go_on(struct node *node)
{
    struct peer *next = orphan_candidate(node);

    if (node->heal.orphan.phase != ORPHAN_SWITCH || !node->parent || !next)
        return;
    if (is_ahead(node) || align_is_open(node)) {
        node->heal.orphan.phase = ORPHAN_ALIGN;
        node->heal.orphan.deadline_ms =
            node->now_ms + node->times.probe_timeout_ms;
        move_align(node, next);
    } else if (align_is_done(node)) {
        move_commit(node, next);
    }
}

/* ---- the parent that this node has left (18.6) ---- */

/* Close its link. Claims of what was sent before may go up now. */
static void move_close_left(struct node *node)
{
    struct peer *left = node->heal.orphan.left;

    node->heal.orphan.left = NULL;
    if (left->life.state != LINK_CLOSED)
        node_act(node, ACTION_CLOSE)->link = left->link;
    node_remove_peer(node, left);
    for (size_t i = 0; i < node->stream_count && node->parent; i++)
        if (node->streams[i]->kind->is_lossy &&
            node->streams[i]->definition.id != 0 && node->streams[i]->active)
            upward_claim(node, node->streams[i]);
    for (size_t i = 0; i < node->stream_count; i++)
        upward_pump(node, node->streams[i]);
}

int move_told(struct node *node, const struct frame *frame)
{
    struct msg_probed probed;

    if (msg_probed_decode(frame, &probed) < 0 || probed.orphan != node->rank)
        return -EPROTO;
    if (probed.incarnation != node->incarnation)
        return 0;
    if (probed.answer == PROBE_OK)
        move_close_left(node);
    else
        move_untold(node);
    return 0;
}

void move_untold(struct node *node)
{
    uint32_t rank = node->heal.orphan.left->rank;

    for (size_t i = 0; i < node->stream_count; i++)
        plain_left(node, node->streams[i], rank);
    move_close_left(node);
}

bool move_reads(enum frame_type type)
{
    return type == FRAME_ADOPTED || type == FRAME_PROBED ||
           type == FRAME_HEARTBEAT || type == FRAME_END ||
           type == FRAME_SILENCE || type == FRAME_RECORD ||
           type == FRAME_NODE || type == FRAME_FAN_OUT;
}

/* PROTOCOL 18.3: no other node will notice if the mover has died. */
void move_disown(struct node *node, const struct columns *news)
{
    for (uint32_t i = 0; i < news->count && !node->ended; i++) {
        bool linked = false;

        for (uint32_t slot = 0; slot < node->peer_count; slot++) {
            const struct peer *peer = node_child(node, slot);

            linked |= peer && peer->ready && peer->rank == news->ranks[i];
        }
        if (news->values[i] == node->rank && !linked)
            record_tell(node, news->ranks[i], news->versions[i], TABLE_FAILED,
                        "its link ended while it moved");
    }
}
