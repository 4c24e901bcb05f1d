/* speedscope.h - a merged tree for speedscope. */
#ifndef STAT_WRITE_SPEEDSCOPE_H
#define STAT_WRITE_SPEEDSCOPE_H

#include <stdio.h>

#include "stat/show/report.h"

/* Classes that have a profile of their own. */
#define SPEEDSCOPE_CLASSES 20

/* Write `report` to `file` as JSON for www.speedscope.app: a profile of all
 * tasks, and one for each of the first SPEEDSCOPE_CLASSES classes. Returns 0 or
 * -ENOMEM; errors of writing stay with `file`. */
int speedscope_write(FILE *file, const struct report *report);

#endif
