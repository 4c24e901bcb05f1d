/* suspect.c - internal nodes without a path to the front-end (PROTOCOL 6.8).
 *
 *            it has failed, or its parent has no path
 *   has a path ---------------------------------------> has none
 *       ^                                                 |    |
 *       |    it is adopted, or refutes its failure        |    |
 *       +-------------------------------------------------+    |
 *                                                              v
 *         its end is certain, or give_up_timeout is over:  lost for good
 *
 * The application is told when a node is suspected, and whether it came back or
 * is lost. */
#include <stdio.h>
#include <stdlib.h>

#include "protocol/state.h"

/* The entry of `rank`; NULL: out of memory. */
static struct told *told_of(struct node *node, uint32_t rank)
{
    struct suspicion *suspicion = &node->heal.suspicion;

    if (array_reach(&suspicion->told, &suspicion->told_count, rank,
                    sizeof(*suspicion->told)) < 0) {
        node->failed = true;
        return NULL;
    }
    return &suspicion->told[rank];
}

bool suspect_is_lost(const struct node *node, uint32_t rank)
{
    const struct suspicion *suspicion = &node->heal.suspicion;

    return rank < suspicion->told_count && suspicion->told[rank].lost;
}

bool suspect_has_left(const struct node *node, uint32_t rank)
{
    return suspect_is_lost(node, rank) && node->heal.suspicion.told[rank].left;
}

/* The last known incarnation of internal node `rank`. */
static uint32_t incarnation_of(const struct node *node, uint32_t rank)
{
    struct table_entry entry = {.incarnation = 0};

    table_entry(node->heal.table, rank, &entry);
    return entry.incarnation;
}

/* ---- what the application is told ---- */

/* Tell the application that `rank`, a commnode or a back-end, may be lost. */
static void tell_suspected(struct node *node, uint32_t rank, const char *text)
{
    struct told *told = told_of(node, rank);

    if (!told || told->suspected || told->lost || node->closing)
        return;
    told->suspected = true;
    node_tell(node, TELL_NODE_SUSPECTED, rank, 0, text);
}

/* Tell the application that `rank` lives and has a path. */
static void tell_back(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);

    if (!told || !told->suspected || told->lost || node->closing)
        return;
    told->suspected = false;
    node_tell(node, TELL_NODE_BACK, rank, 0, NULL);
}

/* During a shutdown: have the starters of `ranks` kill them (11.4). */
static void end_suspects(struct node *node, const struct ranks *ranks)
{
    struct control control = {.type = CONTROL_ENDING};

    if (ranks_copy(&control.ranks, ranks) < 0)
        node->failed = true;
    zero_send(node, &control);
    control_fini(&control);
}

void suspect_end(struct node *node)
{
    const struct suspicion *suspicion = &node->heal.suspicion;
    struct ranks ranks = {0};

    for (uint32_t rank = 0; rank < suspicion->told_count; rank++)
        if ((suspicion->told[rank].suspected || suspicion->told[rank].lost) &&
            ranks_add(&ranks, rank, rank) < 0)
            node->failed = true;
    end_suspects(node, &ranks);
    ranks_fini(&ranks);
}

/* Whether commnode `rank` is not lost and has no path to the front-end. */
static bool is_without_path(const struct node *node, uint32_t rank)
{
    const struct told *told = &node->heal.suspicion.told[rank];

    return !told->lost && (told->suspected || told->pathless) &&
           !ranks_has(&node->lost, rank);
}

bool suspect_is_any(const struct node *node)
{
    for (uint32_t rank = 0; rank < node->heal.suspicion.told_count; rank++)
        if (is_without_path(node, rank))
            return true;
    return node->uncovered_count > 0;
}

void suspect_astray(struct node *node)
{
    for (uint32_t rank = 0; rank < node->heal.suspicion.told_count; rank++)
        if (is_without_path(node, rank) &&
            ranks_add(&node->astray, rank, rank) < 0)
            node->failed = true;
    for (size_t i = 0; i < node->uncovered_count; i++)
        if (ranks_unite(&node->astray, &node->uncovered[i].ranks) < 0)
            node->failed = true;
}

void suspect_found(struct node *node, uint32_t rank)
{
    struct ranks one = {0};

    if (!ranks_has(&node->astray, rank))
        return;
    if (ranks_add(&one, rank, rank) < 0 ||
        ranks_subtract(&node->astray, &one) < 0)
        node->failed = true;
    ranks_fini(&one);
}

void suspect_limbo(struct node *node, const struct ranks *ranks)
{
    uint32_t rank = RANK_NONE;
    char text[80];

    snprintf(text, sizeof(text),
             "nobody has reached it for %u ms (failure_timeout)",
             node->times.failure_timeout_ms);
    while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
        tell_suspected(node, rank, text);
    if (node->ending)
        end_suspects(node, ranks);
}

void suspect_covered(struct node *node, const struct ranks *ranks)
{
    uint32_t rank = RANK_NONE;

    while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
        tell_back(node, rank);
}

