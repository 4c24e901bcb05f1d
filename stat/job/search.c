/* search.c - searches this host for processes by name or launcher. */
#include "stat/job/targets.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stat/job/apart.h"
#include "stat/job/processes.h"
#include "stat/job/step.h"
#include "stat/walk/touch.h"

/* Most processes that one is below, and most that are asked for ranks which they
 * have set themselves. */
#define ABOVE_MAX 64
#define LIVE_MAX  4096

/* A process that was found. */
struct candidate {
    const struct process *process;
    struct rank rank;
    struct candidate *above; /* the next one above it; NULL: none */
    enum {
        NOT_READ,
        NO,
        YES
    } runtime;      /* it has mapped one */
    bool has_same;  /* below it is one with the same rank, */
    bool has_other; /* another rank of the same job, */
    bool has_inner; /* or a rank of another launcher */
    bool is_helper; /* a process above it is its rank */
    bool is_above;  /* it only starts ranks */
};

/* The processes found, by pid. */
struct search {
    struct processes processes;
    struct candidate *list;
    size_t count;
    const struct process *starter; /* a starter without children; or NULL */
};

static void search_fini(struct search *search)
{
    processes_fini(&search->processes);
    free(search->list);
}

/* Read all processes, and make room for as many candidates. */
static int search_init(struct search *search)
{
    int r = processes_read(&search->processes);

    if (r < 0)
        return r;
    search->list = calloc(search->processes.count + 1, sizeof(*search->list));
    return search->list ? 0 : -ENOMEM;
}

static void add_candidate(struct search *search, const struct process *process)
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

/* Read the ranks that processes have set themselves: of those without a rank,
 * and of those that have the same one. */
static int read_live(struct search *search)
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

/* Whether a helper runs the same program as its rank. */
static bool is_worker(const struct candidate *candidate)
{
    const struct candidate *above = candidate->above;

    if (!candidate->is_helper)
        return false;
    for (size_t steps = 0; above && steps < ABOVE_MAX;
         above = above->above, steps++)
        if (!above->is_helper && !above->is_above &&
            rank_equal(&above->rank, &candidate->rank))
            return process_same_program(above->process->pid,
                                        candidate->process->pid);
    return false;
}

/* Add the candidates to the targets, except those that only started a rank. */
static int add_candidates(struct targets *targets, struct search *search)
{
    int r = 0;

    find_roles(search);
    for (size_t i = 0; r == 0 && i < search->count; i++) {
        const struct candidate *candidate = &search->list[i];
        struct targets_facts facts = {.rank = candidate->rank,
                                      .sought = true,
                                      .helper = candidate->is_helper,
                                      .worker = is_worker(candidate)};

        if (candidate->is_above && !candidate->is_helper)
            continue;
        memcpy(facts.name, candidate->process->name, sizeof(facts.name));
        r = targets_add(targets, 0, candidate->process->pid, &facts);
    }
    return r;
}

/* Find the number of a user from a name or number. */
static int read_user(uid_t *uid, const char *user, struct cop_error *error)
{
    const struct passwd *entry = getpwnam(user);
    char *end;
    unsigned long number = strtoul(user, &end, 10);

    if (entry) {
        *uid = entry->pw_uid;
        return 0;
    }
    if (end == user || *end || user[0] == '-' || number >= UINT32_MAX)
        return cop_error_set(error, -ENOENT, "there is no user \"%s\"", user);
    *uid = (uid_t)number;
    return 0;
}

static bool is_owned_by(int32_t pid, uid_t uid)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == uid;
}

/* Whether the process has the name, or is a worker of a process that has it. */
static bool is_called(const struct search *search,
                      const struct process *process,
                      const char *name)
{
    const struct process *program;

    if (process_is_called(process, name))
        return true;
    program = processes_worker_of(&search->processes, process);
    return program && process_is_called(program, name);
}

