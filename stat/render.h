/* render.h - a merged tree for people, on a terminal.
 *
 *     16 tasks on 1 host, 3 classes, 1 sample, stopped 1.9 ms at most
 *                                                 tasks  ranks
 *     main (ring.c:31)                               16  0-15
 *     ├─ do_SendOrStall (ring.c:44) ▸ pause           1  1  ◀ outlier
 *     ...
 *
 * Fewest tasks first. Frames without a source that only lead on, such as those
 * of the C library, follow on the line of the frame before them; the inside of
 * MPI and pthread is an ellipsis there. */
#ifndef STAT_RENDER_H
#define STAT_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "stat/report.h"

/* A terminal may be as narrow as this; fewer columns are taken as this. */
#define RENDER_WIDTH_MIN 40

/* Of more classes than both together only the first and the last are told of
 * and drawn; so are branches side by side, for one class may be in many. */
#define RENDER_CLASSES_FIRST 16
#define RENDER_CLASSES_LAST  4

/* Of more frames with one and the same task set than so many below one, the
 * ones before the last are counted only. None of these limits is kept where
 * the report is full. */
#define RENDER_CHAIN 4

struct render_options {
    unsigned width; /* columns */
    bool colour;    /* with terminal colours, one for each class */
};

/* Write `report` to `file`. Returns 0, -EIO if writing fails, or -ENOMEM. */
int render_report(FILE *file,
                  const struct report *report,
                  const struct render_options *options);

#endif
