/* candidates.c - see candidates.h. */
#include "stat/job/candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/walk/touch.h"

/* Most processes that are asked for ranks which they have set themselves. */
#define LIVE_MAX 4096

void candidates_fini(struct search *search)
{
    processes_fini(&search->processes);
    free(search->list);
}

int candidates_init(struct search *search)
{
    int r = processes_read(&search->processes);

    if (r < 0)
        return r;
    search->list = calloc(search->processes.count + 1, sizeof(*search->list));
    return search->list ? 0 : -ENOMEM;
}

void candidates_add(struct search *search, const struct process *process)
{
    struct candidate *candidate = &search->list[search->count++];

    *candidate = (struct candidate){.process = process};
    rank_read(&candidate->rank, process->pid);
}

static int by_pid(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

    return (x->process->pid > y->process->pid) -
           (x->process->pid < y->process->pid);
}

static int by_rank(const void *a, const void *b)
{
    const struct rank *x = &(*(struct candidate *const *)a)->rank;
    const struct rank *y = &(*(struct candidate *const *)b)->rank;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

int candidates_read_live(struct search *search)
{
    struct candidate **order = calloc(search->count + 1, sizeof(*order));
    struct rank before = {0};
    size_t count = 0;

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < search->count; i++)
        order[i] = &search->list[i];
    qsort(order, search->count, sizeof(*order), by_rank);
    for (size_t i = 0; i < search->count && count < LIVE_MAX; i++) {
        struct rank *rank = &order[i]->rank;
        bool same =
            (i > 0 && rank_equal(rank, &before)) ||
            (i + 1 < search->count && rank_equal(rank, &order[i + 1]->rank));

        before = *rank;
        /* A launcher may have set the variables of those that it starts. */
        if ((rank->source != RANK_NONE && !same) ||
            process_is_launcher(order[i]->process->name))
            continue;
        rank_read_live(rank, order[i]->process->pid);
        count++;
    }
    free(order);
    return 0;
}

void candidates_sort(struct search *search)
{
    qsort(search->list, search->count, sizeof(*search->list), by_pid);
}

/* Find the next candidate above each one. */
static void find_above(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        struct candidate key = {.process = search->list[i].process};

        for (size_t steps = 0; !search->list[i].above && steps < ABOVE_MAX;
             steps++) {
            key.process =
                processes_find(&search->processes, key.process->parent);
            if (!key.process)
                break;
            search->list[i].above =
                bsearch(&key, search->list, search->count, sizeof(key), by_pid);
        }
    }
}

/* Note what ranks are below each candidate. Without a snapshot, the parents may
 * form a loop. */
static void find_below_each(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct rank *rank = &search->list[i].rank;
        struct candidate *above = search->list[i].above;

        for (size_t steps = 0;
             rank->source != RANK_NONE && above && steps < ABOVE_MAX;
             above = above->above, steps++) {
            if (rank_equal(&above->rank, rank))
                above->has_same = true;
            else if (above->rank.source == rank->source &&
                     above->rank.job == rank->job)
                above->has_other = true;
            else
                above->has_inner = true;
        }
    }
}

static bool has_runtime(struct candidate *candidate)
{
    if (candidate->runtime == NOT_READ)
        candidate->runtime =
            process_has_runtime(candidate->process->pid) ? YES : NO;
    return candidate->runtime == YES;
}

/* How likely the process is the rank itself: most if it has mapped a runtime
 * such as MPI, least if it is a shell, or only waits for another program. */
static int likelihood(const struct search *search, struct candidate *candidate)
{
    if (has_runtime(candidate))
        return 2;
    return !process_is_wrapper(candidate->process) &&
           !processes_only_starts(&search->processes, candidate->process);
}

/* Find the processes that only start ranks: those above more ranks than their
 * own, and, of processes with the same rank above each other, those above the
 * one that is the rank: the topmost of the likeliest. Those below it are its
 * helpers. */
static void find_roles(struct search *search)
{
    find_above(search);
    find_below_each(search);
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        candidate->is_above = candidate->has_inner ||
                              (candidate->has_same && candidate->has_other);
    }
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];
        struct candidate *above = candidate->above;

        for (size_t steps = 0;
             candidate->rank.source != RANK_NONE && above && steps < ABOVE_MAX;
             above = above->above, steps++) {
            if (above->is_above || !rank_equal(&above->rank, &candidate->rank))
                continue;
            if (likelihood(search, above) >= likelihood(search, candidate))
                candidate->is_helper = true;
            else
                above->is_above = true;
        }
    }
}

