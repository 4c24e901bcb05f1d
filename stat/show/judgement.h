/* judgement.h - what is wrong with a job, as one sentence. */
#pragma once

#include "stat/show/report.h"

/* Write what the samples prove about the tasks, such as "7 of 8 ranks wait in
 * MPI_Barrier (finish, mismatch.c:9); rank 3 waits in MPI_Allreduce (solve,
 * mismatch.c:6); no rank has moved in 3 samples, 0.2 s": the place of most of
 * them, then the places of the fewest, and whether they move. "" if no task was
 * walked. The caller frees it. All of `report` must be complete except its
 * judgement and its sentences. Returns 0 or -ENOMEM. */
int judgement_make(char **out, const struct report *report);
