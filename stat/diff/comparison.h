/* comparison.h - coppice-stat --diff. */
#ifndef STAT_DIFF_COMPARISON_H
#define STAT_DIFF_COMPARISON_H

#include <coppice/error.h>

#include "stat/diff/diff.h"
#include "stat/show/render.h"

/* How two looks compare; these are exit statuses too. */
enum comparison {
    COMPARISON_SAME = 0,
    COMPARISON_DIFFERS = 1,
    COMPARISON_PARTIAL = 2, /* of some tasks it cannot be told */
};

/* Compare the looks in the files `paths`, and write what is different to
 * standard output.
 *
 * json  a file for it, too; NULL: none; "-": standard output, and no picture
 *
 * Returns an enum comparison, or a negative errno with a sentence. */
int comparison_run(const char *const paths[DIFF_SIDES],
                   const char *json,
                   const struct render_options *options,
                   struct cop_error *error);

#endif
