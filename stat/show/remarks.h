/* remarks.h - warnings about what a tree does not show. */
#ifndef STAT_SHOW_REMARKS_H
#define STAT_SHOW_REMARKS_H

#include <stdbool.h>

#include "stat/gather/gather.h"
#include "stat/tree/tree.h"

/* Warn of stacks that were cut when --max-stop had passed, which makes the
 * answer `*partial`, and of threads whose place in the kernel is not known.
 * Returns 0 or -ENOMEM. */
int remarks_find(const struct tree *tree, gather_say_fn say, bool *partial);

#endif
