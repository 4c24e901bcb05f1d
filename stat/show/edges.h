/* edges.h - who waits for whom, as the notes of stat/walk/waits.h tell it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/tree/classes.h"
#include "stat/tree/tree.h"

/* Most of them that are looked at. */
#define EDGES_MAX ((size_t)1 << 16)

/* A thread that waits for another one of its task, or a task that waits for
 * another one. */
struct edge {
    uint32_t task;
    uint32_t node; /* where it waits: a note */
    bool threads;  /* thread `from` of the task waits for its thread `to` */
    int32_t from;
    int32_t to;    /* a thread, or a rank */
    bool receives; /* else it sends */
    bool tagged;
    int32_t tag;
    bool told; /* for the user: the judgement has named it */
};

/* Find those of a tree, by (threads, task, from). `*out` is a new array. Returns
 * 0 or -ENOMEM. */
int edges_find(struct edge **out, size_t *count, const struct tree *tree);

/* Tasks of a class that wait for tasks of a class. */
struct class_edge {
    size_t from;
    size_t to;     /* the number of classes: tasks in none */
    uint32_t node; /* where one of them waits: a note */
    bool receives;
    struct tasks *waiting; /* ours */
    struct tasks *wanted;  /* for which they wait; ours */
};

/* Bring those of `edges` that are of ranks together by classes: by (from, to,
 * receives). `*out` is a new array, also of none, for edges_classes_free().
 * Returns 0 or -ENOMEM. */
int edges_classes(struct class_edge **out,
                  size_t *out_count,
                  const struct edge *edges,
                  size_t count,
                  const struct classes *classes);

/* Free `list`, of `count`. NULL is fine. */
void edges_classes_free(struct class_edge *list, size_t count);

/* Find threads of one task that wait for each other: the first circle.
 *
 * edges   of the threads of that task, as edges_find() gives them
 * circle  becomes a new array of their indices
 *
 * Returns how many threads these are, 0 if there is no circle, or -ENOMEM. */
int edges_circle(size_t **circle, const struct edge *edges, size_t count);

/* Follow ranks that wait for ranks.
 *
 * edges    of tasks, as edges_find() gives them
 * waiting  becomes how many wait in the end for `*last`
 *
 * Returns 1 if `*last` is the rank that most of them wait for, and waits for no
 * rank itself; 2 if most of them wait for each other in a circle, of which
 * `*last` is one; 0 if there are no edges; or -ENOMEM. */
int edges_chain(uint32_t *last,
                size_t *waiting,
                const struct edge *edges,
                size_t count);

/* Find the one edge that has another tag than all others, of three or more that
 * wait alike. Returns it and the tag of the others; NULL if there is none. */
const struct edge *edges_odd_tag(int32_t *others,
                                 const struct edge *edges,
                                 size_t count);