void suspect_failed(struct node *node,
                    uint32_t rank,
                    uint32_t incarnation,
                    const char *text)
{
    struct told *told = told_of(node, rank);

    /* a record of an incarnation before the last report is out of date */
    if (told && incarnation >= told->incarnation)
        tell_suspected(node, rank, text);
}

void suspect_certain(struct node *node,
                     uint32_t rank,
                     const char *text,
                     bool is_silent)
{
    struct told *told = told_of(node, rank);

    if (!told || told->lost)
        return;
    told->left = !told->suspected && drain_expected(node, rank);
    told->lost = true;
    node->due |=
        drain_has(node, rank) ? DUE_SUSPICION | DUE_SHAPE : DUE_SUSPICION;
    view_changed(node);
    if (!node->closing)
        node_tell(node, told->left ? TELL_NODE_LEFT : TELL_NODE_LOST, rank, 0,
                  text);
    replace_lost(node, rank, text, is_silent);
    plan_lost(node, rank);
    record_tell(node, rank, incarnation_of(node, rank), TABLE_FAILED, text);
}

bool suspect_reported(struct node *node, uint32_t rank, uint32_t incarnation)
{
    struct told *told = told_of(node, rank);
    struct table_entry entry;

    /* not news: a repetition, or the node is lost or failed after the report */
    if (!told || node->closing || told->lost ||
        incarnation <= told->incarnation || ranks_has(&node->lost, rank) ||
        (table_entry(node->heal.table, rank, &entry) == 0 && entry.failed &&
         entry.incarnation >= incarnation))
        return false;
    told->incarnation = incarnation;
    return true;
}

void suspect_joined(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);
    uint32_t place = replace_joined(node, rank);

    if (told) /* no report tells of this incarnation */
        told->incarnation = JOINED_INCARNATION;
    node_tell(node, TELL_NODE_JOINED, rank, 0, NULL)->sequence = place;
    drain_joined(node, rank, place);
    view_changed(node);
}

void suspect_refuted(struct node *node, uint32_t rank)
{
    tell_back(node, rank);
}

void suspect_adopted(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);

    if (told)
        told->suspected = false;
}

/* ---- nodes without a path ---- */

/* Whether no record of `rank`, which has joined, has come yet. */
static bool is_awaited(const struct node *node, uint32_t rank)
{
    struct table_entry entry;

    return table_entry(node->heal.table, rank, &entry) == 0 && entry.awaited;
}

/* PROTOCOL 6.9: begin a round for suspect `rank` and the suspects below it.
 * Without `all`, skip the suspects below it whose round has ended. */
static void begin_round(struct node *node, uint32_t rank, bool all)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    uint32_t round = node->heal.round + 1;

    for (size_t i = 0; i < suspicion->count; i++) {
        struct suspect *one = &suspicion->list[i];

        if (one->rank != rank &&
            ((!all && one->gone_ms != UINT64_MAX) ||
             !table_is_below(node->heal.table, one->rank, rank)))
            continue;
        one->gone_ms = UINT64_MAX;
        one->round = node->heal.round = round;
    }
}

void suspect_heard(struct node *node, uint32_t rank)
{
    struct suspicion *suspicion = &node->heal.suspicion;

    for (size_t i = 0; i < suspicion->count; i++)
        if (suspicion->list[i].rank == rank)
            suspicion->list[i].since_ms = node->now_ms;
    begin_round(node, rank, true);
}

void suspect_recorded(struct node *node, uint32_t rank, bool failed)
{
    node->due |= DUE_SUSPICION;
    begin_round(node, rank, !failed);
}

void suspect_seen(struct node *node, uint32_t round)
{
    struct suspicion *suspicion = &node->heal.suspicion;

    for (size_t i = 0; i < suspicion->count; i++)
        if (suspicion->list[i].gone_ms == UINT64_MAX &&
            suspicion->list[i].round <= round)
            suspicion->list[i].gone_ms = node->now_ms;
}

void suspect_renumber(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;

    if (suspicion->count == 0)
        return;
    node->heal.round++;
    for (size_t i = 0; i < suspicion->count; i++) {
        suspicion->list[i].round = node->heal.round;
        suspicion->list[i].gone_ms = UINT64_MAX;
    }
}

/* Add `rank`, which has lost its path, to the suspects. */
static void suspect_add(struct node *node, uint32_t rank)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    struct table_entry entry = {.failed = false};

    if (array_grow(&suspicion->list, suspicion->count,
                   sizeof(*suspicion->list)) < 0) {
        node->failed = true;
        return;
    }
    table_entry(node->heal.table, rank, &entry);
    suspicion->list[suspicion->count++] = (struct suspect){
        .rank = rank,
        .round = ++node->heal.round,
        .gone_ms = UINT64_MAX,
        .since_ms = node->now_ms,
        /* an orphan gets one heartbeat to be adopted */
        .knock_ms =
            node->now_ms + (entry.failed ? 0 : node->times.heartbeat_ms),
    };
    suspicion->told[rank].pathless = true;
}

