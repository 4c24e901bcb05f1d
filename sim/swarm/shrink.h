/* shrink.h - the smallest schedule that breaks the same promise. */
#pragma once

#include "sim/swarm/schedule.h"

/* Remove steps, nodes and delays from `schedule`, which fails with `failure`,
 * as long as it still fails with that text, except for numbers. Returns how
 * many worlds were tried. */
uint32_t shrink_schedule(struct schedule *schedule, const char *failure);
