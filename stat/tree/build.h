/* build.h - a tree of stacks in the making, in any order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/frame.h"
#include "stat/tree/tree.h"

struct build; /* opaque */

/* Above the top level. */
#define BUILD_TOP UINT32_MAX

/* Make an empty one.
 *
 * by_line  whether another line is another place; if not, a node has its line
 *          only where all that was added to it has the same
 *
 * Returns 0 or -ENOMEM. */
int build_new(struct build **out, bool by_line);

/* Free `build`. NULL is fine. */
void build_free(struct build *build);

/* Find or add the place `frame` under the node `parent`; strings are copied.
 * Returns 0, -E2BIG if that is deeper than TREE_DEPTH_MAX, or -ENOMEM. */
int build_node(struct build *build,
               uint32_t *node,
               uint32_t parent,
               const struct frame *frame);

/* Say from which line the frame above `node` calls it, if the frames above were
 * given without it. */
void build_called(struct build *build, uint32_t node, uint32_t line);

/* The same as build_node(), of a place that another line makes another one. */
int build_line(struct build *build,
               uint32_t *node,
               uint32_t parent,
               const struct frame *frame);

/* Add an end, whose node is build_node()'s; one more reference is taken of its
 * tasks and thread ids. Returns 0 or -ENOMEM. */
int build_end(struct build *build, const struct tree_end *end);

/* Add the progress of tasks of which there is none yet; in the order that it
 * has in a tree. As build_end(). */
int build_progress(struct build *build, const struct tree_progress *progress);

/* Add for how long a task was stopped, of which there is no time yet.
 * Returns 0 or -ENOMEM. */
int build_stop(struct build *build, const struct tree_stop *stop);

/* Make the tree of all that was added. Where a task has several ends at
 * one node their samples are added up; one without progress is in no end. Nodes
 * that no end is at or under are left out. Returns 0 or -ENOMEM. */
int build_tree(struct tree **out, const struct build *build, uint64_t stop_ns);
