/* render.h - shows a merged tree on a terminal.
 *
 *     16 tasks on 1 host, 3 classes, 1 sample, stopped 1.9 ms at most
 *                                                 count  tasks
 *     main (ring.c:31)                               16  0-15
 *     ├─ do_SendOrStall (ring.c:44) ▸ pause           1  1  ◀ outlier
 *     ...
 *
 * Fewest tasks first. A frame without a source follows on its caller's line if
 * it is the only one below, such as in the C library; the inside of MPI and
 * pthread is an ellipsis there. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "stat/show/picture.h"
#include "stat/show/report.h"

/* The narrowest terminal; fewer columns count as this many. */
#define RENDER_WIDTH_MIN 40

struct render_options {
    unsigned width;       /* columns */
    bool colour;          /* use terminal colours, one for each class */
    const char *headline; /* replaces the usual one; NULL: the usual one */
    bool timeless;        /* omit everything that differs in each sample even if
                             nothing has moved */
};

/* Write `report` to `file`, with no line longer than the width. Of more classes
 * than PICTURE_FIRST and PICTURE_LAST together only the first and the last are
 * shown, unless the report is full. Returns 0, -ENOMEM, or as output_end(). */
int render_report(FILE *file,
                  const struct report *report,
                  const struct render_options *options);
