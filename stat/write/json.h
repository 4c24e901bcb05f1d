/* json.h - what the JSON of looks and that of differences share. */
#pragma once

#include <stdio.h>

#include "stat/tree/tree.h"

/* What `version` says; it grows when a program that read the version before
 * could misunderstand this one. */
#define JSON_VERSION 1

/* Write the frames of `tree` as a member of an object, with a comma before it.
 * Returns 0 or -ENOMEM; errors of writing stay with `file`. */
int json_write_frames(FILE *file, const struct tree *tree);
