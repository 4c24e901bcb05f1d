/* json.h - a report for other programs. */
#ifndef STAT_WRITE_JSON_H
#define STAT_WRITE_JSON_H

#include <stdio.h>

#include "stat/show/report.h"

/* What `version` says; it grows when a program that read the version before
 * could misunderstand this one. */
#define JSON_VERSION 1

/* Write `report` to `file` as JSON, as coppice-stat-json(5) describes it.
 * Returns 0 or -ENOMEM; errors of writing stay with `file`. */
int json_write(FILE *file, const struct report *report);

/* Write the frames of `tree` as a member of an object, with a comma before it;
 * errors of writing stay with `file`. */
void json_write_frames(FILE *file, const struct tree *tree);

#endif
