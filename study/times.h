/* study_time.h - how long things take on this machine. */
#ifndef STUDY_TIMES_H
#define STUDY_TIMES_H

#include <stdint.h>
#include <stdio.h>

#include "study/run.h"
#include "study/write.h"

/* Time `choices` choices of each algorithm, one orphan of each of so many
 * random failures, beside as many plain passes over the same table, and write
 * what came out: medians, and the 10th and 90th of 100.
 *
 * choices  1 or more, at most the internal nodes but the front-end
 * seed     which nodes fail
 *
 * Returns 0 or -ENOMEM; look at ferror(). */
int study_time(FILE *file,
               const struct study_tree *tree,
               const char *name,
               const uint32_t *algorithms,
               uint32_t algorithm_count,
               uint32_t choices,
               uint64_t seed,
               enum study_format format);

/* Measure what an aggregation costs here: o, the time to send 64 bytes over
 * TCP on loopback; l, half a round trip less 2 o; g, the time to unpack, add
 * and pack the packets of `fan_out` children. Medians.
 *
 * Returns 0 or a negative errno from the system. */
int study_time_cost(struct study_cost *cost, uint32_t fan_out);

#endif
