/* orphan.c - the orphan's side: choose a candidate, dial it, ask it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* The height of this node's subtree: 0 for a back-end. */
static uint32_t own_height(const struct node *node)
{
    return node->role == NODE_BACKEND
               ? 0
               : table_subtree_height(node->heal.table, node->rank);
}

/* Find the candidates again, in the present table (PROTOCOL 7.3). */
static void find_candidates(struct node *node)
{
    struct orphan *orphan = &node->heal.orphan;

    fan_out_count(node); /* own_height() depends on it */
    orphan->who = (struct adopter_orphan){
        .rank = node->rank,
        .height = own_height(node),
        .ordinal = orphan->ordinal,
        .lost = orphan->lost,
        .seed = (uint64_t)node->rank << 32 | node->incarnation,
    };
    adopter_survey_free(orphan->survey);
    orphan->survey = NULL;
    orphan->turn = 0;
    if (adopter_survey_new(&orphan->survey, node->heal.table,
                           node->heal.algorithm, &orphan->who,
                           node->heal.height_limit) < 0)
        node->failed = true;
}

void orphan_dial(struct node *node, uint32_t rank)
{
    struct orphan *orphan = &node->heal.orphan;
    struct action *action;

    orphan->target = rank;
    if (node->incarnation >= LIMIT_INCARNATION) {
        launch_end(node, "this node has used up its incarnation numbers");
        return;
    }
    orphan->phase = ORPHAN_DIAL;
    orphan->deadline_ms = node->now_ms + node->times.connect_timeout_ms +
                          node->times.probe_timeout_ms;
    node->incarnation++;
    heartbeat_attempt(node);
    action = node_act(node, ACTION_DIAL);
    action->rank = rank;
    action->sequence = node->incarnation;
    if (action != &node->spare)
        action->text = launch_address(node, rank);
    if (!node->parent)
        recovery_dial(node);
}

/* PROTOCOL 23.2: the front-end's host refuses. Pause, and then try again. */
static void orphan_wait(struct node *node)
{
    struct orphan *orphan = &node->heal.orphan;
    bool is_new = node->now_ms < orphan->since_ms + LIMIT_KNOCK_OFTEN_MS;

    orphan->absent = true;
    orphan->phase = ORPHAN_PAUSE;
    orphan->deadline_ms =
        node->now_ms + (is_new ? LIMIT_KNOCK_FIRST_MS : LIMIT_KNOCK_LATER_MS);
    recovery_enter(node, RECOVERY_PAUSE);
}

/* That pause is over. An orphan of the front-end calls it. Any other only
 * knocks: it has candidates that may have a path soon. */
static void orphan_knock(struct node *node)
{
    struct orphan *orphan = &node->heal.orphan;
    struct action *action;

    orphan->absent = false;
    if (orphan->lost == 0) {
        recovery_enter(node, RECOVERY_CHOOSE);
        orphan_dial(node, 0);
        return;
    }
    orphan->phase = ORPHAN_KNOCK;
    orphan->deadline_ms = node->now_ms + node->times.connect_timeout_ms;
    action = node_act(node, ACTION_KNOCK);
    action->rank = 0;
    if (action != &node->spare)
        action->text = launch_address(node, 0);
}

/* Somebody may listen there: begin a round when the front-end's children have
 * been adopted. */
static void orphan_knocked(struct node *node)
{
    struct orphan *orphan = &node->heal.orphan;

    orphan->phase = ORPHAN_PAUSE;
    orphan->pause_ms = LIMIT_PAUSE_FIRST_MS;
    orphan->deadline_ms = node->now_ms + LIMIT_PAUSE_FIRST_MS;
}

/* Try the next candidate. After the last one try the front-end, which then
 * adopts even if the tree gets higher. If that fails too, pause. `reason`: why the
 * last one was no success. */
static void orphan_next(struct node *node, enum move_reason reason)
{
    struct orphan *orphan = &node->heal.orphan;
    uint32_t rank;
    int r;

    orphan->last_resort = false;
    if (node->parent) { /* a move has failed (18.1) */
        move_failed(node, reason);
        return;
    }
    if (!orphan->survey)
        return; /* out of memory: node->failed is set */
    r = adopter_survey_pick(orphan->survey, &orphan->who, orphan->turn, &rank);
    if (r == -ENOMEM)
        node->failed = true;
    if (r == 0) {
        orphan->turn++;
        orphan_dial(node, rank);
        return;
    }
    if (orphan->turn == adopter_survey_count(orphan->survey)) {
        orphan->turn++;
        orphan->last_resort = true;
        orphan_dial(node, 0);
        return;
    }
    orphan->refused_rounds = orphan->answered ? 0 : orphan->refused_rounds + 1;
    orphan->answered = false;
    if (orphan->absent) {
        orphan_wait(node);
        return;
    }
    if (node->survive_ms == 0 && orphan->lost != 0 &&
        orphan->refused_rounds == LIMIT_REFUSED_ROUNDS) {
        /* PROTOCOL 11.3a */
        launch_over(node, "nobody of the network listens any more");
        return;
    }
    recovery_enter(node, RECOVERY_PAUSE);
    orphan->phase = ORPHAN_PAUSE;
    orphan->deadline_ms = node->now_ms + orphan->pause_ms;
    if (orphan->pause_ms < LIMIT_PAUSE_LAST_MS)
        orphan->pause_ms *= 2;
}

