/* traces.h - the stacks that one daemon has seen, to be made trees. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/tree/frame.h"
#include "stat/tree/tree.h"

struct traces; /* opaque */

/* Make an empty collection. Returns 0 or -ENOMEM. */
int traces_new(struct traces **out);

/* Free `traces`. NULL is fine. */
void traces_free(struct traces *traces);

/* From now on keep of each task only where it is, not where it was before: an
 * end has one sample, and those since the task last moved. Stacks where nobody
 * is any more are freed, so memory does not grow with the samples. */
void traces_forget(struct traces *traces);

/* Add the stack of one thread of task `task` in the present sample. The
 * strings are copied.
 *
 * frames  `count` of them, outermost first; those past TREE_DEPTH_MAX are
 *         left out
 *
 * Returns 0, -EINVAL if `count` is 0 or `task` is not below TASKS_MAX, or
 * -ENOMEM: then nothing was added. */
int traces_add(struct traces *traces,
               uint32_t task,
               const struct frame *frames,
               size_t count);

/* The same, of a thread of which only a part counts when it is found out whether
 * the task has moved. A task that has not moved stays where it was seen first.
 *
 * tid       its id; 0: not told. Kept of a task with several threads
 * decisive  how many frames from the outermost on: those behind, such as the
 *           inside of a call of MPI, may be others each time
 * ran       the thread has run since the sample before: it has moved, though it
 *           may be at the same place again */
int traces_add_thread(struct traces *traces,
                      uint32_t task,
                      pid_t tid,
                      const struct frame *frames,
                      size_t count,
                      size_t decisive,
                      bool ran);

/* In the present sample task `task` was stopped for `ns` nanoseconds.
 * Returns 0 or -ENOMEM. */
int traces_stopped(struct traces *traces, uint32_t task, uint64_t ns);

/* The sample is complete: make the tree of what is new, with `stop_ns` as its
 * longest stop: the ends of tasks that have moved, since the sample before,
 * and how far all that were seen have come. The join of all these trees is
 * the tree of all samples. Then the next sample begins.
 * Returns 0 or -ENOMEM. */
int traces_sample(struct tree **out, struct traces *traces, uint64_t stop_ns);
