/* remarks.h - what notes in a tree mean for who looks at it. */
#ifndef STAT_SHOW_REMARKS_H
#define STAT_SHOW_REMARKS_H

#include <stdbool.h>

#include "stat/gather/gather.h"
#include "stat/tree/tree.h"

/* Say, once each, that walks were given up, for processes are not to be
 * stopped any longer, which makes the answer `*partial`; and that it is not
 * known where in the kernel threads are, with what to do.
 * Returns 0 or -ENOMEM. */
int remarks_find(const struct tree *tree, gather_say_fn say, bool *partial);

#endif
