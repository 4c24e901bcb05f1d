/* batch.h - many runs on several processors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "study/run.h"

struct study_batch {
    const struct study_tree *tree; /* borrowed */
    struct study_options options;  /* of each run; not its algorithm and seed */
    const uint32_t *algorithms;    /* borrowed */
    uint32_t algorithm_count;
    uint64_t first_seed;
    uint32_t seed_count;
    uint32_t jobs;
    bool progress; /* show a bar on stderr, after a second, on a terminal */
    struct study_step *steps; /* by algorithm, seed, failure */
};

/* Do all runs. The results do not depend on `jobs`. Returns 0, and
 * study_batch_fini() is due; -ENOMEM, or the error of pthread_create(). */
int study_batch_run(struct study_batch *batch);

/* Free the steps. */
void study_batch_fini(struct study_batch *batch);

/* The step after failure `failure` (from 0) of one run. */
const struct study_step *study_batch_step(const struct study_batch *batch,
                                          uint32_t algorithm,
                                          uint32_t seed,
                                          uint32_t failure);
