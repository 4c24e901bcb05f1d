/* json.h - common parts of the JSON of looks and of differences. */
#pragma once

#include <stdio.h>

#include "stat/tree/tree.h"

/* The value of `version`. It is incremented when a program for the previous
 * version could misunderstand this one. */
#define JSON_VERSION 1

/* Write the frames of `tree` as a member of an object, after a comma. Returns 0
 * or -ENOMEM; write errors are left in `file`. */
int json_write_frames(FILE *file, const struct tree *tree);
