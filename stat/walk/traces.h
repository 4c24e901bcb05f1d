/* traces.h - the stacks that one daemon has seen, from which trees are made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/tree/frame.h"
#include "stat/tree/tree.h"
#include "stat/walk/evidence.h"

struct traces; /* opaque */

/* Make an empty collection. Returns 0 or -ENOMEM. */
int traces_new(struct traces **out);

/* Free `traces`. NULL is fine. */
void traces_free(struct traces *traces);

/* From now on keep only the present place of each task: an end has one sample,
 * plus those since the task last moved. Stacks on which no task is any more are
 * freed, so memory does not grow with the samples. */
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

/* The same for a thread, with what decides whether the task has moved. A task
 * that has not moved stays where it was seen first.
 *
 * tid       its id; 0: not known. Kept for a task with several threads
 * evidence  borrowed; `decisive` above `count` means all frames */
int traces_add_thread(struct traces *traces,
                      uint32_t task,
                      pid_t tid,
                      const struct frame *frames,
                      size_t count,
                      const struct evidence *evidence);

/* Add a task that has ended: a stack of `note`, such as "[exited]", and below it
 * where its first thread was in the previous sample, if it was there. Returns 0
 * or -ENOMEM. */
int traces_end(struct traces *traces, uint32_t task, const char *note);

/* Note that task `task` was stopped for `ns` nanoseconds in the present sample.
 * Returns 0 or -ENOMEM. */
int traces_stopped(struct traces *traces, uint32_t task, uint64_t ns);

/* End the sample, and make the tree of its news, with `stop_ns` as its longest
 * stop: the ends of tasks that have moved since the previous sample, and the
 * progress of all tasks seen. The join of all these trees is the tree of all
 * samples. The next sample begins. Returns 0 or -ENOMEM. */
int traces_sample(struct tree **out, struct traces *traces, uint64_t stop_ns);
