/* folded.h - a merged tree as folded stacks. */
#ifndef STAT_WRITE_FOLDED_H
#define STAT_WRITE_FOLDED_H

#include <stdio.h>

#include "stat/show/report.h"

/* Write `report` to `file` as folded stacks, as flamegraph.pl and others read
 * them: a line for each place where traces end, the functions of its stack with
 * semicolons between, and how many tasks were there, times samples. Those that
 * could not be walked are left out. Returns 0 or -ENOMEM; errors of writing
 * stay with `file`. */
int folded_write(FILE *file, const struct report *report);

#endif
