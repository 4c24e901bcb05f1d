/* find.h - lets daemons find the processes that the targets name. */
#pragma once

#include "stat/gather/gathering.h"

/* Let the daemons find the processes, add these to the targets, name the hosts
 * without any, and decide what the tasks are. Lost daemons are not waited for.
 * Returns 0 or a negative errno. */
int find_targets(struct gathering *gathering);
