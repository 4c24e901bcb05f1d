/* failure.c - one injected failure, and the recoveries that follow. */
#include "tools/failure.h"

#include "tools/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The time-out of one query, and the pause between two. */
#define LOOK_MS  10000
#define PAUSE_MS 100

/* Reports read at once. */
#define BATCH 256

const char *failure_kind(enum cop_injection kind)
{
    switch (kind) {
    case COP_INJECT_KILL:
        return "kill";
    case COP_INJECT_FREEZE:
        return "freeze";
    case COP_INJECT_CUT:
        return "cut";
    }
    return "?";
}

void failure_fini(struct failure *failure)
{
    free(failure->host);
    free(failure->orphans);
    free(failure->adoptions);
    free(failure->reports);
    memset(failure, 0, sizeof(*failure));
}

/* ---- the victim ---- */

/* xorshift64*: the same seed gives the same victims. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static bool is_live(const struct cop_status_node *node)
{
    return node->state == COP_STATE_UP || node->state == COP_STATE_DEGRADED;
}

static struct cop_status_node node_at(const struct cop_status *status,
                                      size_t index)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;

    cop_status_at(status, index, &node);
    return node;
}

/* Count the live commnodes; `out`, if not NULL, receives number `nth`. */
static size_t count_commnodes(const struct cop_status *status,
                              size_t nth,
                              struct cop_status_node *out)
{
    size_t count = 0, i;

    for (i = 0; i < cop_status_count(status); i++) {
        struct cop_status_node node = node_at(status, i);

        if (node.role != COP_COMMNODE || !is_live(&node))
            continue;
        if (out && count == nth)
            *out = node;
        count++;
    }
    return count;
}

/* Why a node in that state cannot be a victim. */
static const char *why_not_victim(enum cop_state state)
{
    switch (state) {
    case COP_STATE_SILENT:
        return "does not answer";
    case COP_STATE_ORPHAN:
        return "has no parent just now";
    case COP_STATE_MISSING:
        return "was not launched";
    case COP_STATE_LOST:
        return "is lost already";
    case COP_STATE_UP:
    case COP_STATE_DEGRADED:
        break;
    }
    return "is up";
}

static int choose_victim(struct cop_status_node *victim,
                         const struct failure_plan *plan,
                         const struct cop_status *status,
                         struct cop_error *error)
{
    size_t count;

    if (plan->rank == COP_RANK_NONE) {
        count = count_commnodes(status, 0, NULL);
        if (count == 0)
            return cop_error_set(error, -ENOENT, "no commnode is left");
        count_commnodes(status, next_random(plan->random) % count, victim);
        return 0;
    }
    for (size_t i = 0; i < cop_status_count(status); i++) {
        *victim = node_at(status, i);
        if (victim->rank != plan->rank)
            continue;
        if (is_live(victim))
            return 0;
        return cop_error_set(error, -ENOENT, "rank %u (%s) %s", plan->rank,
                             victim->host, why_not_victim(victim->state));
    }
    return cop_error_set(error, -ENOENT, "there is no node of rank %u",
                         plan->rank);
}

/* ---- its orphans ---- */

/* List the nodes that must find a parent: the children of a victim that dies or
 * is silent; a victim that lives on. */
static int list_orphans(struct failure *failure,
                        const struct cop_status *status)
{
    size_t count = cop_status_count(status), i;

    failure->orphans = calloc(count, sizeof(*failure->orphans));
    failure->adoptions = calloc(count, sizeof(*failure->adoptions));
    failure->reports = calloc(count, sizeof(*failure->reports));
    if (!failure->orphans || !failure->adoptions || !failure->reports)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        struct cop_status_node node = node_at(status, i);
        bool itself = node.rank == failure->rank;
        bool child = node.parent == failure->rank && is_live(&node);

        if (!(itself && failure->kind != COP_INJECT_KILL) &&
            !(child && failure->kind != COP_INJECT_CUT))
            continue;
        failure->adoptions[failure->orphan_count] = node.adoptions;
        failure->orphans[failure->orphan_count++] = node.rank;
    }
    return 0;
}

static bool is_expected(const struct failure *failure, uint32_t rank)
{
    for (size_t i = 0; i < failure->orphan_count; i++)
        if (failure->orphans[i] == rank)
            return true;
    return false;
}

static bool has_reported(const struct failure *failure, uint32_t rank)
{
    for (size_t i = 0; i < failure->report_count; i++)
        if (failure->reports[i].rank == rank)
            return true;
    return false;
}

/* Add the orphans' reports from number `*next` on. */
static int collect_reports(struct failure *failure,
                           const char *session,
                           uint64_t *next,
                           struct cop_error *error)
{
    struct cop_recovered list[BATCH];
    int count;

    do {
        count =
            cop_network_recoveries(session, next, list, BATCH, LOOK_MS, error);
        for (int i = 0; i < count; i++)
            if (list[i].recovery.attempts > 0 &&
                is_expected(failure, list[i].rank) &&
                !has_reported(failure, list[i].rank))
                failure->reports[failure->report_count++] = list[i];
    } while (count == BATCH);
    return count < 0 ? count : 0;
}

