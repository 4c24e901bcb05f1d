/* shrink.h - the smallest schedule that still breaks the same promise. */
#pragma once

#include "sim/swarm/schedule.h"

/* Take away from `schedule`, which fails with `failure`, whatever can be taken
 * away so that it still fails like that, numbers in the text aside: steps,
 * nodes, delays. Returns how many worlds were tried. */
uint32_t shrink_schedule(struct schedule *schedule, const char *failure);