/* Find the candidates with the name and the user; NULL: any. */
static void find_called(struct search *search,
                        const char *name,
                        const uid_t *uid)
{
    for (size_t i = 0; i < search->processes.count; i++) {
        const struct process *process = &search->processes.list[i];

        if (process->pid != getpid() && process->pid != touch_owner() &&
            (!uid || is_owned_by(process->pid, *uid)) &&
            (!name || is_called(search, process, name)))
            add_candidate(search, process);
    }
}

/* What targets_add_name() gets. */
struct called {
    const char *name;
    const char *user;
};

static int add_called(struct targets *targets,
                      void *arg,
                      struct cop_error *error)
{
    const struct called *called = arg;
    const char *name = called->name, *user = called->user;
    struct search search = {.count = 0};
    char *full = NULL;
    uid_t uid = 0;
    int r = 0;

    if (user[0])
        r = read_user(&uid, user, error);
    if (r == 0)
        r = process_full_name(&full, name);
    if (r == 0)
        r = search_init(&search);
    if (r == 0) {
        find_called(&search, name[0] ? full : NULL, user[0] ? &uid : NULL);
        r = read_live(&search);
    }
    if (r == 0)
        r = add_candidates(targets, &search);
    if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT, "no process%s%s%s%s%s on this host",
                          user[0] ? " of user " : "", user,
                          name[0] ? " is called \"" : "", name,
                          name[0] ? "\"" : "");
    search_fini(&search);
    free(full);
    return r;
}

int targets_add_name(struct targets *targets,
                     const char *name,
                     const char *user,
                     struct cop_error *error)
{
    struct called called = {name, user};

    return apart_search(targets, add_called, &called, error);
}

/* Whether it is a program of Coppice, even if run by libtool. */
static bool is_own(const struct process *process)
{
    const char *name = process->name;

    return process->pid == touch_owner() ||
           strncmp(name + (strncmp(name, "lt-", 3) == 0 ? 3 : 0), "coppice-",
                   8) == 0;
}

/* Whether a process without a rank may be a task: it does not only wait for
 * processes that it has started. */
static bool may_be_meant(const struct process *process)
{
    return process->child_count == 0 && !process_is_launcher(process->name);
}

/* Add the tasks whose environments do not show the job, if there are any. */
static int find_hidden(struct search *search, const char *job)
{
    struct step_task *tasks = NULL;
    bool any = false;
    int64_t count = 0, k;
    size_t i;

    for (i = 0; !any && i < search->processes.count; i++) {
        const struct process *process = &search->processes.list[i];
        const struct process *parent =
            processes_find(&search->processes, process->parent);

        any = parent && step_hides(process->pid, parent->name);
    }
    if (any)
        count = step_list(&tasks, job);
    for (k = 0; k < count; k++) {
        const struct process *process =
            processes_find(&search->processes, tasks[k].pid);

        for (i = 0; i < search->count; i++)
            if (search->list[i].process == process)
                break;
        if (process && i == search->count && !is_own(process))
            search->list[search->count++] =
                (struct candidate){.process = process, .rank = tasks[k].rank};
    }
    free(tasks);
    if (search->count > 0)
        qsort(search->list, search->count, sizeof(*search->list), by_pid);
    return count < 0 ? (int)count : 0;
}

/* Find the candidates in a job or step of Slurm. */
static int find_step(struct search *search, const char *job)
{
    for (size_t i = 0; i < search->processes.count; i++) {
        const struct process *process = &search->processes.list[i];

        if (is_own(process) || process_is_proxy(process->name) ||
            !step_has(job, process->pid))
            continue;
        add_candidate(search, process);
        if (search->list[search->count - 1].rank.source == RANK_NONE &&
            !may_be_meant(process))
            search->count--;
    }
    if (read_live(search) < 0)
        return -ENOMEM;
    return find_hidden(search, job);
}

