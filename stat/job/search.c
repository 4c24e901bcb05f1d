/* search.c - searches this host for processes by name, launcher or pid. */
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
#include "stat/job/candidates.h"
#include "stat/job/processes.h"
#include "stat/job/step.h"
#include "stat/list.h"
#include "stat/walk/touch.h"

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
            candidates_add(search, process);
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
        r = candidates_init(&search);
    if (r == 0) {
        find_called(&search, name[0] ? full : NULL, user[0] ? &uid : NULL);
        r = candidates_read_live(&search);
    }
    if (r == 0)
        r = candidates_take(targets, &search);
    if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT, "no process%s%s%s%s%s on this host",
                          user[0] ? " of user " : "", user,
                          name[0] ? " is called \"" : "", name,
                          name[0] ? "\"" : "");
    candidates_fini(&search);
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

/* Whether a process without a rank may be a task: it does not only serve
 * processes that it has started, and is no shell that waits for them. One that
 * seems to do nothing but wait for them is set aside later. */
static bool may_be_meant(const struct search *search,
                         struct candidate *candidate)
{
    const struct process *process = candidate->process;

    candidate->starts = processes_only_starts(&search->processes, process);
    return !processes_is_service(&search->processes, process) &&
           (process->child_count == 0 ||
            (!process_is_wrapper(process) && !process_is_script(process)));
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
        candidates_sort(search);
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
        candidates_add(search, process);
        if (search->list[search->count - 1].rank.source == RANK_NONE &&
            (process_is_launcher(process->name) ||
             !may_be_meant(search, &search->list[search->count - 1])))
            search->count--;
    }
    if (candidates_read_live(search) < 0)
        return -ENOMEM;
    return find_hidden(search, job);
}

static int add_step(struct targets *targets, void *arg, struct cop_error *error)
{
    const char *job = arg;
    struct search search = {.count = 0};
    int r;

    r = candidates_init(&search);
    if (r == 0)
        r = find_step(&search, job);
    if (r == 0)
        r = candidates_take_all(targets, &search);
    if (r == 0 && search.count == 0)
        r = cop_error_set(error, -ENOENT, "no process of job %s on this host",
                          job);
    candidates_fini(&search);
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
 * that do not only start processes. A rank that the launcher itself has comes
 * from another launcher above it. */
static int find_below(struct search *search, pid_t pid)
{
    struct rank own;
    size_t kept = 0, i;
    int r;

    rank_read(&own, pid);
    for (i = 0; i < search->processes.count; i++)
        if (processes_is_below(&search->processes, &search->processes.list[i],
                               pid))
            candidates_add(search, &search->processes.list[i]);
    for (i = 0; i < search->count; i++)
        if (rank_equal(&search->list[i].rank, &own))
            search->list[i].rank = (struct rank){0};
    r = candidates_read_live(search);
    for (i = 0; r == 0 && i < search->count; i++) {
        struct candidate *candidate = &search->list[i];

        if (candidate->rank.source == RANK_NONE &&
            is_starter(candidate->process))
            search->starter = candidate->process;
        else if (candidate->rank.source != RANK_NONE ||
                 may_be_meant(search, candidate))
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

    r = candidates_init(&search);
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
        r = candidates_take_all(targets, &search);
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
    candidates_fini(&search);
    return r;
}

int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error)
{
    return apart_search(targets, add_children, &pid, error);
}

/* The pids that were given, in order. */
struct given {
    int32_t *pids;
    size_t count;
};

static int by_value(const void *a, const void *b)
{
    const int32_t *x = a;
    const int32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* Read pids, up to the first word that is none. Returns 0 or -ENOMEM. */
static int given_read(struct given *given, const char *text)
{
    char *end = NULL;

    for (long pid = strtol(text, &end, 10);
         end != text && pid > 0 && pid <= INT_MAX;
         pid = strtol(text, &end, 10)) {
        if (list_grow(&given->pids, given->count, sizeof(*given->pids)) < 0)
            return -ENOMEM;
        given->pids[given->count++] = (int32_t)pid;
        text = end;
    }
    if (given->count > 0)
        qsort(given->pids, given->count, sizeof(*given->pids), by_value);
    return 0;
}

static bool is_given(const struct given *given, const struct process *process)
{
    return bsearch(&process->pid, given->pids, given->count,
                   sizeof(*given->pids), by_value) != NULL;
}

/* Whether a process is below one that was given, and is neither this process nor
 * below it. */
static bool is_below_given(const struct search *search,
                           const struct given *given,
                           const struct process *process)
{
    bool found = false;

    for (size_t steps = 0; process && steps < ABOVE_MAX; steps++) {
        if (process->pid == touch_owner())
            return false;
        process = processes_find(&search->processes, process->parent);
        found = found || (process && is_given(given, process));
    }
    return found;
}

/* Find the processes that were given, and those below them. */
static int find_given(struct search *search, const struct given *given)
{
    for (size_t i = 0; i < search->processes.count; i++) {
        const struct process *process = &search->processes.list[i];
        bool exact = is_given(given, process);

        if (!exact && !is_below_given(search, given, process))
            continue;
        candidates_add(search, process);
        search->list[search->count - 1].is_given = exact;
    }
    return candidates_read_live(search);
}

static int add_pids(struct targets *targets, void *arg, struct cop_error *error)
{
    struct search search = {.count = 0};
    struct given given = {NULL, 0};
    int r;

    (void)error;
    r = given_read(&given, arg);
    if (r == 0)
        r = candidates_init(&search);
    if (r == 0)
        r = find_given(&search, &given);
    if (r == 0)
        r = candidates_take_given(targets, &search);
    candidates_fini(&search);
    free(given.pids);
    return r;
}

int targets_add_pids(struct targets *targets,
                     const char *text,
                     struct cop_error *error)
{
    return apart_search(targets, add_pids, (void *)(uintptr_t)text, error);
}
