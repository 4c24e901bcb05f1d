/* picture.h - the merged tree as lines of text, without columns of numbers.
 *
 *     main (ring.c:31)
 *     ├─ do_SendOrStall (ring.c:44) ▸ pause
 *     ...
 *
 * Fewest tasks first. A frame without a source follows on its caller's line if
 * it is the only one below, such as in the C library; the inside of MPI and
 * pthread is an ellipsis there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/show/report.h"

/* If a node has more branches than both together, only the first and the last
 * are drawn. */
#define PICTURE_FIRST 16
#define PICTURE_LAST  4

/* If a node leads to more than this many frames in a row with the same tasks,
 * frames of the language's library are only counted; and if more than this many
 * of the program's own are left, all but the last one. No limit here applies to
 * a full report. */
#define PICTURE_CHAIN 4

struct picture_line {
    char *text;
    struct tasks *tasks; /* at or below the node; NULL: a line of words only */
    uint32_t node;       /* the first on the line; 0 if `tasks` is NULL */
    bool here;           /* only the tasks whose traces end there */
    uint32_t unchanged;  /* for how many samples; 0: do not show */
    bool outlier;
};

/* Public to read. */
struct picture {
    struct picture_line *lines;
    size_t count;
};

/* Draw the tree of `report` for a terminal of `width` columns; lines may still
 * be longer.
 *
 * drawn  by node: whether to draw it; if so, all nodes above it are too
 *
 * Returns 0 or -ENOMEM. */
int picture_new(struct picture **out,
                const struct report *report,
                const bool *drawn,
                unsigned width);

/* Free `picture`. NULL is fine. */
void picture_free(struct picture *picture);

/* One of the nodes side by side, in the order of pictures. */
struct picture_child {
    uint32_t node;
    const struct tasks *tasks;
    bool odd; /* threads that are outliers are there or below */
    bool own; /* of the runtime's own threads: last */
};

/* Sort the nodes from `first` to before `behind` that are side by side and are
 * to be drawn, without those that could not be walked, into a new array.
 *
 * drawn   as above; NULL: all are
 * others  how many are not to be drawn
 *
 * Returns their count or -ENOMEM. */
long picture_children(struct picture_child **out,
                      long *others,
                      const struct report *report,
                      const bool *drawn,
                      uint32_t first,
                      uint32_t behind);

/* `text`, which is taken, with `function` behind it as pictures show it; NULL
 * without memory, or if `text` is. */
char *picture_append_function(char *text, const char *function);

/* Append the name of `node` to `text`, which is taken, and return the new text.
 * NULL without memory. */
char *picture_append(char *text, const struct report *report, uint32_t node);
