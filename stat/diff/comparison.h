/* comparison.h - coppice-stat --diff. */
#pragma once

#include <stdio.h>

#include <coppice/error.h>

#include "stat/diff/diff.h"
#include "stat/show/render.h"

/* The result of comparing two looks; also the exit status. */
enum comparison {
    COMPARISON_SAME = 0,
    COMPARISON_DIFFERS = 1,
    COMPARISON_PARTIAL = 2, /* some tasks could not be compared */
};

/* Compare the looks in the files `paths`; write the differences to standard
 * output.
 *
 * json  a file for JSON as well; NULL: none; "-": standard output, no picture
 *
 * Returns an enum comparison, or a negative errno with a sentence. */
int comparison_run(const char *const paths[DIFF_SIDES],
                   const char *json,
                   const struct render_options *options,
                   struct cop_error *error);

/* The value of `version` in the JSON, as JSON_VERSION. */
#define DIFF_JSON_VERSION 1

/* Write `diff` to `file` as JSON, as coppice-stat-json(5) describes it.
 * Returns 0, -ENOMEM, or as output_end(). */
int diff_json_write(FILE *file, const struct diff *diff);

/* Draw `diff` on `file`, like render_report(). `names` are those of both files.
 * Returns 0, -ENOMEM, or as output_end(). */
int diff_picture_write(FILE *file,
                       const struct diff *diff,
                       const char *const names[DIFF_SIDES],
                       const struct render_options *options);
