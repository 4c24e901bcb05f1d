/* find.h - the daemons look for the processes that are wanted of them. */
#pragma once

#include "stat/gather/gathering.h"

/* Have the daemons find what the targets want, add it to the targets, name the
 * hosts where nothing was found, and decide what the tasks are. A daemon that is
 * lost is not waited for. Returns 0 or a negative errno. */
int find_targets(struct gathering *gathering);
