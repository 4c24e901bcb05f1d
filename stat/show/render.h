/* render.h - a merged tree for people, on a terminal.
 *
 *     16 tasks on 1 host, 3 classes, 1 sample, stopped 1.9 ms at most
 *                                                 count  tasks
 *     main (ring.c:31)                               16  0-15
 *     ├─ do_SendOrStall (ring.c:44) ▸ pause           1  1  ◀ outlier
 *     ...
 *
 * Fewest tasks first. Frames without a source that only lead on, such as those
 * of the C library, follow on the line of the frame before them; the inside of
 * MPI and pthread is an ellipsis there. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "stat/show/picture.h"
#include "stat/show/report.h"

/* A terminal may be as narrow as this; fewer columns are taken as this. */
#define RENDER_WIDTH_MIN 40

struct render_options {
    unsigned width;       /* columns */
    bool colour;          /* with terminal colours, one for each class */
    const char *headline; /* in place of the usual one; NULL: that */
    bool timeless;        /* say nothing that is another thing in each sample,
                             though nothing has moved */
};

/* Write `report` to `file`, no line longer than the width. Of more classes than
 * PICTURE_FIRST and PICTURE_LAST together only the first and the last are told
 * of and drawn, unless the report is full. Returns 0, -ENOMEM, or as
 * output_end(). */
int render_report(FILE *file,
                  const struct report *report,
                  const struct render_options *options);
