/* tree.h - the merged call graph prefix tree: the stacks of many tasks in one.
 *
 * A path from a top-level node is a stack, outermost frame first. If traces of
 * tasks end at a node, it has an end: these tasks, and how often. Only ends
 * contain tasks; the tasks below a node are derived (tree_under()).
 *
 * A task's ends are as they were in the sample in which it last moved; its
 * progress says which sample that was, and up to which one it has not moved
 * since. So a sample in which nothing moves changes one number. If two trees
 * have a task, the one in which it moved later has all its ends.
 *
 * A tree is an immutable value, and everything has one canonical order (strings
 * by strcmp(), frames by function, file and line, nodes in pre-order with their
 * children by frame). So equal trees have equal contents, and two trees are
 * merged in one pass over both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coppice/packet.h>

#include "stat/tree/frame.h"
#include "stat/tree/note.h"
#include "stat/tree/tasks.h"

/* Deepest stack, in frames. */
#define TREE_DEPTH_MAX 1024

/* One place in a program; strings are indexes: see frame.h. */
struct tree_frame {
    uint32_t function;
    uint32_t file;
    uint32_t line;
    uint32_t module;
    uint64_t offset;
    bool not_walked;
    struct note note; /* what `function` says: not part of the value */
};

/* A frame below the frames above it. Its children follow it. */
struct tree_node {
    uint32_t frame;     /* an index */
    uint32_t depth;     /* 0 at top level */
    uint32_t size;      /* nodes in its subtree, including itself */
    uint32_t call_line; /* the only line from which the frame above calls it, if
                           that frame has no line; 0: not known, or several; in
                           trees of names */
};

/* Traces of `tasks` end at `node` in `samples` samples, up to the one in which
 * the task last moved, and with `threads` threads in the last of these. The
 * ends of one node have descending (samples, threads, current, polls, still,
 * tids) and no task in common. */
struct tree_end {
    uint32_t node; /* an index */
    uint32_t samples;
    uint32_t threads;
    bool current; /* also in the sample of the task's last move, and since */
    bool polls;   /* threads there wake up, and sleep at the same place again */
    uint32_t still; /* for how many samples, up to that last move, the threads
                       there had not moved; in a settled tree, up to the last
                       sample; 0: not known */
    struct tasks *tasks; /* holds one reference */
    struct tasks *tids;  /* ids of these threads, of each of `tasks`; NULL: not
                            known; holds one reference */
};

/* `tasks` last moved in sample `moved`, counted from 1, and were seen up to
 * sample `seen`. Ascending by (moved, seen); no task is in two; each task in an
 * end is in one. */
struct tree_progress {
    uint32_t moved;
    uint32_t seen;
    struct tasks *tasks; /* holds one reference */
};

/* The longest stop of `task` took `us` microseconds. A tree keeps at most
 * TREE_STOPS_MAX of these, those with the lowest hashes of their tasks, so that
 * joined trees keep the same ones, and the median is that of a random sample.
 * Ascending by that hash; no task twice. */
struct tree_stop {
    uint32_t task;
    uint32_t us;
};

/* Most stops in a tree: their median's rank is right within some hundredths. */
#define TREE_STOPS_MAX 128

/* The capacity of a tree. */
struct tree_size {
    size_t text_len;
    size_t strings;
    size_t frames;
    size_t nodes;
    size_t ends;
    size_t progress;
    size_t stops;
};

/* Public to read; only tree*.c and build.c may make a tree. */
struct tree {
    char *text; /* the bytes of all strings */
    const char **strings;
    struct tree_frame *frames;
    struct tree_node *nodes;
    struct tree_end *ends; /* by node */
    struct tree_progress *progress;
    struct tree_stop *stops;
    uint32_t string_count;
    uint32_t frame_count;
    uint32_t node_count;
    uint32_t end_count;
    uint32_t progress_count;
    uint32_t stop_count;
    uint64_t stop_ns; /* the longest stop of a process */
};

/* Make an empty tree with this capacity. Returns 0 or -ENOMEM. */
int tree_new(struct tree **out, const struct tree_size *size);

/* Free `tree`. NULL is fine. */
void tree_free(struct tree *tree);

