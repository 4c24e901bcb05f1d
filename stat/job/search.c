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

#include "stat/job/processes.h"
#include "stat/job/step.h"

/* A process that was found. */
struct candidate {
    const struct process *process;
    struct rank rank;
    bool has_mpi;   /* read only if several processes have the same rank */
    bool is_helper; /* a process above it is its rank */
    bool is_above;  /* a process below it is its rank */
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

    candidate->process = process;
    rank_read(&candidate->rank, process->pid);
}

static int by_pid(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

    return (x->process->pid > y->process->pid) -
           (x->process->pid < y->process->pid);
}

/* The next candidate above `below` that has the same rank; NULL: none. */
static struct candidate *candidate_above(const struct search *search,
                                         const struct candidate *below)
{
    const struct processes *processes = &search->processes;
    const struct process *at = below->process;

    for (size_t steps = 0; at && steps < processes->count; steps++) {
        struct candidate key = {.process =
                                    processes_find(processes, at->parent)};
        struct candidate *found = NULL;

        if (key.process)
            found =
                bsearch(&key, search->list, search->count, sizeof(key), by_pid);
        if (found && rank_equal(&found->rank, &below->rank))
            return found;
        at = key.process;
    }
    return NULL;
}

/* How likely the process is the rank itself: most if it has mapped MPI, less if
 * it is at least no shell. */
static int likelihood(const struct candidate *candidate)
{
    if (candidate->has_mpi)
        return 2;
    return !process_is_wrapper(candidate->process);
}

/* Of processes with the same rank above each other, find the one that is the
 * rank: the topmost of the likeliest. The others have started it, or were
 * started by it. */
static void find_helpers(struct search *search)
{
    struct candidate *above;

    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        above = candidate->rank.source == RANK_NONE
                    ? NULL
                    : candidate_above(search, candidate);
        if (!above)
            continue;
        candidate->has_mpi = process_has_mpi(candidate->process->pid);
        above->has_mpi = process_has_mpi(above->process->pid);
    }
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        if (candidate->rank.source == RANK_NONE)
            continue;
        for (above = candidate_above(search, candidate); above;
             above = candidate_above(search, above)) {
            if (likelihood(above) >= likelihood(candidate))
                candidate->is_helper = true;
            else
                above->is_above = true;
        }
    }
}

/* Add the candidates to the targets, except those that only started a rank. */
static int add_candidates(struct targets *targets, const struct search *search)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < search->count; i++) {
        const struct candidate *candidate = &search->list[i];
        struct targets_facts facts = {.rank = candidate->rank,
                                      .sought = true,
                                      .helper = candidate->is_helper};

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

        if (process->pid != getpid() &&
            (!uid || is_owned_by(process->pid, *uid)) &&
            (!name || is_called(search, process, name)))
            add_candidate(search, process);
    }
}

int targets_add_name(struct targets *targets,
                     const char *name,
                     const char *user,
                     struct cop_error *error)
{
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
    if (r == 0)
        find_called(&search, name[0] ? full : NULL, user[0] ? &uid : NULL);
    if (r == 0) {
        find_helpers(&search);
        r = add_candidates(targets, &search);
    }
    if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT, "no process%s%s%s%s%s on this host",
                          user[0] ? " of user " : "", user,
                          name[0] ? " is called \"" : "", name,
                          name[0] ? "\"" : "");
    search_fini(&search);
    free(full);
    return r;
}

/* Whether it is a program of Coppice, even if run by libtool. */
static bool is_own(const struct process *process)
{
    const char *name = process->name;

    return process->pid == getpid() ||
           strncmp(name + (strncmp(name, "lt-", 3) == 0 ? 3 : 0), "coppice-",
                   8) == 0;
}

/* Whether a process without a rank may be a task: it does not only wait for
 * processes that it has started. */
static bool may_be_meant(const struct process *process)
{
    return !process->has_child && !process_is_launcher(process->name);
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
    return find_hidden(search, job);
}

int targets_add_step(struct targets *targets,
                     const char *job,
                     struct cop_error *error)
{
    struct search search = {.count = 0};
    int r;

    r = search_init(&search);
    if (r == 0)
        r = find_step(&search, job);
    if (r == 0) {
        find_helpers(&search);
        r = add_candidates(targets, &search);
    }
    if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT, "no process of job %s on this host",
                          job);
    search_fini(&search);
    return r;
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
static void find_below(struct search *search, pid_t pid)
{
    struct rank own;
    size_t kept = 0, i;

    rank_read(&own, pid);
    for (i = 0; i < search->processes.count; i++)
        if (processes_is_below(&search->processes, &search->processes.list[i],
                               pid))
            add_candidate(search, &search->processes.list[i]);
    for (i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        if (rank_equal(&candidate->rank, &own))
            candidate->rank = (struct rank){0};
        if (candidate->rank.source == RANK_NONE &&
            is_starter(candidate->process))
            search->starter = candidate->process;
        else if (candidate->rank.source != RANK_NONE ||
                 !candidate->process->has_child)
            search->list[kept++] = *candidate;
    }
    search->count = kept;
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

int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error)
{
    struct search search = {.count = 0};
    int r;

    r = search_init(&search);
    if (r == 0 && !processes_find(&search.processes, pid))
        r = cop_error_set(error, -ENOENT,
                          "pid %d: no such process: give the pid of a running "
                          "launcher",
                          (int)pid);
    if (r == 0)
        find_below(&search, pid);
    if (r == 0 && is_remote(&search))
        r = say_remote(pid, search.list[0].process, error);
    if (r == 0) {
        find_helpers(&search);
        r = add_candidates(targets, &search);
    }
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
