/* step.c - see step.h. */
#include "stat/job/step.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/job/environment.h"
#include "stat/job/query.h"
#include "stat/list.h"

/* Bytes of a job's or step's name. */
#define NAME_SIZE 256

/* The Slurm variables of an environment. */
struct place {
    char job[NAME_SIZE];
    char step[NAME_SIZE];
};

static void keep(char name[NAME_SIZE], const char *line, const char *variable)
{
    size_t len = strlen(variable);

    if (strncmp(line, variable, len) == 0 && line[len] == '=')
        snprintf(name, NAME_SIZE, "%s", line + len + 1);
}

static void read_line(void *arg, const char *line)
{
    struct place *place = arg;

    keep(place->job, line, "SLURM_JOB_ID");
    keep(place->step, line, "SLURM_STEP_ID");
}

/* Read the environment of a process. Returns whether it could be read. */
static bool read_place(struct place *place, pid_t pid)
{
    *place = (struct place){"", ""};
    return environment_read(pid, read_line, place) ||
           environment_read_live(pid, read_line, place);
}

bool step_has(const char *job, pid_t pid)
{
    size_t len = strcspn(job, ".");
    struct place place;

    if (!read_place(&place, pid) || strlen(place.job) != len ||
        strncmp(place.job, job, len) != 0)
        return false;
    return !job[len] ||
           strcmp(place.step[0] ? place.step : "batch", job + len + 1) == 0;
}

char *step_job_of(pid_t pid)
{
    struct place place;

    return read_place(&place, pid) && place.job[0] ? strdup(place.job) : NULL;
}

bool step_hides(pid_t pid, const char *parent)
{
    struct place place;

    return strcmp(parent, "slurmstepd") == 0 &&
           !(read_place(&place, pid) && place.job[0]);
}

int64_t step_list(struct step_task **out, const char *job)
{
    char *argv[] = {(char[]){"scontrol"}, (char[]){"listpids"}, strdup(job),
                    NULL};
    struct step_task *list = NULL;
    struct cop_error unused;
    char *text = NULL, *rest, *line;
    int64_t count = 0;
    int r = argv[2] ? query_run(&text, argv, &unused) : -ENOMEM;

    /* PID JOBID STEPID LOCALID GLOBALID; "-" for children of tasks. */
    for (rest = text; r == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        char id[NAME_SIZE], step[NAME_SIZE];
        struct step_task task = {0};
        uint32_t number;

        if (sscanf(line, "%" SCNd32 " %255s %255s %*s %" SCNu32, &task.pid, id,
                   step, &number) != 4 ||
            task.pid <= 0 || strspn(step, "0123456789") != strlen(step) ||
            !rank_of_step(&task.rank, number, id, step))
            continue;
        r = list_grow(&list, (size_t)count, sizeof(*list));
        if (r == 0)
            list[count++] = task;
    }
    free(argv[2]);
    free(text);
    if (r == -ENOMEM) {
        free(list);
        return r;
    }
    *out = list;
    return count;
}
