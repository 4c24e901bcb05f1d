/* cover.c - the front-end's back-ends that no branch covers (PROTOCOL 11.1).
 *
 *            lost             failure_timeout        give_up_timeout
 *   covered ------> uncovered ---------------> limbo ---------------> given up
 *      ^                |                        |
 *      +----------------+------------------------+
 *            a branch claims the back-end again */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* Add the back-ends that the branches cover to `out`. */
static int add_covered(const struct node *node, struct ranks *out)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        if (peer && peer->ready && ranks_unite(out, &peer->below) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Report the members of `entry` that a branch covers again. */
static void tell_covered(struct node *node,
                         const struct uncovered *entry,
                         const struct ranks *cover)
{
    struct ranks back = {0};

    if (ranks_copy(&back, &entry->ranks) < 0 ||
        ranks_intersect(&back, cover) < 0)
        node->failed = true;
    suspect_covered(node, &back);
    ranks_fini(&back);
}

void cover_update(struct node *node)
{
    struct ranks cover = {0}, open = {0};
    size_t i, kept = 0;

    if (add_covered(node, &cover) < 0 ||
        ranks_copy(&open, &node->backends) < 0 ||
        ranks_subtract(&open, &cover) < 0)
        node->failed = true;
    for (i = 0; i < node->uncovered_count; i++) {
        struct uncovered *entry = &node->uncovered[i];

        if (entry->limbo)
            tell_covered(node, entry, &cover);
        if (ranks_intersect(&entry->ranks, &node->backends) < 0 ||
            ranks_subtract(&entry->ranks, &cover) < 0 ||
            ranks_subtract(&open, &entry->ranks) < 0)
            node->failed = true;
        if (entry->ranks.count == 0)
            ranks_fini(&entry->ranks);
        else
            node->uncovered[kept++] = *entry;
    }
    node->uncovered_count = kept;
    ranks_fini(&cover);
    if (open.count == 0) {
        ranks_fini(&open);
        return;
    }
    if (array_grow(&node->uncovered, kept, sizeof(*node->uncovered)) < 0) {
        ranks_fini(&open);
        node->failed = true;
        return;
    }
    node->uncovered[node->uncovered_count++] =
        (struct uncovered){.ranks = open, .since_ms = node->now_ms};
}

int node_unreached(const struct node *node,
                   const struct ranks *ranks,
                   struct ranks *out)
{
    struct ranks all = {0};
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->uncovered_count; i++)
        r = ranks_unite(&all, &node->uncovered[i].ranks);
    if (r == 0)
        r = ranks_intersect(&all, ranks);
    if (r == 0)
        r = ranks_copy(out, &all);
    ranks_fini(&all);
    return r;
}

void cover_exempt(struct node *node, struct ranks *ranks)
{
    for (size_t i = 0; i < node->uncovered_count; i++)
        if (node->uncovered[i].limbo &&
            ranks_subtract(ranks, &node->uncovered[i].ranks) < 0)
            node->failed = true;
}

/* ---- back-ends that have ended ---- */

void cover_ended(struct node *node, uint32_t rank, const char *text)
{
    struct ended ended = {.rank = rank, .text = strdup(text)};

    if (!ended.text ||
        array_grow(&node->ended_list, node->ended_count, sizeof(ended)) < 0) {
        free(ended.text);
        node->failed = true;
        return;
    }
    node->ended_list[node->ended_count++] = ended;
}

static bool is_covered(const struct node *node, uint32_t rank)
{
    for (size_t i = 0; i < node->uncovered_count; i++)
        if (ranks_has(&node->uncovered[i].ranks, rank))
            return false;
    return ranks_has(&node->backends, rank);
}

/* The next ended back-end to give up or forget; ended_count: there is none. */
static size_t next_ended(const struct node *node)
{
    size_t i;

    for (i = 0; i < node->ended_count; i++)
        if (!is_covered(node, node->ended_list[i].rank))
            break;
    return i;
}

static void give_up_ended(struct node *node)
{
    struct ended ended;
    size_t i;

    while ((i = next_ended(node)) < node->ended_count && !node->failed) {
        ended = node->ended_list[i];
        node->ended_list[i] = node->ended_list[--node->ended_count];
        if (ranks_has(&node->backends, ended.rank))
            record_gone(node, ended.rank, ended.text);
        free(ended.text);
    }
}

void cover_fini(struct node *node)
{
    for (size_t i = 0; i < node->uncovered_count; i++)
        ranks_fini(&node->uncovered[i].ranks);
    free(node->uncovered);
    for (size_t i = 0; i < node->ended_count; i++)
        free(node->ended_list[i].text);
    free(node->ended_list);
}

/* ---- time ---- */

/* When the back-ends of `entry` enter limbo, or from limbo are given up. */
static uint64_t due_ms(const struct node *node, const struct uncovered *entry)
{
    return entry->since_ms + (entry->limbo ? record_patience_ms(node)
                                           : node->times.failure_timeout_ms);
}

uint64_t cover_deadline_ms(const struct node *node)
{
    uint64_t deadline = UINT64_MAX;

    if (next_ended(node) < node->ended_count && !node->closing)
        return 0;
    for (size_t i = 0; i < node->uncovered_count && !node->closing; i++)
        if (due_ms(node, &node->uncovered[i]) < deadline)
            deadline = due_ms(node, &node->uncovered[i]);
    return deadline;
}

static void give_up_oldest(struct node *node)
{
    struct ranks ranks = {0};
    char text[80];

    snprintf(text, sizeof(text),
             "nobody has reached it for %llu ms: it is given up",
             (unsigned long long)record_patience_ms(node));
    if (ranks_copy(&ranks, &node->uncovered[0].ranks) < 0)
        node->failed = true;
    else
        member_give_up(node, CONTROL_LOST, &ranks, text);
    if (ranks_unite(&node->astray, &ranks) < 0)
        node->failed = true;
    ranks_fini(&ranks);
}

void cover_tick(struct node *node)
{
    bool news = false;

    if (node->now_ms < cover_deadline_ms(node))
        return;
    give_up_ended(node);
    for (size_t i = 0; i < node->uncovered_count; i++) {
        struct uncovered *entry = &node->uncovered[i];

        if (entry->limbo || node->now_ms < due_ms(node, entry))
            continue;
        entry->limbo = true;
        suspect_limbo(node, &entry->ranks);
        news = true;
    }
    for (size_t i = 0; news && i < node->stream_count; i++)
        if (node->streams[i]->root->opening)
            settle_update(node, node->streams[i]);
    while (node->uncovered_count > 0 && node->uncovered[0].limbo &&
           node->now_ms >= due_ms(node, &node->uncovered[0]) && !node->failed)
        give_up_oldest(node);
}