static int add_step(struct targets *targets, void *arg, struct cop_error *error)
{
    const char *job = arg;
    struct search search = {.count = 0};
    int r;

    r = search_init(&search);
    if (r == 0)
        r = find_step(&search, job);
    if (r == 0)
        r = add_candidates(targets, &search);
    if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT, "no process of job %s on this host",
                          job);
    search_fini(&search);
    return r;
}

int targets_add_step(struct targets *targets,
                     const char *job,
                     struct cop_error *error)
{
    return apart_search(targets, add_step, (void *)(uintptr_t)job, error);
}

/* Whether the process only starts those of a job. srun counts as a client
 * instead: it starts them elsewhere. */
static bool is_starter(const struct process *process)
{
    return process_is_proxy(process->name) ||
           (process_is_launcher(process->name) &&
            !process_is_remote_shell(process));
}

/* Find the candidates below the launcher `pid`: those with a rank, and others
 * without children, except a starter without any yet. A rank that the launcher
 * itself has comes from another launcher above it. */
static int find_below(struct search *search, pid_t pid)
{
    struct rank own;
    size_t kept = 0, i;
    int r;

    rank_read(&own, pid);
    for (i = 0; i < search->processes.count; i++)
        if (processes_is_below(&search->processes, &search->processes.list[i],
                               pid))
            add_candidate(search, &search->processes.list[i]);
    for (i = 0; i < search->count; i++)
        if (rank_equal(&search->list[i].rank, &own))
            search->list[i].rank = (struct rank){0};
    r = read_live(search);
    for (i = 0; r == 0 && i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        if (candidate->rank.source == RANK_NONE &&
            is_starter(candidate->process))
            search->starter = candidate->process;
        else if (candidate->rank.source != RANK_NONE ||
                 (candidate->process->child_count == 0 &&
                  !process_is_service(candidate->process)))
            search->list[kept++] = *candidate;
    }
    search->count = kept;
    return r;
}

/* Whether all candidates are clients of ssh: the processes that they have
 * started are on other hosts. */
static bool is_remote(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->list[i].rank.source != RANK_NONE ||
            !process_is_remote_shell(search->list[i].process))
            return false;
    return search->count > 0;
}

/* Report where to look for the processes that the client `process` has started
 * for the launcher `pid`. */
static int say_remote(pid_t pid,
                      const struct process *process,
                      struct cop_error *error)
{
    char *job = step_job_of(pid);
    int r =
        cop_error_set(error, -EREMOTE,
                      "pid %d has started its processes on other hosts "
                      "(%s, pid %d): look for them there: --%s %s",
                      (int)pid, process->name, (int)process->pid,
                      job ? "job" : "hosts LIST --name", job ? job : "PROGRAM");

    free(job);
    return r;
}

static int add_children(struct targets *targets,
                        void *arg,
                        struct cop_error *error)
{
    pid_t pid = *(const pid_t *)arg;
    struct search search = {.count = 0};
    int r;

    r = search_init(&search);
    if (r == 0 && !processes_find(&search.processes, pid))
        r = cop_error_set(error, -ENOENT,
                          "pid %d: no such process: give the pid of a running "
                          "launcher",
                          (int)pid);
    if (r == 0)
        r = find_below(&search, pid);
    if (r == 0 && is_remote(&search))
        r = say_remote(pid, search.list[0].process, error);
    if (r == 0)
        r = add_candidates(targets, &search);
    if (r == 0 && search.count == 0 && search.starter)
        r = cop_error_set(error, -ENOENT,
                          "pid %d: no process of its job is there: %s, pid %d, "
                          "has not started one yet, or they have ended",
                          (int)pid, search.starter->name,
                          (int)search.starter->pid);
    else if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT,
                          "pid %d has no children; to look at it alone, give "
                          "the pid without an option",
                          (int)pid);
    search_fini(&search);
    return r;
}

int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error)
{
    return apart_search(targets, add_children, &pid, error);
}