struct peer *orphan_candidate(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node->peers[slot] && node->peers[slot]->is_parent &&
            node->peers[slot] != node->parent &&
            node->peers[slot] != node->heal.orphan.left)
            return node->peers[slot];
    return NULL;
}

void orphan_begin(struct node *node,
                  uint32_t lost,
                  uint32_t incarnation,
                  bool lives,
                  bool silent)
{
    struct orphan *orphan = &node->heal.orphan;
    struct peer *next = orphan_candidate(node);
    struct table_entry entry;

    if (orphan->left)
        move_untold(node);
    recovery_begin(node, lost);
    adoption_reparented(node);
    status_orphaned(node, lost);
    if (table_entry(node->heal.table, lost, &entry) == 0 &&
        entry.incarnation > incarnation)
        incarnation = entry.incarnation;
    if (lost != 0 && !lives)
        record_tell(node, lost, incarnation, TABLE_FAILED,
                    silent ? "a child has heard nothing of it"
                           : "a child lost its link to it");
    if (lost != 0 && !lives && node->role == NODE_BACKEND)
        record_accuse(node, lost, incarnation);
    for (size_t i = 0; i < node->stream_count; i++)
        upward_orphaned(node, node->streams[i], lost);
    orphan->since_ms = node->now_ms;
    orphan->pause_ms = LIMIT_PAUSE_FIRST_MS;
    orphan->refused_rounds = 0;
    orphan->answered = false;
    orphan->absent = false;
    orphan->front_end_lost = lost == 0 && !silent && !lives;
    orphan->lost = lost;
    find_candidates(node);
    if (orphan->phase != ORPHAN_NOT && move_orphaned(node, next))
        return;
    if (lost == 0) /* the front-end adopts again, or this node must end */
        orphan_dial(node, 0);
    else
        orphan_next(node, MOVE_UNABLE);
}

/* PROTOCOL 8.1: send ADOPT with the height of the subtree and its back-ends. */
static void orphan_ask(struct node *node, struct peer *peer)
{
    struct orphan *orphan = &node->heal.orphan;
    struct ranks below = {0};
    struct msg_adopt adopt = {
        .wish = node->parent          ? ADOPTION_MOVE
                : orphan->last_resort ? ADOPTION_LAST_RESORT
                                      : 0,
        .orphan = node->rank,
        .incarnation = node->incarnation,
        .height = own_height(node),
    };

    if (node->role == NODE_BACKEND &&
        ranks_add(&below, node->rank, node->rank) < 0)
        node->failed = true;
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *child = node_child(node, slot);

        if (child && child->ready && ranks_unite(&below, &child->below) < 0)
            node->failed = true;
    }
    /* ADOPT counts as the first claim on stream 0 */
    if (ranks_copy(node->parent ? &orphan->asked
                                : &node->streams[0]->settle.sent.members,
                   &below) < 0)
        node->failed = true;
    if (packet_pack(&adopt.payload, "%aud", ranks_pairs(&below),
                    (uint32_t)(2 * below.count)) < 0)
        node->failed = true;
    ranks_fini(&below);
    orphan->phase = ORPHAN_ASK;
    move_note_known(node);
    joined_introduce(node, peer);
    node_send(node, peer, msg_adopt_encode(&adopt));
}

void orphan_link_up(struct node *node, struct peer *peer)
{
    struct orphan *orphan = &node->heal.orphan;

    if (orphan->phase != ORPHAN_DIAL || peer->rank != orphan->target) {
        node_act(node, ACTION_CLOSE)->link = peer->link;
        node_remove_peer(node, peer);
        return;
    }
    if (peer->rank == 0)
        orphan->front_end_lost = false;
    orphan->answered = true;
    orphan_ask(node, peer);
}

void orphan_unreachable(struct node *node, uint32_t rank, bool refused)
{
    struct orphan *orphan = &node->heal.orphan;

    if (orphan->phase == ORPHAN_KNOCK && rank == 0) {
        if (refused)
            orphan_wait(node);
        else
            orphan_knocked(node);
        return;
    }
    if (orphan->phase != ORPHAN_DIAL || rank != orphan->target)
        return;
    if (!node->parent && rank == 0 && refused && orphan->front_end_lost) {
        if (node->survive_ms > 0)
            orphan_wait(node);
        else
            launch_over(node, "the front-end has died");
        return;
    }
    if (!node->parent && rank == 0)
        orphan->absent = refused && node->survive_ms > 0;
    if (!refused)
        orphan->answered = true;
    orphan_next(node, MOVE_UNCONNECTED);
}

