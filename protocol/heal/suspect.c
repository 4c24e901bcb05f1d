/* suspect.c - the front-end's internal nodes that have no path to it.
 *
 *               FAILED, or a parent of it has no path
 *   has a path ---------------------------------------> has none
 *       ^                                                 |    |
 *       |    it is adopted, or refutes its failure        |    |
 *       +-------------------------------------------------+    |
 *                                                              v
 *         its end is certain, or give_up_timeout is over:  lost for good
 *
 * The application is told of a suspicion, and how it ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* What the application was told of `rank`; NULL: no memory. */
static struct told *told_of(struct node *node, uint32_t rank)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    uint32_t room = suspicion->told_count ? suspicion->told_count : 64;
    struct told *told;

    if (rank < suspicion->told_count)
        return &suspicion->told[rank];
    while (room <= rank)
        room *= 2;
    told = realloc(suspicion->told, room * sizeof(*told));
    if (!told) {
        node->failed = true;
        return NULL;
    }
    memset(told + suspicion->told_count, 0,
           (room - suspicion->told_count) * sizeof(*told));
    suspicion->told = told;
    suspicion->told_count = room;
    return &told[rank];
}

bool suspect_is_lost(const struct node *node, uint32_t rank)
{
    const struct suspicion *suspicion = &node->heal.suspicion;

    return rank < suspicion->told_count && suspicion->told[rank].lost;
}

/* The incarnation that the table has of internal node `rank`. */
static uint32_t incarnation_of(const struct node *node, uint32_t rank)
{
    struct table_entry entry = {.incarnation = 0};

    table_entry(node->heal.table, rank, &entry);
    return entry.incarnation;
}

/* ---- what the application is told ---- */

/* `rank`, a commnode or a back-end, may be lost. */
static void suspect(struct node *node, uint32_t rank, const char *text)
{
    struct told *told = told_of(node, rank);

    if (!told || told->suspected || told->lost || node->closing)
        return;
    told->suspected = true;
    node_tell(node, TELL_NODE_SUSPECTED, rank, 0, text);
}

/* It is not: it lives, and there is a path to it. */
static void acquit(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);

    if (!told || !told->suspected || told->lost || node->closing)
        return;
    told->suspected = false;
    node_tell(node, TELL_NODE_BACK, rank, 0, NULL);
}

void suspect_limbo(struct node *node, const struct ranks *ranks)
{
    uint32_t rank = RANK_NONE;
    char text[80];

    snprintf(text, sizeof(text),
             "nobody has reached it for %u ms (failure_timeout)",
             node->times.failure_timeout_ms);
    while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
        suspect(node, rank, text);
}

void suspect_covered(struct node *node, const struct ranks *ranks)
{
    uint32_t rank = RANK_NONE;

    while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
        acquit(node, rank);
}

void suspect_failed(struct node *node,
                    uint32_t rank,
                    uint32_t incarnation,
                    const char *text)
{
    struct told *told = told_of(node, rank);

    /* a report that has come already speaks of a later attempt */
    if (told && incarnation >= told->incarnation)
        suspect(node, rank, text);
}

void suspect_certain(struct node *node, uint32_t rank, const char *text)
{
    struct told *told = told_of(node, rank);

    if (!told || told->lost)
        return;
    told->lost = true;
    node->heal.suspicion.stale = true;
    if (!node->closing)
        node_tell(node, TELL_NODE_LOST, rank, 0, text);
    record_tell(node, rank, incarnation_of(node, rank), TABLE_FAILED, text);
}

bool suspect_reported(struct node *node, uint32_t rank, uint32_t incarnation)
{
    struct told *told = told_of(node, rank);
    struct table_entry entry;

    /* it was repeated, or its node is lost, or is known to have failed since */
    if (!told || node->closing || told->lost ||
        incarnation <= told->incarnation || ranks_has(&node->lost, rank) ||
        (table_entry(node->heal.table, rank, &entry) == 0 && entry.failed &&
         entry.incarnation >= incarnation))
        return false;
    told->incarnation = incarnation;
    return true;
}

void suspect_refuted(struct node *node, uint32_t rank)
{
    acquit(node, rank);
}

void suspect_adopted(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);

    if (told)
        told->suspected = false;
}

/* ---- nodes without a path ---- */

void suspect_heard(struct node *node, uint32_t rank)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    size_t i;

    for (i = 0; i < suspicion->count; i++)
        if (suspicion->list[i].rank == rank)
            suspicion->list[i].since_ms = node->now_ms;
}

/* `rank` has no path from now on. */
static void suspect_add(struct node *node, uint32_t rank)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    struct suspect *list =
        realloc(suspicion->list, (suspicion->count + 1) * sizeof(*list));
    struct table_entry entry = {.failed = false};

    if (!list) {
        node->failed = true;
        return;
    }
    table_entry(node->heal.table, rank, &entry);
    suspicion->list = list;
    list[suspicion->count++] = (struct suspect){
        .rank = rank,
        .since_ms = node->now_ms,
        /* an orphan has a moment to be adopted */
        .knock_ms =
            node->now_ms + (entry.failed ? 0 : node->times.heartbeat_ms),
    };
    suspicion->told[rank].pathless = true;
}

