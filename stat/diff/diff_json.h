/* diff_json.h - what is different between two looks, for other programs. */
#ifndef STAT_DIFF_DIFF_JSON_H
#define STAT_DIFF_DIFF_JSON_H

#include <stdio.h>

#include "stat/diff/diff.h"

/* What `version` says; as JSON_VERSION. */
#define DIFF_JSON_VERSION 1

/* Write `diff` to `file` as JSON, as coppice-stat-json(5) describes it.
 * Returns 0, -ENOMEM, or as output_end(). */
int diff_json_write(FILE *file, const struct diff *diff);

#endif
