/* scale.h - the messages and bytes that a large tree costs at each role. */
#pragma once

#include <stdio.h>

/* Run a tree of any size through a launch, an opening, a packet with its
 * answers, a sync, idle time, two failures and a status. Print the cost of
 * each, one line each, to `out`.
 *
 * text  the tree, as in tree.h; at least one commnode with back-ends
 *
 * Returns 0; -EIO with a line in `out` if a part fails; -EINVAL if `text` is no
 * such tree. */
int scale_run(const char *text, FILE *out);