/* `rank` has a path again. One that has a higher incarnation than its last
 * report has a report on its way (6.7), which says how. */
static void restore(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);

    told->pathless = false;
    if (incarnation_of(node, rank) <= told->incarnation)
        acquit(node, rank);
}

/* Take those out that are no suspects any more. */
static void suspect_sweep(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    size_t i, kept = 0;

    for (i = 0; i < suspicion->count; i++)
        if (suspicion->told[suspicion->list[i].rank].pathless)
            suspicion->list[kept++] = suspicion->list[i];
    suspicion->count = kept;
}

void suspect_update(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    uint32_t count = table_count(node->heal.table), i;
    struct table_site *sites = calloc(count, sizeof(*sites));
    struct table_entry last;

    suspicion->stale = false;
    table_at(node->heal.table, count - 1, &last);
    if (!sites || !told_of(node, last.rank)) {
        node->failed = true;
        free(sites);
        return;
    }
    table_sites(node->heal.table, TABLE_NONE, sites);
    for (i = 1; i < count && !node->failed; i++) {
        struct told *told = &suspicion->told[sites[i].rank];
        bool pathless = sites[i].depth == TABLE_NO_PATH && !told->lost;

        if (pathless && !told->pathless)
            suspect_add(node, sites[i].rank);
        else if (!pathless && (told->pathless || told->suspected))
            restore(node, sites[i].rank);
    }
    free(sites);
    suspect_sweep(node);
}

/* ---- time ---- */

/* When it has had no path for failure_timeout; then, for give_up_timeout. */
static uint64_t due_ms(const struct node *node, const struct suspect *suspect)
{
    return suspect->since_ms + (suspect->overdue
                                    ? record_patience_ms(node)
                                    : node->times.failure_timeout_ms);
}

/* An orphan, or below one. Where its report has come, and the record of that
 * has not, it is neither. */
static void overdue(struct node *node, uint32_t rank)
{
    if (incarnation_of(node, rank) >=
        node->heal.suspicion.told[rank].incarnation)
        suspect(node, rank,
                "it has lost its path to the front-end, and not found another "
                "one within failure_timeout");
}

/* Ask at the address of the one that has waited longest whether anybody
 * listens there (6.8). */
static void suspect_knock(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    struct suspect *next = NULL;
    struct action *action;
    const char *address;
    size_t i;

    if (node->now_ms < suspicion->knock_end_ms)
        return;
    for (i = 0; i < suspicion->count; i++)
        if (node->now_ms >= suspicion->list[i].knock_ms &&
            (!next || suspicion->list[i].knock_ms < next->knock_ms))
            next = &suspicion->list[i];
    if (!next)
        return;
    next->knock_ms = node->now_ms + node->times.heartbeat_ms;
    address = roster_address(&node->launching.roster, next->rank);
    if (!*address)
        return;
    suspicion->knocked = next->rank;
    suspicion->knock_end_ms = node->now_ms + node->times.connect_timeout_ms;
    action = node_act(node, ACTION_KNOCK);
    action->rank = next->rank;
    if (action == &node->spare)
        return;
    action->text = strdup(address);
    if (!action->text)
        node->failed = true;
}

void suspect_answered(struct node *node, uint32_t rank, bool refused)
{
    struct suspicion *suspicion = &node->heal.suspicion;

    if (suspicion->knock_end_ms == 0 || rank != suspicion->knocked)
        return;
    suspicion->knock_end_ms = 0;
    if (refused && suspicion->told[rank].pathless)
        suspect_certain(node, rank, "nobody listens at its address any more");
}

void suspect_tick(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    char text[80];
    size_t i;

    if (node->now_ms < suspect_deadline_ms(node))
        return;
    for (i = 0; i < suspicion->count && !node->failed; i++) {
        struct suspect *one = &suspicion->list[i];

        if (node->now_ms < due_ms(node, one))
            continue;
        if (one->overdue) {
            snprintf(text, sizeof(text),
                     "nobody has reached it for %llu ms: it is given up",
                     (unsigned long long)record_patience_ms(node));
            suspect_certain(node, one->rank, text);
        } else {
            one->overdue = true;
            overdue(node, one->rank);
        }
    }
    suspect_knock(node);
}

uint64_t suspect_deadline_ms(const struct node *node)
{
    const struct suspicion *suspicion = &node->heal.suspicion;
    uint64_t deadline = UINT64_MAX;
    size_t i;

    for (i = 0; i < suspicion->count && !node->closing; i++) {
        const struct suspect *one = &suspicion->list[i];
        uint64_t knock_ms = one->knock_ms > suspicion->knock_end_ms
                                ? one->knock_ms
                                : suspicion->knock_end_ms;

        if (due_ms(node, one) < deadline)
            deadline = due_ms(node, one);
        if (knock_ms < deadline)
            deadline = knock_ms;
    }
    return deadline;
}

void suspect_fini(struct node *node)
{
    free(node->heal.suspicion.told);
    free(node->heal.suspicion.list);
}
