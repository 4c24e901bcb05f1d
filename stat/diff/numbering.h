/* numbering.h - which tasks of two looks are the same. */
#pragma once

#include "stat/diff/diff.h"

/* Fill in `count`, `noun` and `numbers` of `diff`, which has its looks. Returns
 * 0, -EINVAL with a sentence, or -ENOMEM. */
int numbering_make(struct diff *diff, struct cop_error *error);

/* Make the array of the numbers in `diff` of all tasks of a look. Returns 0 or
 * -ENOMEM. */
int numbering_invert(uint32_t **out,
                     const struct diff *diff,
                     enum diff_side side);