/* The process whose helper this one is; NULL: it is none. */
static struct candidate *own_of(const struct candidate *candidate)
{
    struct candidate *above = candidate->is_helper ? candidate->above : NULL;

    for (size_t steps = 0; above && steps < ABOVE_MAX;
         above = above->above, steps++)
        if (!above->is_helper && !above->is_above &&
            rank_equal(&above->rank, &candidate->rank))
            return above;
    return NULL;
}

/* Whether a helper is looked at with `own`: it runs the same program, or `own`,
 * which was given, only starts the rank that both have. */
static bool is_worker(const struct search *search,
                      struct candidate *candidate,
                      struct candidate *own)
{
    return own &&
           (process_same_program(own->process->pid, candidate->process->pid) ||
            (candidate->rank.source != RANK_NONE &&
             likelihood(search, own) < likelihood(search, candidate)));
}

/* Find the helpers of the processes that were given: all that are below these.
 * What was given with the rank of one above it is its worker, or no helper. */
static void find_given_roles(struct search *search)
{
    find_above(search);
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];
        const struct candidate *above = candidate->above;

        if (candidate->is_given && candidate->rank.source == RANK_NONE)
            continue;
        for (size_t steps = 0; above && steps < ABOVE_MAX;
             above = above->above, steps++)
            candidate->is_helper |=
                above->is_given && (!candidate->is_given ||
                                    rank_equal(&above->rank, &candidate->rank));
    }
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        if (candidate->is_given && candidate->is_helper &&
            !is_worker(search, candidate, own_of(candidate)))
            candidate->is_helper = false;
    }
}

/* Add the candidates to the targets, except those that only start ranks, and
 * those that are left out. */
static int take(struct targets *targets, const struct search *search)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < search->count; i++) {
        struct candidate *candidate = &search->list[i];
        struct candidate *own = own_of(candidate);
        struct targets_facts facts = {.rank = candidate->rank,
                                      .sought = true,
                                      .helper = candidate->is_helper,
                                      .worker =
                                          is_worker(search, candidate, own),
                                      .starts = candidate->starts,
                                      .of = own ? own->process->pid : 0};

        if ((candidate->is_above && !candidate->is_helper) ||
            (!candidate->is_given &&
             processes_is_service(&search->processes, candidate->process)))
            continue;
        memcpy(facts.name, candidate->process->name, sizeof(facts.name));
        r = targets_add(targets, 0, candidate->process->pid, &facts);
    }
    return r;
}

/* The task below which `process` is, if it is no candidate itself, nor this
 * process or below it; NULL: none. */
static const struct candidate *task_above(const struct search *search,
                                          const struct process *process)
{
    const struct candidate *found = NULL;

    for (size_t steps = 0; process && !found && steps < ABOVE_MAX; steps++) {
        struct candidate key = {.process = process};

        if (process->pid == touch_owner())
            return NULL;
        found = search->count > 0 ? bsearch(&key, search->list, search->count,
                                            sizeof(key), by_pid)
                                  : NULL;
        if (found && (steps == 0 || found->is_above))
            return NULL;
        process = processes_find(&search->processes, process->parent);
    }
    return found;
}

/* Add what runs below the tasks and was not found itself. */
static int take_below(struct targets *targets, const struct search *search)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < search->processes.count; i++) {
        const struct process *process = &search->processes.list[i];
        const struct candidate *task = task_above(search, process);
        struct targets_facts facts = {.sought = true, .helper = true};

        if (!task || processes_is_service(&search->processes, process))
            continue;
        memcpy(facts.name, process->name, sizeof(facts.name));
        r = targets_add(targets, 0, process->pid, &facts);
    }
    return r;
}

int candidates_take(struct targets *targets, struct search *search)
{
    int r;

    find_roles(search);
    r = take(targets, search);
    return r == 0 ? take_below(targets, search) : r;
}

/* Without any rank, a process that was only forked from another candidate is its
 * helper. */
static void find_forked(struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->list[i].rank.source != RANK_NONE)
            return;
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        candidate->is_helper = candidate->above &&
                               process_is_forked(candidate->above->process->pid,
                                                 candidate->process->pid);
    }
}

int candidates_take_all(struct targets *targets, struct search *search)
{
    find_roles(search);
    find_forked(search);
    return take(targets, search);
}

int candidates_take_given(struct targets *targets, struct search *search)
{
    find_given_roles(search);
    return take(targets, search);
}
