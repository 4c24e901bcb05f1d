/* edges.h - waits of threads and tasks, from notes of stat/walk/waits.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/tree/classes.h"
#include "stat/tree/tree.h"

/* Most edges that are examined. */
#define EDGES_MAX ((size_t)1 << 16)

/* A thread that waits for another one of its task, or a task that waits for
 * another one. */
struct edge {
    uint32_t task;
    uint32_t node; /* where it waits: a note's node */
    bool threads;  /* thread `from` of the task waits for its thread `to` */
    int32_t from;
    int32_t to;    /* a thread, or a rank */
    bool receives; /* false: it sends */
    bool tagged;
    int32_t tag;
    bool told; /* the judgement has mentioned it to the user */
};

/* Find the edges of a tree, ordered by (threads, task, from). `*out` is a new
 * array. Returns 0 or -ENOMEM. */
int edges_find(struct edge **out, size_t *count, const struct tree *tree);

/* Tasks of one class that wait for tasks of one class. */
struct class_edge {
    size_t from;
    size_t to;     /* the number of classes: tasks in none */
    uint32_t node; /* where one of them waits: a note's node */
    bool receives;
    struct tasks *waiting; /* owned */
    struct tasks *wanted;  /* the tasks that they wait for; owned */
};

/* Group those of `edges` that are between ranks by classes, ordered by (from,
 * to, receives). `*out` is a new array, even if empty, for
 * edges_classes_free(). Returns 0 or -ENOMEM. */
int edges_classes(struct class_edge **out,
                  size_t *out_count,
                  const struct edge *edges,
                  size_t count,
                  const struct classes *classes);

/* Free `list`, of `count` elements. NULL is fine. */
void edges_classes_free(struct class_edge *list, size_t count);

/* Find threads of one task that wait for each other: the first cycle.
 *
 * edges   of the threads of that task, as edges_find() gives them
 * circle  becomes a new array of their indexes in `edges`
 *
 * Returns the number of these threads, 0 if there is no cycle, or -ENOMEM. */
int edges_circle(size_t **circle, const struct edge *edges, size_t count);

/* Follow the waits between ranks.
 *
 * edges    of tasks, as edges_find() gives them
 * waiting  becomes how many ranks wait, directly or not, for `*last`
 *
 * Returns 1 if `*last` is the rank that most of them wait for, and waits for no
 * rank itself; 2 if most of them wait for each other in a cycle that contains
 * `*last`; 0 if there are no edges; or -ENOMEM. */
int edges_chain(uint32_t *last,
                size_t *waiting,
                const struct edge *edges,
                size_t count);

/* Find the only edge whose tag differs from that of all others, among three or
 * more that receive, or that send. Returns it and the tag of the others; NULL: none. */
const struct edge *edges_odd_tag(int32_t *others,
                                 const struct edge *edges,
                                 size_t count);
