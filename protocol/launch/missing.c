/* missing.c - launching around nodes that do not start (PROTOCOL 12.2, 12.2a).
 *
 * Only under COP_MISSING_SKIP. When a child does not start, it goes on the list
 * of missing nodes, and its parent starts the child's children itself. So each
 * node is given its whole subtree when it starts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* If all starts along a path fail one after another, they may together take
 * launch_timeout divided by this. */
#define START_PART 2

bool missing_is_skipped(const struct node *node)
{
    return node->launching && node->launching->missing == COP_MISSING_SKIP;
}

/* How long one start may take. Under COP_MISSING_SKIP the starts along a path
 * share their part of launch_timeout. */
static uint32_t start_limit_ms(const struct node *node,
                               const struct node_config *config)
{
    uint64_t levels = (uint64_t)config->depth + config->height;
    uint64_t limit_ms = node->times.launch_timeout_ms;

    if (config->missing == COP_MISSING_SKIP)
        limit_ms /= START_PART * (levels ? levels : 1);
    return limit_ms < node->times.start_timeout_ms
               ? (uint32_t)limit_ms
               : node->times.start_timeout_ms;
}

int missing_init(struct node *node, const struct node_config *config)
{
    node->launching->missing = config->missing;
    node->launching->start_limit_ms = start_limit_ms(node, config);
    node->launching->patience_ms =
        node->launching->start_limit_ms > node->times.failure_timeout_ms
            ? node->launching->start_limit_ms
            : node->times.failure_timeout_ms;
    if (config->missing != COP_MISSING_SKIP)
        return 0;
    node->launching->below =
        calloc(config->below_count + 1, sizeof(*node->launching->below));
    if (!node->launching->below)
        return -ENOMEM;
    for (size_t i = 0; i < config->below_count; i++) {
        node->launching->below[i] = config->below[i];
        node->launching->below[i].host = strdup(config->below[i].host);
        if (!node->launching->below[i].host)
            return -ENOMEM;
        node->launching->below_count++;
    }
    return 0;
}

void missing_fini(struct node *node)
{
    for (size_t i = 0; i < node->launching->below_count; i++)
        free((char *)(uintptr_t)node->launching->below[i].host);
    free(node->launching->below);
}

/* ---- the subtree ---- */

/* Add `rank` and all nodes planned below it. */
static void add_subtree(struct node *node, uint32_t rank, struct ranks *out)
{
    int r;

    r = ranks_add(out, rank, rank);
    for (size_t i = 0; r == 0 && i < node->launching->below_count; i++) {
        const struct node_child *child = &node->launching->below[i];

        if (ranks_has(out, child->parent))
            r = ranks_add(out, child->rank, child->rank);
    }
    if (r < 0)
        node->failed = true;
}

static const char *host_of(const struct node *node, uint32_t rank)
{
    for (size_t i = 0; i < node->launching->below_count; i++)
        if (node->launching->below[i].rank == rank)
            return node->launching->below[i].host;
    return "";
}

static void add_missing(struct node *node, uint32_t rank, const char *reason)
{
    if (roster_add_note(&node->roster.missing, rank, host_of(node, rank),
                        reason) < 0)
        node->failed = true;
}

static void add_all_missing(struct node *node,
                            const struct ranks *ranks,
                            const char *reason)
{
    uint32_t rank = RANK_NONE;

    while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
        add_missing(node, rank, reason);
}

/* Remove `ranks` from the nodes that have started. `present` gets those of
 * `ranks` that had started. */
static void remove_started(struct node *node,
                           const struct ranks *ranks,
                           struct ranks *present)
{
    const struct roster *roster = &node->roster;
    uint32_t *inner =
        calloc((size_t)roster->internal_count + 1, sizeof(*inner));

    for (uint32_t i = 0; inner && i < roster->internal_count; i++)
        inner[i] = roster->internals[i].rank;
    if (!inner || ranks_unite(present, &roster->backends) < 0 ||
        ranks_add_list(present, inner, roster->internal_count) < 0 ||
        ranks_intersect(present, ranks) < 0 ||
        roster_remove(&node->roster, ranks) < 0 ||
        ranks_subtract(&node->backends, ranks) < 0)
        node->failed = true;
    free(inner);
    for (uint32_t i = 0; i < node->peer_count; i++) {
        struct peer *peer = node_child(node, i);

        if (!peer || !ranks_meet(&peer->below, ranks))
            continue;
        if (ranks_subtract(&peer->below, ranks) < 0)
            node->failed = true;
        member_trim(node, peer);
    }
}

/* ---- nodes that do not start ---- */

