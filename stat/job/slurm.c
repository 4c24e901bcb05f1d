/* slurm.c - the hosts and steps of a Slurm job, from squeue. */
#include "stat/job/targets.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coppice/hosts.h>

#include "stat/job/processes.h"
#include "stat/job/query.h"

/* Bytes of a name from squeue, and of a list of steps in a sentence. */
#define NAME_SIZE 256
#define LIST_SIZE 512

/* A job. */
struct job {
    char id[NAME_SIZE]; /* as its processes have it */
    char state[NAME_SIZE];
    char uid[NAME_SIZE];
    char *hosts; /* a list; owned */
};

/* Split `line` at "|" into `count` fields. Returns whether it has that many. */
static bool split(char *line, char **fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fields[i] = line ? strsep(&line, "|") : NULL;
        if (!fields[i])
            return false;
    }
    return true;
}

/* Parse "12", "12_3" or "12+1", with or without ".STEP", into the job's name
 * and the step, "" if there is none. */
static int read_text(char job[NAME_SIZE],
                     char step[NAME_SIZE],
                     const char *text,
                     struct cop_error *error)
{
    size_t digits = strspn(text, "0123456789"), len = digits;

    if (digits > 0 && (text[len] == '_' || text[len] == '+') &&
        isdigit((unsigned char)text[len + 1]))
        len += 1 + strspn(text + len + 1, "0123456789");
    if (digits == 0 || len >= NAME_SIZE || (text[len] && text[len] != '.') ||
        (text[len] && (!text[len + 1] || strlen(text + len + 1) >= NAME_SIZE)))
        return cop_error_set(error, -EINVAL,
                             "--job: \"%s\" is no job of Slurm: give its "
                             "number, such as 1234, or a step of it, 1234.0",
                             text);
    snprintf(job, NAME_SIZE, "%.*s", (int)len, text);
    snprintf(step, NAME_SIZE, "%s", text[len] ? text + len + 1 : "");
    return 0;
}

/* Unset variables that may make squeue omit the job. */
static void unset_filters(void)
{
    static const char *const filters[] = {"SQUEUE_ACCOUNT",   "SQUEUE_LICENSES",
                                          "SQUEUE_NAMES",     "SQUEUE_QOS",
                                          "SQUEUE_PARTITION", "SQUEUE_USERS"};

    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        unsetenv(filters[i]);
}

/* Run squeue. Returns as query_run(), but never above 0. */
static int ask(char **out,
               const char *what,
               const char *job,
               const char *format,
               struct cop_error *error)
{
    struct cop_error why;
    char jobs[NAME_SIZE + 16];
    char *argv[] = {(char[]){"squeue"}, (char[]){"--noheader"},
                    strdup(what),       jobs,
                    strdup(format),     NULL};
    int r = argv[2] && argv[4] ? 0 : -ENOMEM;

    snprintf(jobs, sizeof(jobs), "--jobs=%s", job);
    unset_filters();
    if (r == 0)
        r = query_run(out, argv, &why);
    free(argv[2]);
    free(argv[4]);
    if (r == -ENOENT)
        return cop_error_set(error, r,
                             "--job: there is no squeue in the path: run this "
                             "where Slurm's commands are");
    if (r != 0 && r != -ENOMEM)
        return cop_error_set(error, -EIO, "--job %s: %s", job, why.text);
    return r;
}

static bool is_running(const char *state)
{
    return strcmp(state, "RUNNING") == 0 || strcmp(state, "SUSPENDED") == 0 ||
           strcmp(state, "STOPPED") == 0;
}

/* Parse the output of squeue for the job `name`: of an array or of a job with
 * several parts, the part that runs. */
static int read_job(struct job *job,
                    const char *name,
                    char *text,
                    struct cop_error *error)
{
    char *line, *fields[5], list[LIST_SIZE] = "";
    unsigned running = 0;
    bool any = false;

    while ((line = strsep(&text, "\n")) != NULL) {
        if (!split(line, fields, 5))
            continue;
        if (is_running(fields[1])) {
            size_t len = strlen(list);

            snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "",
                     fields[4]);
            running++;
        } else if (any) {
            continue;
        }
        any = true;
        snprintf(job->id, NAME_SIZE, "%s", fields[0]);
        snprintf(job->state, NAME_SIZE, "%s", fields[1]);
        snprintf(job->uid, NAME_SIZE, "%s", fields[2]);
        free(job->hosts);
        job->hosts = strdup(fields[3]);
        if (!job->hosts)
            return -ENOMEM;
    }
    if (running > 1)
        return cop_error_set(error, -EINVAL,
                             "--job %s: it has several parts: which one of %s?",
                             name, list);
    if (!any)
        return cop_error_set(error, -ESRCH, "--job %s: there is no such job",
                             name);
    return 0;
}

