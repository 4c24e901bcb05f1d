/* peers.c - the links of a node, and what happens when one ends. */
#include <errno.h>
#include <stdlib.h>

#include "protocol/state.h"

uint32_t node_child_count(const struct node *node)
{
    uint32_t slot, count = 0;

    for (slot = 0; slot < node->peer_count; slot++)
        count += node_child(node, slot) != NULL;
    return count;
}

bool node_is_attached(const struct node *node, const struct peer *peer)
{
    return peer == node->parent || (!peer->is_parent && peer->ready);
}

uint32_t node_ready_count(const struct node *node)
{
    uint32_t slot, count = 0;

    for (slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        count += peer && peer->ready;
    }
    return count;
}

struct peer *node_next_hop(const struct node *node, uint32_t rank)
{
    struct table_entry entry;
    bool internal =
        node->heal.table && table_entry(node->heal.table, rank, &entry) == 0;

    struct peer *found = NULL;

    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (!peer || !peer->ready || peer->going ||
            peer->life.state == LINK_CLOSED)
            continue;
        if (peer->rank == rank)
            return peer;
        if (!found && ranks_has(&peer->below, rank))
            found = peer; /* a back-end that has moved may be in two sets */
        if (!found && internal && peer->role == NODE_COMMNODE &&
            table_is_below(node->heal.table, rank, peer->rank))
            found = peer;
    }
    return found;
}

void node_free_peer(struct peer *peer)
{
    if (!peer)
        return;
    ranks_fini(&peer->below);
    free(peer);
}

static uint32_t free_slot(const struct node *node)
{
    uint32_t slot = 0;

    while (slot < node->peer_count && node->peers[slot])
        slot++;
    return slot;
}

/* The window that this node grants on each stream of a link (3.4). */
static uint32_t window_for(const struct node *node, bool is_parent)
{
    uint64_t children = node->planned_count, window;

    if (is_parent)
        children = 1;
    else if (children <= node_child_count(node))
        children = node_child_count(node) + 1;
    window = node->budget / children;
    if (window > LIMIT_WINDOW_MAX)
        return LIMIT_WINDOW_MAX;
    return window < LIMIT_WINDOW_MIN ? LIMIT_WINDOW_MIN : (uint32_t)window;
}

struct peer *node_add_peer(struct node *node, const struct event *event)
{
    uint32_t slot = free_slot(node);
    struct peer *peer;

    if (array_reach(&node->peers, &node->peer_count, slot, sizeof(peer)) < 0 ||
        array_reach(&node->links, &node->link_count, event->link,
                    sizeof(peer)) < 0)
        return NULL;
    peer = calloc(1, sizeof(*peer));
    if (!peer)
        return NULL;
    peer->link = event->link;
    peer->slot = slot;
    peer->rank = event->rank;
    peer->incarnation = event->incarnation;
    peer->role = event->role;
    peer->is_parent = event->is_parent;
    peer->grant = window_for(node, event->is_parent);
    link_init(&peer->life, node->times.heartbeat_ms, node_patience_ms(node),
              node->now_ms);
    if (!node->silence_ms ||
        node->now_ms + node_patience_ms(node) < node->silence_ms)
        node->silence_ms = node->now_ms + node_patience_ms(node);
    node->peers[slot] = peer;
    node->links[event->link] = peer;
    return peer;
}

void node_remove_peer(struct node *node, struct peer *peer)
{
    node->peers[peer->slot] = NULL;
    if (node->links[peer->link] == peer)
        node->links[peer->link] = NULL;
    if (node->parent == peer)
        node->parent = NULL;
    node_free_peer(peer);
}

uint32_t node_patience_ms(const struct node *node)
{
    return node->launched || node->attached ? node->times.failure_timeout_ms
                                            : node->launching->patience_ms;
}

/* The link to the parent or to a candidate has ended. */
static void lose_parent(struct node *node,
                        struct peer *peer,
                        const char *text,
                        bool silent)
{
    uint32_t rank = peer->rank;
    uint32_t incarnation = peer->incarnation;
    bool lives = peer->gave_up;

    if (peer == node->heal.orphan.left) {
        move_untold(node);
        return;
    }
    if (peer != node->parent) {
        orphan_link_down(node, peer);
        return;
    }
    node_remove_peer(node, peer);
    if (!node->launched || node->closing ||
        (node->leaving && !node->farewell && retain_is_done(node)) ||
        (node->attached && node->streams[0]->down.last == 0))
        launch_end(node, text); /* it cannot be adopted yet */
    else
        orphan_begin(node, rank, incarnation, lives, silent);
}

void node_lose(struct node *node,
               struct peer *peer,
               const char *text,
               bool silent)
{
    bool ready = peer->ready;

    link_close(&peer->life);
    peer->ready = false;
    if (peer->is_parent) {
        lose_parent(node, peer, text, silent);
        return;
    }
    if (silent && node->ending)
        node_act(node, ACTION_KILL)->rank = peer->rank;
    join_forget(node, peer);
    adoption_forget(node, peer);
    status_forget(node, peer);
    if (!node->launched && missing_is_skipped(node)) {
        missing_unlinked(node, peer, text);
    } else {
        if (ready)
            member_lost_child(node, peer, text);
        if (!node->launched)
            launch_child_gone(node, peer->rank, text);
    }
    node_remove_peer(node, peer);
    node->due |= DUE_END;
}

static void close_and_lose(struct node *node,
                           struct peer *peer,
                           int code,
                           const char *text)
{
    struct action *close;

    if (peer->life.state == LINK_CLOSED)
        return;
    close = node_act(node, ACTION_CLOSE);
    close->link = peer->link;
    close->code = code;
    node_lose(node, peer, text, false);
}

void node_drop(struct node *node, struct peer *peer, const char *text)
{
    close_and_lose(node, peer, 0, text);
}

void node_breach(struct node *node, struct peer *peer, const char *text)
{
    close_and_lose(node, peer, -EPROTO, text);
}

int node_refuse(struct node *node, const char *why)
{
    node->refusal = why;
    return -EPROTO;
}
