/* folders.h - how much of the path of a file is shown: its name, and of files
 * with the same name as many folders as tell them apart. */
#pragma once

#include <stdint.h>

#include "stat/tree/tree.h"

/* Find where the shown part of each file's path begins: of string number i of
 * `tree`, if it is a file, behind `(*out)[i]` bytes. The caller frees `*out`.
 * Returns 0 or -ENOMEM. */
int folders_find(uint32_t **out, const struct tree *tree);
