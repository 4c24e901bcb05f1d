/* mpir.h - the processes of a job, as its launcher has them for debuggers. */
#ifndef STAT_JOB_MPIR_H
#define STAT_JOB_MPIR_H

#include "stat/job/targets.h"

/* Add the processes in the table MPIR_proctable of the launcher `pid`, such as
 * Open MPI's mpirun: process i of it is rank i of the job (the MPIR process
 * acquisition interface). Of a launcher without that table, what runs under it
 * on this host is added, as by targets_add_children(), and `*table` is false.
 *
 * Returns 0, or a negative errno with a sentence. */
int mpir_add(struct targets *targets,
             pid_t pid,
             bool *table,
             struct cop_error *error);

#endif
