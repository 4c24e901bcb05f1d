/* tree.h - the merged call graph prefix tree: the stacks of many tasks in one.
 *
 * A path from a top-level node is a stack, outermost frame first. Where the
 * traces of some tasks end, the node has an end: these tasks, and how often.
 * Only ends bear tasks; who is under a node is derived (tree_under()).
 *
 * A tree is a value: once made it is never changed, and everything is in one
 * order (strings by strcmp(), frames by function, file and line, nodes in
 * pre-order with their children by frame), so equal trees look equal and two
 * trees are merged in one pass over both. */
#ifndef STAT_TREE_H
#define STAT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/tasks.h"

/* Deepest stack, in frames. */
#define TREE_DEPTH_MAX 1024

/* One place in a program: indices of strings, and the line (0: not known). */
struct tree_frame {
    uint32_t function;
    uint32_t file; /* of the empty string where it is not known */
    uint32_t line;
};

/* A frame under the frames above it. Its children follow it. */
struct tree_node {
    uint32_t frame; /* index */
    uint32_t depth; /* 0 at top level */
    uint32_t size;  /* nodes of its subtree, itself included */
};

/* Traces of `tasks` end at `node`: in `samples` samples, at most `threads`
 * threads of the task in one. The ends of one node have falling (samples,
 * threads) and no task in common. */
struct tree_end {
    uint32_t node; /* index */
    uint32_t samples;
    uint32_t threads;
    struct tasks *tasks; /* one reference is the tree's */
};

/* Read it; only tree_*.c and traces.c may build one. */
struct tree {
    char *text; /* of all strings */
    const char **strings;
    struct tree_frame *frames;
    struct tree_node *nodes;
    struct tree_end *ends; /* by node */
    uint32_t string_count;
    uint32_t frame_count;
    uint32_t node_count;
    uint32_t end_count;
    uint64_t stop_ns; /* the longest that a process was stopped */
};

/* Make a tree with room for so many, and none in it. Returns 0 or -ENOMEM. */
int tree_new(struct tree **out,
             size_t text_len,
             size_t strings,
             size_t frames,
             size_t nodes,
             size_t ends);

/* Free `tree`. NULL is fine. */
void tree_free(struct tree *tree);

/* Join: all traces of both. A task that ends at the same node in both keeps
 * the higher (samples, threads). Linear in both. Associative, commutative,
 * idempotent. Returns 0 or -ENOMEM. */
int tree_join(struct tree **out, const struct tree *a, const struct tree *b);

/* Join `count` trees, in pairs, then pairs of pairs, and so on.
 * Returns 0, -EINVAL if `count` is 0, or -ENOMEM. */
int tree_join_all(struct tree **out, struct tree *const *trees, size_t count);

/* What `newer` has and `older` has not: joined to `older` it gives what
 * `newer` does. Linear in both. Returns 0 or -ENOMEM. */
int tree_difference(struct tree **out,
                    const struct tree *newer,
                    const struct tree *older);

/* Whether it holds nothing at all. */
bool tree_is_empty(const struct tree *tree);

/* Whether `a` and `b` are the same value. */
bool tree_equal(const struct tree *a, const struct tree *b);

/* For each node the set of the tasks at and under it, into `sets`, an array
 * of node_count; free each with tasks_free(). Returns 0 or -ENOMEM. */
int tree_under(const struct tree *tree, struct tasks **sets);

/* All tasks in the tree. Returns 0 or -ENOMEM. */
int tree_tasks(struct tasks **out, const struct tree *tree);

/* Fill in the sizes of the subtrees, from the depths: the last step of making
 * a tree. */
void tree_finish(struct tree *tree);

#endif
