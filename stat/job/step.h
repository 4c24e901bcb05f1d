/* step.h - which processes of this host belong to a Slurm job or step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/job/rank.h"

/* Whether the environment of process `pid` belongs to the job, "12", or to the
 * step, "12.0". */
bool step_has(const char *job, pid_t pid);

/* Read the number of the Slurm job to which the environment of process `pid`
 * belongs. The caller frees it; NULL if there is none. */
char *step_job_of(pid_t pid);

/* Whether `pid` is a task whose environment Slurm did not make, or that has
 * cleared it: its `parent` is the process of Slurm that starts a step. */
bool step_hides(pid_t pid, const char *parent);

/* A task of a step, as Slurm reports it. */
struct step_task {
    int32_t pid;
    struct rank rank; /* without the size of its job */
};

/* Ask Slurm for the tasks of the job or step on this host. The caller frees the
 * list. Returns their number, 0 also if Slurm does not tell, or -ENOMEM. */
int64_t step_list(struct step_task **out, const char *job);