/* Join both trees. For a task in both, the tree in which it moved later counts;
 * if that is the same sample, ends at the same node keep the higher (samples,
 * threads, current, polls, still, tids). The longer stops are kept. Linear in both.
 * Associative, commutative, idempotent. Returns 0 or -ENOMEM. */
int tree_join(struct tree **out, const struct tree *a, const struct tree *b);

/* Join `count` trees, in pairs, then pairs of pairs, and so on.
 * Returns 0, -EINVAL if `count` is 0, or -ENOMEM. */
int tree_join_all(struct tree **out, struct tree *const *trees, size_t count);

/* Make the tree that, joined to `older`, gives the join of `newer` and `older`:
 * what `older` lacks. Linear in both. Returns 0 or -ENOMEM. */
int tree_difference(struct tree **out,
                    const struct tree *newer,
                    const struct tree *older);

/* Whether the tree has no contents. */
bool tree_is_empty(const struct tree *tree);

/* Whether `a` and `b` are the same value. */
bool tree_equal(const struct tree *a, const struct tree *b);

/* Frame number `number`; the tree owns its strings. */
struct frame tree_frame(const struct tree *tree, uint32_t number);

/* The function of `node`; if tasks could not be walked, the reason. */
const char *tree_function(const struct tree *tree, uint32_t node);

/* What `node` is if it is no place. */
enum note_kind tree_note(const struct tree *tree, uint32_t node);

/* Whether `node` stands for tasks that could not be walked. It is then at the
 * top level, and has no children. */
bool tree_is_not_walked(const struct tree *tree, uint32_t node);

/* Find the set of the tasks at and below each node, into `sets`, an array of
 * node_count; free each with tasks_free(). Returns 0 or -ENOMEM. */
int tree_under(const struct tree *tree, struct tasks **sets);

/* Find all tasks in the tree. Returns 0 or -ENOMEM. */
int tree_tasks(struct tasks **out, const struct tree *tree);

/* Make a tree to show, whose ends have their full number of samples, including
 * those since the task last moved. It must not be joined to others. Returns 0
 * or -ENOMEM. */
int tree_settle(struct tree **out, const struct tree *tree);

/* The number of the last sample of any task; 0 if there is none. */
uint32_t tree_samples(const struct tree *tree);

/* The tasks that have moved after sample `sample`. Returns 0 or -ENOMEM. */
int tree_moved(struct tasks **out, const struct tree *tree, uint32_t sample);

/* For how many samples, up to its last, none of `tasks` has moved; 0 if the
 * tree knows none of them. Returns that, or -ENOMEM. */
int64_t tree_unmoved(const struct tree *tree, struct tasks *tasks);

/* The median of the stops in the tree, in microseconds; 0 if there are none. */
uint32_t tree_median_stop_us(const struct tree *tree);

/* Compare parts of trees: below 0, 0 or above 0. Frames are ordered by the
 * numbers of their strings; of ends the heavier one is greater. */
int tree_frame_compare(const struct tree_frame *a, const struct tree_frame *b);
int tree_end_compare(const struct tree_end *a, const struct tree_end *b);
int tree_progress_compare(const struct tree_progress *a,
                          const struct tree_progress *b);
int tree_stop_compare(const struct tree_stop *a, const struct tree_stop *b);

/* Pack `tree` into a new packet with the tag `tag`; equal trees give equal
 * packets. Distinct sets of tasks are stored once, each as ranges or a
 * bitmap, whichever is shorter. Returns 0, -EMSGSIZE or -ENOMEM. */
int tree_pack(struct cop_packet **out, int32_t tag, const struct tree *tree);

/* Make a tree from `packet`, whose bytes are not trusted.
 * Returns 0, -EINVAL if it is of another format, -EBADMSG if its values are
 * not those of a tree, or -ENOMEM. */
int tree_unpack(struct tree **out, const struct cop_packet *packet);

/* Give task t the number numbers[t], for all t below `count`; no two have the
 * same. Returns 0; or -EBADMSG if the tree has other tasks, or -ENOMEM, and the
 * tree is of no more use. */
int tree_renumber(struct tree *tree, const uint32_t *numbers, uint32_t count);

/* Finish a new tree: drop nodes without an end at or below them, and frames and
 * strings that no node uses, and fill in sizes. Returns 0 or -ENOMEM. */
int tree_tidy(struct tree *tree);
