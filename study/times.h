/* times.h - times measured on this machine. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "study/run.h"
#include "study/write.h"

/* Time `choices` choices of each algorithm: one for an orphan of each of that
 * many random failures. Beside each, time one plain pass over the same table.
 * Write the medians and the 10th and 90th percentiles.
 *
 * choices  from 1 to the number of internal nodes but the front-end
 * seed     determines which nodes fail
 *
 * Returns 0 or -ENOMEM; check ferror() too. */
int study_time(FILE *file,
               const struct study_tree *tree,
               const char *name,
               const uint32_t *algorithms,
               uint32_t algorithm_count,
               uint32_t choices,
               uint64_t seed,
               enum study_format format);