/* A freeze that is too short to be noticed makes no orphans. Remove the nodes
 * that answer and were not adopted meanwhile. The injection reached the victim
 * before the query, so a victim that answers has thawed. */
static int forget_untouched(struct failure *failure,
                            const char *session,
                            struct cop_error *error)
{
    struct cop_status *status = NULL;
    size_t kept = 0, i, at;
    int r;

    r = cop_status_read(&status, session, LOOK_MS, error);
    if (r < 0)
        return r;
    for (i = 0; i < failure->orphan_count; i++) {
        bool stays = false;

        for (at = 0; at < cop_status_count(status); at++) {
            struct cop_status_node node = node_at(status, at);

            if (node.rank == failure->orphans[i])
                stays =
                    is_live(&node) && node.adoptions == failure->adoptions[i];
        }
        if (!stays || has_reported(failure, failure->orphans[i]))
            failure->orphans[kept++] = failure->orphans[i];
    }
    failure->orphan_count = kept;
    cop_status_free(status);
    return 0;
}

/* ---- waiting ---- */

/* Sleep. A signal that sets `*stop` ends it. */
static void pause_ms(uint32_t ms, const volatile sig_atomic_t *stop)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (!*stop && nanosleep(&left, &left) < 0)
        ;
}

static int wait_reports(struct failure *failure,
                        const struct failure_plan *plan,
                        uint64_t next,
                        struct cop_error *error)
{
    uint64_t end_ms;
    int r = 0;

    if (plan->kind == COP_INJECT_FREEZE)
        pause_ms(plan->freeze_ms, plan->stop);
    end_ms = command_now_ms() + plan->wait_ms;
    while (r == 0 && failure->report_count < failure->orphan_count &&
           !*plan->stop && command_now_ms() < end_ms) {
        pause_ms(PAUSE_MS, plan->stop);
        if (plan->kind == COP_INJECT_FREEZE)
            r = forget_untouched(failure, plan->session, error);
        if (r == 0)
            r = collect_reports(failure, plan->session, &next, error);
    }
    return r;
}

int failure_cause(struct failure *out,
                  const struct failure_plan *plan,
                  void (*begun)(const struct failure *failure, void *arg),
                  void *arg,
                  struct cop_error *error)
{
    struct cop_status_node victim = COP_STATUS_NODE_INIT;
    struct cop_status *status = NULL;
    uint64_t next = UINT64_MAX;
    int r;

    memset(out, 0, sizeof(*out));
    r = cop_status_read(&status, plan->session, LOOK_MS, error);
    if (r == 0)
        r = choose_victim(&victim, plan, status, error);
    if (r < 0)
        goto out;
    out->kind = plan->kind;
    out->rank = victim.rank;
    out->host = strdup(victim.host[0] ? victim.host : "?");
    r = out->host ? list_orphans(out, status) : -ENOMEM;
    if (r < 0) {
        cop_error_set(error, r, "out of memory");
        goto out;
    }
    r = cop_network_recoveries(plan->session, &next, NULL, 0, LOOK_MS, error);
    if (r < 0)
        goto out;
    r = cop_network_inject(plan->session, victim.rank, plan->kind,
                           plan->freeze_ms, LOOK_MS, error);
    if (r < 0)
        goto out;
    out->at = time(NULL);
    if (begun)
        begun(out, arg);
    r = wait_reports(out, plan, next, error);
out:
    cop_status_free(status);
    return r;
}

/* ---- the breakdown ---- */

#define PARTS 5

static uint64_t part_of(const struct cop_recovery *recovery, int part)
{
    const uint64_t parts[PARTS] = {recovery->choose_us, recovery->connect_us,
                                   recovery->compensate_us,
                                   recovery->cleanup_us, recovery->overall_us};

    return parts[part];
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static void print_parts(FILE *file, const char *name, const uint64_t *parts)
{
    static const int widths[PARTS] = {9, 10, 12, 10, 10};

    fprintf(file, "\n  %-7s", name);
    for (int part = 0; part < PARTS; part++)
        fprintf(file, "%*.2f", widths[part], (double)parts[part] / 1e3);
}

int failure_breakdown(const struct cop_recovered *reports,
                      size_t count,
                      FILE *file)
{
    uint64_t *values, median[PARTS], maximum[PARTS];

    if (count == 0)
        return 0;
    values = calloc(count, sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (int part = 0; part < PARTS; part++) {
        for (size_t i = 0; i < count; i++)
            values[i] = part_of(&reports[i].recovery, part);
        qsort(values, count, sizeof(*values), compare_times);
        median[part] = (values[(count - 1) / 2] + values[count / 2]) / 2;
        maximum[part] = values[count - 1];
    }
    free(values);
    fprintf(file,
            "  ms        choose   connect  compensate  clean-up   overall");
    print_parts(file, "median", median);
    print_parts(file, "maximum", maximum);
    fputc('\n', file);
    return 0;
}
