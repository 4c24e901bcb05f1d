/* live.h - samples shown as they come. */
#pragma once

#include "stat/gather/gathering.h"

/* Show the samples to the viewer, until it, or the tree, ends it. Returns 0 or
 * a negative errno. */
int live_follow(struct gathering *gathering, struct tree **tree);