/* `rank` has a path again. If its incarnation is above that of its last report,
 * another report is in flight (6.7), and will tell the application. */
static void suspect_restore(struct node *node, uint32_t rank)
{
    struct told *told = told_of(node, rank);

    told->pathless = false;
    if (incarnation_of(node, rank) <= told->incarnation)
        tell_back(node, rank);
}

/* Remove the nodes that have a path again from the list. */
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
    uint32_t count = table_count(node->heal.table), i;
    struct table_site *sites = calloc(count, sizeof(*sites));

    if (!sites) {
        node->failed = true;
        return;
    }
    table_sites(node->heal.table, TABLE_NONE, sites);
    for (i = 1; i < count && !node->failed; i++) {
        struct told *told = told_of(node, sites[i].rank);
        bool pathless = told && sites[i].depth == TABLE_NO_PATH &&
                        !told->lost && !is_awaited(node, sites[i].rank);

        if (!told)
            break;
        if (pathless && !told->pathless)
            suspect_add(node, sites[i].rank);
        else if (!pathless && (told->pathless || told->suspected))
            suspect_restore(node, sites[i].rank);
    }
    free(sites);
    suspect_sweep(node);
}

/* ---- time ---- */

/* When the suspect becomes overdue; if it is overdue, when it is given up. */
static uint64_t due_ms(const struct node *node, const struct suspect *suspect)
{
    if (!suspect->overdue)
        return suspect->since_ms + node->times.failure_timeout_ms;
    return suspect->gone_ms == UINT64_MAX
               ? UINT64_MAX
               : suspect->gone_ms + record_patience_ms(node);
}

/* Tell the application of an overdue suspect, unless the report of its adoption
 * arrived before the record. */
static void tell_overdue(struct node *node, uint32_t rank)
{
    if (incarnation_of(node, rank) >=
        node->heal.suspicion.told[rank].incarnation)
        tell_suspected(node, rank,
                       "it has had no path to the front-end for "
                       "failure_timeout");
}

static void end_overdue(struct node *node, uint32_t rank)
{
    struct ranks ranks = {0};

    if (ranks_add(&ranks, rank, rank) < 0)
        node->failed = true;
    end_suspects(node, &ranks);
    ranks_fini(&ranks);
}

/* Try to connect to the suspect whose turn it is, to learn whether its host
 * refuses the connection (6.8). */
static void suspect_knock(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    struct suspect *next = NULL;
    struct action *action;
    char *address;

    if (node->now_ms < suspicion->knock_end_ms)
        return;
    for (size_t i = 0; i < suspicion->count; i++)
        if (node->now_ms >= suspicion->list[i].knock_ms &&
            (!next || suspicion->list[i].knock_ms < next->knock_ms))
            next = &suspicion->list[i];
    if (!next)
        return;
    next->knock_ms = node->now_ms + node->times.heartbeat_ms;
    address = launch_address(node, next->rank);
    if (!address)
        return;
    suspicion->knocked = next->rank;
    suspicion->knock_end_ms = node->now_ms + node->times.connect_timeout_ms;
    action = node_act(node, ACTION_KNOCK);
    action->rank = next->rank;
    if (action == &node->spare)
        free(address);
    else
        action->text = address;
}

void suspect_answered(struct node *node, uint32_t rank, bool refused)
{
    struct suspicion *suspicion = &node->heal.suspicion;

    if (suspicion->knock_end_ms == 0 || rank != suspicion->knocked)
        return;
    suspicion->knock_end_ms = 0;
    if (refused && suspicion->told[rank].pathless)
        suspect_certain(node, rank, "nobody listens at its address any more",
                        false);
}

void suspect_tick(struct node *node)
{
    struct suspicion *suspicion = &node->heal.suspicion;
    char text[80];

    if (node->now_ms < suspect_deadline_ms(node))
        return;
    for (size_t i = 0; i < suspicion->count && !node->failed; i++) {
        struct suspect *one = &suspicion->list[i];

        if (node->now_ms < due_ms(node, one))
            continue;
        if (one->overdue) {
            snprintf(text, sizeof(text),
                     "nobody has reached it for %llu ms: it is given up",
                     (unsigned long long)record_patience_ms(node));
            suspect_certain(node, one->rank, text, true);
            if (ranks_add(&node->astray, one->rank, one->rank) < 0)
                node->failed = true;
        } else {
            one->overdue = true;
            tell_overdue(node, one->rank);
            if (node->ending)
                end_overdue(node, one->rank);
        }
    }
    suspect_knock(node);
}

uint64_t suspect_deadline_ms(const struct node *node)
{
    const struct suspicion *suspicion = &node->heal.suspicion;
    uint64_t deadline = UINT64_MAX;

    for (size_t i = 0; i < suspicion->count && !node->closing; i++) {
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
