/* render.h - a merged tree for people, on a terminal.
 *
 *     16 tasks on 1 host, 3 classes, 1 sample, stopped 1.9 ms at most  tasks
 * ranks main (ring.c:31)                                                    16
 * 0-15 ├─ do_SendOrStall (ring.c:44) ▸ pause                                1
 * 1  ◀ outlier
 *     ...
 *
 * Fewest tasks first. Frames without a source that only lead on, such as those
 * of the C library, follow on the line of the frame before them. */
#ifndef STAT_RENDER_H
#define STAT_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "stat/classes.h"
#include "stat/tree.h"

/* A terminal may be as narrow as this; fewer columns are taken as this. */
#define RENDER_WIDTH_MIN 40

struct render_options {
    unsigned width;      /* columns */
    bool colour;         /* with terminal colours, one for each class */
    uint32_t hosts;      /* for the headline */
    uint32_t samples;    /* how many were asked for */
    const int32_t *pids; /* by task; NULL: not known */
    uint32_t task_count; /* of `pids` */
};

/* Write `tree` and its `classes` to `file`. Returns 0, -EIO if writing fails,
 * or -ENOMEM. */
int render_tree(FILE *file,
                const struct tree *tree,
                const struct classes *classes,
                const struct render_options *options);

#endif
