/* judgement.h - what is wrong with a job, in one sentence. */
#pragma once

#include "stat/show/report.h"

/* Say what the samples prove of the tasks, such as "7 of 8 ranks wait in
 * MPI_Barrier (finish, mismatch.c:9); rank 3 waits in MPI_Allreduce (solve,
 * mismatch.c:6); no rank has moved in 3 samples, 0.2 s": the place of most of
 * them, then the places of the fewest; and whether they move. "" if no task was
 * walked. The caller frees it; all that `report` has but for its judgement and
 * its sentences must be there. Returns 0 or -ENOMEM. */
int judgement_make(char **out, const struct report *report);