/* Check that the job can be looked at. */
static int check_job(const struct job *job,
                     const char *name,
                     struct cop_error *error)
{
    uid_t uid = geteuid();

    if (strcmp(job->state, "PENDING") == 0 ||
        strcmp(job->state, "CONFIGURING") == 0)
        return cop_error_set(error, -EAGAIN,
                             "--job %s: it has not started yet: %s", name,
                             job->state);
    if (!is_running(job->state))
        return cop_error_set(error, -ESRCH, "--job %s: it has ended: %s", name,
                             job->state);
    if (uid != 0 && strtoul(job->uid, NULL, 10) != uid)
        return cop_error_set(error, -EPERM,
                             "--job %s: it is another user's, of number %s: be "
                             "that user, or root",
                             name, job->uid);
    return 0;
}

/* Whether a step is not one of the job's programs: it is Slurm's own, or of a
 * launcher that gives its processes ranks, or of a tool. */
static bool is_auxiliary(const char *step, const char *program)
{
    return !isdigit((unsigned char)step[0]) || process_is_proxy(program) ||
           strncmp(program, "coppice-", 8) == 0;
}

/* Find the hosts of `step`; if that is "", check that the job has at most one
 * step of its own. `*hosts` becomes part of `text`, or NULL: all of the job. */
static int read_steps(char **hosts,
                      char *text,
                      const char *name,
                      const char *step,
                      struct cop_error *error)
{
    char *line, *fields[3], list[LIST_SIZE] = "";
    unsigned count = 0;

    *hosts = NULL;
    while ((line = strsep(&text, "\n")) != NULL) {
        const char *dot;
        size_t len = strlen(list);

        if (!split(line, fields, 3))
            continue;
        dot = strrchr(fields[0], '.');
        if (!dot)
            continue;
        if (strcmp(dot + 1, step) == 0)
            *hosts = fields[2];
        if (step[0] ? !isdigit((unsigned char)dot[1])
                    : is_auxiliary(dot + 1, fields[1]))
            continue;
        snprintf(list + len, sizeof(list) - len, "%s%s (%s)", len ? ", " : "",
                 fields[0], fields[1]);
        count++;
    }
    if (step[0] && !*hosts)
        return cop_error_set(error, -ESRCH,
                             "--job %s.%s: there is no such "
                             "step: the job runs %s",
                             name, step, list[0] ? list : "none");
    if (!step[0] && count > 1)
        return cop_error_set(error, -EINVAL,
                             "--job %s: it runs several steps: which one of "
                             "%s?",
                             name, list);
    return 0;
}

/* Search this host at once, and the other hosts by their daemons. */
static int add_hosts(struct targets *targets,
                     const char *id,
                     const char *hosts,
                     struct cop_error *error)
{
    struct cop_hosts *list = NULL;
    uint32_t host = 0;
    int r = cop_hosts_new(&list, hosts, error);

    if (r == 0 && cop_hosts_count(list) == 1)
        r = targets_host(targets, cop_hosts_name(list, 0), &host, error);
    /* If this is the only host, no daemon is needed. */
    if (r == 0 && cop_hosts_count(list) == 1 && host == 0)
        r = targets_add_step(targets, id, error);
    else if (r == 0)
        r = targets_want(targets, "", "", id, hosts, error);
    cop_hosts_free(list);
    return r;
}

int targets_add_job(struct targets *targets,
                    const char *text,
                    struct cop_error *error)
{
    char name[NAME_SIZE], step[NAME_SIZE], id[2 * NAME_SIZE];
    struct job job = {.hosts = NULL};
    char *jobs = NULL, *steps = NULL, *hosts = NULL;
    int r;

    r = read_text(name, step, text, error);
    if (r == 0)
        r = ask(&jobs, "--states=all", name, "--format=%A|%T|%U|%N|%i", error);
    if (r == 0)
        r = read_job(&job, name, jobs, error);
    if (r == 0)
        r = check_job(&job, name, error);
    if (r == 0)
        r = ask(&steps, "--steps", name, "--format=%i|%j|%N", error);
    if (r == 0)
        r = read_steps(&hosts, steps, name, step, error);
    if (r < 0)
        goto out;
    free(targets->slurm_job);
    targets->slurm_job = strdup(job.id);
    if (!targets->slurm_job) {
        r = -ENOMEM;
        goto out;
    }
    snprintf(id, sizeof(id), "%s%s%s", job.id, step[0] ? "." : "", step);
    r = add_hosts(targets, id, hosts ? hosts : job.hosts, error);
out:
    free(job.hosts);
    free(jobs);
    free(steps);
    return r;
}
