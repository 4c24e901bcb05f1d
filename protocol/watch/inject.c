/* inject.c - injected failures, on their way to the victim (PROTOCOL 15.6). */
#include <coppice/status.h>
#include <errno.h>
#include <stdio.h>

#include "protocol/state.h"
#include "protocol/watch/status.h"

/* Read an injection. Returns 0, or -EPROTO if it is invalid. */
static int read_injection(const struct frame *frame, struct msg_inject *out)
{
    bool freezes;

    if (msg_inject_decode(frame, out) < 0)
        return -EPROTO;
    freezes = out->injection == COP_INJECT_FREEZE;
    if (!freezes && out->injection != COP_INJECT_KILL &&
        out->injection != COP_INJECT_CUT)
        return -EPROTO;
    return (out->freeze_ms > 0) == freezes && out->freeze_ms <= LIMIT_FREEZE_MS
               ? 0
               : -EPROTO;
}

/* Whether a node of that rank exists or has existed. */
static bool is_known(const struct node *node, uint32_t rank)
{
    struct table_entry entry;

    return table_entry(node->heal.table, rank, &entry) == 0 ||
           ranks_has(&node->backends, rank) || ranks_has(&node->lost, rank);
}

static int refuse_injection(char *text, size_t len, int code, uint32_t rank)
{
    snprintf(text, len,
             code == -ENOENT ? "there is no node of rank %u"
                             : "rank %u cannot be reached: it is lost, or has "
                               "no parent at the moment",
             rank);
    return code;
}

int inject_asked(struct node *node,
                 const struct frame *frame,
                 char *text,
                 size_t text_len)
{
    struct msg_inject inject;
    struct peer *peer;
    uint32_t rank;

    if (!node->status.allow_injection) {
        snprintf(text, text_len,
                 "this network does not allow injections: have its tool "
                 "launch it with launch.allow_injection");
        return -EPERM;
    }
    if (read_injection(frame, &inject) < 0) {
        snprintf(text, text_len,
                 "unknown injection, or the time of a freeze is not from 1 ms "
                 "to %u s",
                 LIMIT_FREEZE_MS / 1000);
        return -EINVAL;
    }
    rank = inject.victim;
    if (rank == 0) {
        snprintf(text, text_len,
                 "rank 0 is the front-end: it cannot be a victim");
        return -EINVAL;
    }
    if (!is_known(node, rank))
        return refuse_injection(text, text_len, -ENOENT, rank);
    peer = node_next_hop(node, rank);
    if (!peer)
        return refuse_injection(text, text_len, -EHOSTUNREACH, rank);
    if (inject.injection == COP_INJECT_KILL)
        observer_killed(node, rank);
    node_send(node, peer, frame_ref(frame));
    return 0;
}

int inject_take(struct node *node, const struct frame *frame)
{
    struct msg_inject inject;
    struct action *action;
    struct peer *peer;

    if (read_injection(frame, &inject) < 0)
        return -EPROTO;
    if (!node->status.allow_injection)
        return 0; /* PROTOCOL 15.6: each node checks the permission */
    if (inject.victim != node->rank) {
        peer = node_next_hop(node, inject.victim);
        if (peer)
            node_send(node, peer, frame_ref(frame));
        return 0;
    }
    action = node_act(node, ACTION_INJECT);
    action->code = inject.injection;
    action->sequence = inject.freeze_ms;
    action->link = node->parent->link;
    return 0;
}
