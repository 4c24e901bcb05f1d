/* plan.c - moves that the front-end plans, one at a time (PROTOCOL 18). */
#include "protocol/heal/plan.h"

#include <errno.h>
#include <stdio.h>

#include "protocol/state.h"
#include "protocol/watch/rows.h"

/* Whether `rank` was a back-end at any time. */
static bool is_backend(const struct node *node, uint32_t rank)
{
    return ranks_has(&node->backends, rank) || ranks_has(&node->lost, rank);
}

/* Why `rank` cannot take part in a move, as a mover or a parent; 0: it can. */
static int judge_node(const struct node *node,
                      uint32_t rank,
                      struct table_entry *entry)
{
    if (table_entry(node->heal.table, rank, entry) < 0 || entry->awaited)
        return -ENOENT;
    return entry->failed || suspect_is_lost(node, rank) ? -EHOSTUNREACH : 0;
}

/* `from`: set to the parent of `rank`. */
static int judge_plan(const struct node *node,
                      uint32_t rank,
                      uint32_t parent,
                      uint32_t *from)
{
    bool leaf = is_backend(node, rank);
    struct table_entry entry;
    const struct peer *hop;
    struct row row;
    int r;

    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (!node->launched || node->ending || node->closing)
        return -ENOTCONN;
    if (rank == 0 || rank == parent || is_backend(node, parent))
        return -EINVAL;
    if (leaf)
        r = ranks_has(&node->lost, rank) ? -EHOSTUNREACH : 0;
    else
        r = judge_node(node, rank, &entry);
    if (r == 0)
        r = judge_node(node, parent, &entry);
    if (r < 0)
        return r;
    if (!leaf && table_is_below(node->heal.table, parent, rank))
        return -ELOOP;
    if (drain_has(node, parent))
        return -EHOSTDOWN;
    *from = node_row(node, rank, &row) ? row.parent : RANK_NONE;
    hop = node_next_hop(node, rank);
    if (*from == 0 && hop && hop->rank != rank)
        *from = RANK_NONE; /* a back-end of which the parent is not known */
    if (*from == parent)
        return -EALREADY;
    if (node->heal.plan.number > 0)
        return -EBUSY;
    return suspect_is_any(node) ? -EAGAIN : 0;
}

/* How long a move may take until it is reported. */
static uint64_t patience_ms(const struct node *node)
{
    return record_patience_ms(node) + node->times.probe_timeout_ms +
           LIMIT_MOVE_MS;
}

/* Send the command for the move that is under way. */
static void send_move(struct node *node)
{
    const struct plan *plan = &node->heal.plan;
    struct peer *peer = node_next_hop(node, plan->mover);

    if (peer)
        node_send(node, peer,
                  msg_move_encode(&(struct msg_move){
                      .mover = plan->mover,
                      .parent = plan->parent,
                      .number = plan->number,
                  }));
}

void plan_beat(struct node *node)
{
    if (node->heal.plan.number > 0 && !node->closing)
        send_move(node);
}

int plan_begin(struct node *node, uint32_t rank, uint32_t parent)
{
    struct plan *plan = &node->heal.plan;
    uint32_t from;
    int r = judge_plan(node, rank, parent, &from);

    if (r < 0)
        return r;
    if (!node_next_hop(node, rank))
        return -EAGAIN;
    /* a front-end that has taken the network over repeats no number */
    if (plan->last == 0 && node->resuming.resumes)
        plan->last = node->now_ms;
    *plan = (struct plan){
        .number = plan->last + 1,
        .last = plan->last + 1,
        .mover = rank,
        .from = from,
        .parent = parent,
        .until_ms = node->now_ms + patience_ms(node),
    };
    send_move(node);
    return 0;
}

/* The move has failed, because of `text`. */
static void plan_fail(struct node *node, const char *text)
{
    struct plan *plan = &node->heal.plan;

    plan->number = 0;
    shape_moved(node, false);
    drain_moved(node, false);
    if (!node->closing)
        node_tell(node, TELL_MOVE_FAILED, plan->mover, 0, text)->sequence =
            plan->parent;
}

bool plan_succeeds(struct node *node,
                   const struct msg_recovered *recovered,
                   const struct node_adoption *adoption)
{
    struct plan *plan = &node->heal.plan;
    char text[80];

    if (plan->number == 0 || recovered->number != plan->number ||
        recovered->orphan != plan->mover)
        return false;
    if (adoption->parent == plan->parent) {
        plan->number = 0;
        shape_moved(node, true);
        drain_moved(node, true);
        return true;
    }
    snprintf(text, sizeof(text), "it lost its parent, and %u has adopted it",
             adoption->parent);
    plan_fail(node, text);
    return false;
}

static const char *text_of(int reason)
{
    switch (reason) {
    case MOVE_UNREACHED:
        return "no route leads to it at the moment";
    case MOVE_UNABLE:
        return "it has no parent at the moment, moves, or ends";
    case MOVE_UNCONNECTED:
        return "it could not connect to the next parent";
    case MOVE_LINK_ENDED:
        return "its link to the next parent has ended";
    case MOVE_TIMED_OUT:
        return "the next parent did not answer in time";
    case MOVE_NO_PATH:
        return "the next parent has lost its own parent";
    case MOVE_ACCUSED:
        return "a node has reported that it had failed";
    case MOVE_ORPHAN:
        return "the next parent has no parent at the moment, or no path to the "
               "front-end";
    case MOVE_CLOSING:
        return "the next parent ends";
    case MOVE_FULL:
        return "the next parent has as many children as it may have";
    case MOVE_TOO_HIGH:
        return "the tree would be higher than at launch";
    default:
        return "the next parent has refused it";
    }
}

int plan_answered(struct node *node, const struct frame *frame)
{
    const struct plan *plan = &node->heal.plan;
    struct msg_moved moved;

    if (msg_moved_decode(frame, &moved) < 0)
        return -EPROTO;
    if (node->role != NODE_FRONTEND && node->parent)
        node_send(node, node->parent, frame_ref(frame));
    else if (plan->number > 0 && moved.number == plan->number &&
             moved.mover == plan->mover)
        plan_fail(node, text_of(moved.reason));
    return 0;
}

void plan_lost(struct node *node, uint32_t rank)
{
    const struct plan *plan = &node->heal.plan;

    if (plan->number > 0 && plan->mover == rank)
        plan_fail(node, "it was lost");
}

void plan_tick(struct node *node)
{
    const struct plan *plan = &node->heal.plan;
    char text[80];

    if (plan->number == 0 || node->now_ms < plan->until_ms)
        return;
    snprintf(text, sizeof(text),
             "it has reported nothing for %u ms, and may still move",
             (unsigned)patience_ms(node));
    plan_fail(node, text);
}
