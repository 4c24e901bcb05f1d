/* svg.h - a merged tree as a picture. */
#ifndef STAT_WRITE_SVG_H
#define STAT_WRITE_SVG_H

#include <stdio.h>

#include "stat/show/report.h"

/* Write `report` to `file` as a picture of its own, without a program to draw
 * it: an icicle, the outermost frames on top, one colour for each class. Widths
 * grow with the logarithm of the tasks, so that one of a million is still seen.
 * Returns 0 or -ENOMEM; errors of writing stay with `file`. */
int svg_write(FILE *file, const struct report *report);

#endif
