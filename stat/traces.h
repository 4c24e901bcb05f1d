/* traces.h - the stacks that one daemon has seen, to be made a tree. */
#ifndef STAT_TRACES_H
#define STAT_TRACES_H

#include <stddef.h>
#include <stdint.h>

#include "stat/frame.h"
#include "stat/tree.h"

struct traces; /* opaque */

/* Make an empty collection. Returns 0 or -ENOMEM. */
int traces_new(struct traces **out);

/* Free `traces`. NULL is fine. */
void traces_free(struct traces *traces);

/* Add the stack of one thread of task `task` in sample number `sample`. The
 * strings are copied.
 *
 * frames  `count` of them, outermost first; those past TREE_DEPTH_MAX are
 *         left out
 *
 * Returns 0, -EINVAL if `count` is 0 or `task` is not below TASKS_MAX, or
 * -ENOMEM: then nothing was added. */
int traces_add(struct traces *traces,
               uint32_t task,
               uint32_t sample,
               const struct frame *frames,
               size_t count);

/* Make the tree of all stacks, with `stop_ns` as its longest stop.
 * Returns 0 or -ENOMEM. */
int traces_tree(struct tree **out,
                const struct traces *traces,
                uint64_t stop_ns);

#endif