/* Ask the driver to stop the start of `child`; EVENT_CHILD_GONE answers. */
static void missing_stop(struct node *node,
                         struct expected *child,
                         const char *text)
{
    struct action *action = node_act(node, ACTION_STOP);

    child->stopping = true;
    action->rank = child->rank;
    if (action == &node->spare)
        return;
    action->text = strdup(text);
    if (!action->text)
        node->failed = true;
}

/* `child` is missing: start its children in its place. */
static void missing_skip(struct node *node,
                         struct expected *child,
                         const char *text)
{
    uint32_t rank = child->rank;

    child->decided = child->missing = true;
    add_missing(node, rank, text);
    for (size_t i = 0; i < node->launching->below_count; i++) {
        const struct node_child *orphan = &node->launching->below[i];

        if (orphan->parent != rank)
            continue;
        if (launch_expect(node, orphan) < 0) {
            node->failed = true;
            return;
        }
        node_act(node, ACTION_SPAWN)->rank = orphan->rank;
    }
}

void missing_begun(struct node *node, uint32_t rank)
{
    struct expected *child = launch_expected(node, rank);

    if (!child || child->begun)
        return;
    child->begun = true;
    child->begun_ms = node->now_ms;
}

void missing_gone(struct node *node, uint32_t rank, const char *text)
{
    struct expected *child = launch_expected(node, rank);

    if (!child || child->decided || child->linked)
        return; /* missing_unlinked() follows when the link ends */
    missing_skip(node, child, text);
    launch_report(node);
}

void missing_unlinked(struct node *node, struct peer *peer, const char *text)
{
    struct expected *child = launch_expected(node, peer->rank);
    struct ranks subtree = {0}, present = {0};

    if (!child || !child->linked)
        return;
    child->linked = false;
    if (child->missing)
        return;
    if (child->decided) {
        add_subtree(node, peer->rank, &subtree);
        remove_started(node, &subtree, &present);
        member_forget(node, peer);
    }
    if (node->reported) {
        child->missing = true;
        record_gone_all(node, &present, text);
    } else {
        child->decided = false; /* missing_gone() starts its children again */
    }
    missing_stop(node, child, text);
    ranks_fini(&subtree);
    ranks_fini(&present);
}

void missing_lost(struct node *node,
                  const struct ranks *ranks,
                  const char *text)
{
    struct ranks present = {0};

    remove_started(node, ranks, &present);
    if (node->reported)
        record_gone_all(node, &present, text);
    else
        add_all_missing(node, &present, text);
    ranks_fini(&present);
}

/* ---- time ---- */

/* Whether the start of `child` is under way, and so has a deadline. */
static bool is_starting(const struct expected *child)
{
    return child->begun && !child->decided && !child->linked &&
           !child->stopping;
}

uint64_t missing_deadline_ms(const struct node *node)
{
    uint64_t begun_ms = UINT64_MAX;

    if (!missing_is_skipped(node))
        return UINT64_MAX;
    for (size_t i = 0; i < node->launching->expected_count; i++)
        if (is_starting(&node->launching->expected[i]) &&
            node->launching->expected[i].begun_ms < begun_ms)
            begun_ms = node->launching->expected[i].begun_ms;
    return begun_ms == UINT64_MAX ? begun_ms
                                  : begun_ms + node->launching->start_limit_ms;
}

void missing_tick(struct node *node)
{
    char text[96];

    if (node->now_ms < missing_deadline_ms(node))
        return;
    snprintf(text, sizeof(text), "did not answer within %u ms (start_timeout)",
             node->launching->start_limit_ms);
    for (size_t i = 0; i < node->launching->expected_count; i++) {
        struct expected *child = &node->launching->expected[i];

        if (is_starting(child) &&
            node->now_ms >= child->begun_ms + node->launching->start_limit_ms)
            missing_stop(node, child, text);
    }
}

/* The link to child `rank`, or NULL. */
static struct peer *link_of_child(const struct node *node, uint32_t rank)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node_child(node, slot) && node->peers[slot]->rank == rank)
            return node->peers[slot];
    return NULL;
}

void missing_close(struct node *node, const char *text)
{
    struct ranks subtree = {0};
    struct peer *peer;

    for (size_t n = 0; n < node->launching->expected_count; n++) {
        struct expected *child = &node->launching->expected[n];

        if (child->decided)
            continue;
        child->decided = child->missing = true;
        add_subtree(node, child->rank, &subtree);
        missing_stop(node, child, text);
        peer = link_of_child(node, child->rank);
        if (peer)
            node_drop(node, peer, text);
    }
    add_all_missing(node, &subtree, text);
    ranks_fini(&subtree);
    launch_report(node);
}
