/* comparison.h - coppice-stat --diff. */
#pragma once

#include <stdio.h>

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

/* What `version` says in the JSON; as JSON_VERSION. */
#define DIFF_JSON_VERSION 1

/* Write `diff` to `file` as JSON, as coppice-stat-json(5) describes it.
 * Returns 0, -ENOMEM, or as output_end(). */
int diff_json_write(FILE *file, const struct diff *diff);

/* Draw `diff` on `file`, as render_report() does. `names` are those of both
 * files. Returns 0, -ENOMEM, or as output_end(). */
int diff_picture_write(FILE *file,
                       const struct diff *diff,
                       const char *const names[DIFF_SIDES],
                       const struct render_options *options);
