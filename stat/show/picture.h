/* picture.h - the merged tree as lines of text, without columns of numbers.
 *
 *     main (ring.c:31)
 *     ├─ do_SendOrStall (ring.c:44) ▸ pause
 *     ...
 *
 * Fewest tasks first. Frames without a source that only lead on, such as those
 * of the C library, follow on the line of the frame before them; the inside of
 * MPI and pthread is an ellipsis there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/show/report.h"

/* Of more branches side by side than both together only the first and the last
 * are drawn. */
#define PICTURE_FIRST 16
#define PICTURE_LAST  4

/* Of more frames with one and the same task set than so many below one, those
 * of the language's library are counted only; and if there are more of the
 * program's own, all but the last one. None of these limits is kept where the
 * report is full. */
#define PICTURE_CHAIN 4

struct picture_line {
    char *text;
    struct tasks *tasks; /* who is there or below; NULL: a line of words only */
    uint32_t node;       /* the first on the line; 0 without tasks */
    bool here;           /* those only whose traces end there */
    uint32_t unchanged;  /* in how many samples; 0: do not say */
    bool outlier;
};

/* Read it. */
struct picture {
    struct picture_line *lines;
    size_t count;
};

/* Draw the tree of `report`, for a terminal of `width` columns, in which lines
 * may be longer all the same.
 *
 * drawn  by node: whether it is to be drawn; all above such a node are
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

/* `text` with the name of `node` behind it, made anew; `text` is taken. NULL
 * without memory. */
char *picture_append(char *text, const struct report *report, uint32_t node);
