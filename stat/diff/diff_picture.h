/* diff_picture.h - what is different between two looks, on a terminal.
 *
 *     unchanged: 14 of 16 tasks; 2 moved
 *     A: before.json: 16 tasks, 3 classes
 *     B: after.json: 16 tasks, 3 classes, 60 s after A
 *                                                   A       B  tasks
 *     = main (ring.c:31)                           16      16  0-15
 *     - ├─ do_SendOrStall (ring.c:44) ▸ pause       1       0  1
 *     ~ ├─ ring_waitall ▸ recv                      1       1  -2 +1
 *     ...
 *     moved: 1 task: 1 (node7 pid 101): do_SendOrStall ... → ring_waitall ...
 *
 * A line begins with "-" if tasks were there in A only, "+" in B only, "=" if
 * the same tasks were there in both, "~" if other ones: then those that have
 * left and those that have come are told. */
#ifndef STAT_DIFF_DIFF_PICTURE_H
#define STAT_DIFF_DIFF_PICTURE_H

#include <stdio.h>

#include "stat/diff/diff.h"
#include "stat/show/render.h"

/* Write it, as render_report() does. `names` are those of both files.
 * Returns 0, -ENOMEM, or as output_end(). */
int diff_picture_write(FILE *file,
                       const struct diff *diff,
                       const char *const names[DIFF_SIDES],
                       const struct render_options *options);

#endif
