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

/* Measure the cost of an aggregation, as medians: o, the time to send 64 bytes
 * over TCP on loopback; l, half a round trip less 2 o; g, the time to unpack,
 * add and pack the packets of `fan_out` children.
 *
 * Returns 0 or a negative errno from the system. */
int study_time_cost(struct study_cost *cost, uint32_t fan_out);
