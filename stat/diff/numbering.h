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

/* Make a copy of `set`, of a look, with the numbers that the array `tasks` has
 * for its members. Returns 0 or -ENOMEM. */
int numbering_apply(struct tasks **out,
                    const struct tasks *set,
                    const uint32_t *tasks);
