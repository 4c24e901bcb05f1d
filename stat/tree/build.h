/* build.h - makes a tree from stacks in any order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/frame.h"
#include "stat/tree/tree.h"

struct build; /* opaque */

/* The parent of top-level nodes. */
#define BUILD_TOP UINT32_MAX

/* Make an empty one.
 *
 * by_line  whether different lines are different places; if not, a node has a
 *          line only if everything added to it has the same one
 *
 * Returns 0 or -ENOMEM. */
int build_new(struct build **out, bool by_line);

/* Free `build`. NULL is fine. */
void build_free(struct build *build);

/* Find or add the place `frame` below the node `parent`; strings are copied.
 * Returns 0, -E2BIG if it is deeper than TREE_DEPTH_MAX, or -ENOMEM. */
int build_node(struct build *build,
               uint32_t *node,
               uint32_t parent,
               const struct frame *frame);

/* Set the line from which the frame above `node` calls it, if the frames above
 * were added without lines. */
void build_called(struct build *build, uint32_t node, uint32_t line);

/* Like build_node(), but for a place whose line makes it a different one. */
int build_line(struct build *build,
               uint32_t *node,
               uint32_t parent,
               const struct frame *frame);

/* Add an end at a node from build_node(); its tasks and thread ids each get a
 * reference. Returns 0 or -ENOMEM. */
int build_end(struct build *build, const struct tree_end *end);

/* Add the progress of tasks that have none yet, in the order of a tree. Returns
 * as build_end(). */
int build_progress(struct build *build, const struct tree_progress *progress);

/* Add the stop time of a task that has none yet. Returns 0 or -ENOMEM. */
int build_stop(struct build *build, const struct tree_stop *stop);

/* Make the tree of everything added. If a task has several ends at one node,
 * their samples are added up; a task without progress is dropped from all ends.
 * Nodes without an end at or below them are left out. Returns 0 or -ENOMEM. */
int build_tree(struct tree **out, const struct build *build, uint64_t stop_ns);
