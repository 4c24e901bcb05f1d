/* live.h - shows samples as they arrive. */
#pragma once

#include "stat/gather/gathering.h"

/* Pass the samples to the viewer, until it ends or the tree does. Returns 0 or
 * a negative errno. */
int live_follow(struct gathering *gathering, struct tree **tree);