void orphan_link_down(struct node *node, struct peer *peer)
{
    node_remove_peer(node, peer);
    if (node->heal.orphan.phase == ORPHAN_ASK ||
        node->heal.orphan.phase == ORPHAN_ALIGN ||
        node->heal.orphan.phase == ORPHAN_SWITCH)
        orphan_next(node, MOVE_LINK_ENDED);
}

void orphan_attach(struct node *node, struct peer *peer)
{
    if (node->recovering != RECOVERY_NOT)
        recovery_enter(node, RECOVERY_CLEAN_UP);
    node->parent = peer;
    status_adopted(node);
    record_exchange(node, peer);
    if (node->role == NODE_COMMNODE)
        record_tell(node, node->rank, node->incarnation, peer->rank, NULL);
    recovery_repeat(node);
    for (size_t i = 0; i < node->stream_count && !node->ended; i++)
        upward_adopted(node, node->streams[i]);
    join_ask_again(node);
    node_tell(node, TELL_NODE_ADOPTED, node->rank, 0, NULL)->sequence =
        peer->rank;
    if (node->recovering != RECOVERY_NOT)
        recovery_cleaned(node);
}

int orphan_adopted(struct node *node,
                   struct peer *peer,
                   const struct frame *frame)
{
    struct orphan *orphan = &node->heal.orphan;
    struct msg_adopted adopted;

    if (orphan->phase != ORPHAN_ASK || msg_adopted_decode(frame, &adopted) < 0)
        return -EPROTO;
    if (!node->parent && adopted.answer == ADOPTION_CLOSING) {
        launch_over(node, "the front-end has ended the network");
        return 0;
    }
    if (!node->parent && adopted.answer == ADOPTION_EXPELLED) {
        launch_end(node, "the front-end has given this node up");
        return 0;
    }
    if (adopted.answer != ADOPTION_OK) {
        node_act(node, ACTION_CLOSE)->link = peer->link;
        node_remove_peer(node, peer);
        orphan_next(node, move_reason_of(adopted.answer));
        return 0;
    }
    if (node->parent) {
        move_adopted(node, peer, &adopted);
        return 0;
    }
    orphan->phase = ORPHAN_NOT;
    orphan->ordinal = adopted.ordinal;
    node->depth = adopted.depth + 1;
    orphan_attach(node, peer);
    return 0;
}

/* When an orphan ends: after orphan_timeout or survive_ms, whichever is longer
 * (PROTOCOL 23.2). */
static uint64_t orphan_end_ms(const struct node *node)
{
    uint32_t limit_ms = node->times.orphan_timeout_ms;

    if (limit_ms < node->survive_ms)
        limit_ms = node->survive_ms;
    return node->heal.orphan.since_ms + limit_ms;
}

void orphan_tick(struct node *node)
{
    struct orphan *orphan = &node->heal.orphan;
    struct peer *peer;

    if (orphan->left && node->now_ms >= orphan->left_ms)
        move_untold(node);
    if (orphan->phase == ORPHAN_NOT)
        return;
    if (!node->parent && node->now_ms >= orphan_end_ms(node)) {
        launch_end(node, node->survive_ms > node->times.orphan_timeout_ms
                             ? "no parent was found within survive_ms"
                             : "no parent was found within orphan_timeout");
        return;
    }
    if (node->now_ms < orphan->deadline_ms)
        return;
    if (orphan->phase == ORPHAN_SWITCH) {
        move_commit(node, orphan_candidate(node));
        return;
    }
    if (orphan->phase == ORPHAN_PAUSE && orphan->absent) {
        orphan_knock(node);
        return;
    }
    if (orphan->phase == ORPHAN_KNOCK) {
        orphan_knocked(node);
        return;
    }
    if (orphan->phase == ORPHAN_PAUSE) {
        recovery_enter(node, RECOVERY_CHOOSE);
        find_candidates(node);
    } else {
        orphan->answered = true; /* a time-out is not a refused connection */
    }
    peer = orphan_candidate(node);
    if (peer) {
        node_act(node, ACTION_CLOSE)->link = peer->link;
        node_remove_peer(node, peer);
    }
    orphan_next(node, MOVE_TIMED_OUT);
}

uint64_t orphan_deadline_ms(const struct node *node)
{
    const struct orphan *orphan = &node->heal.orphan;
    uint64_t end = orphan_end_ms(node);

    if (orphan->left)
        return orphan->left_ms; /* it does not move meanwhile */
    if (orphan->phase == ORPHAN_NOT)
        return UINT64_MAX;
    return orphan->deadline_ms < end ? orphan->deadline_ms : end;
}

void orphan_fini(struct node *node)
{
    adopter_survey_free(node->heal.orphan.survey);
    ranks_fini(&node->heal.orphan.asked);
}
