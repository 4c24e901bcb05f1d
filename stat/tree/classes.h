/* classes.h - groups tasks that behave alike. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stat/tree/tree.h"

/* The classes of a tree. Two tasks are in the same one exactly if their traces
 * end at the same places when last seen. Tasks not walked are in none. */
struct classes {
    struct tasks **sets;  /* smallest first, then by lowest task */
    uint32_t **ends;      /* by class: where its traces end, ascending */
    uint32_t *end_counts; /* by class: how many of these there are */
    bool *own; /* by node: it belongs to a runtime's own thread, or to one that
                  waits for work in a runtime */
    unsigned char
        *says; /* by node: how much a trace that ends there says about its
                            task: only those that say the most count */
    size_t count;
};

/* Where a trace ends. */
enum classes_ends {
    /* At the first call of a runtime, such as MPI_Barrier: a thread that spins
     * inside is at a different place each time. A runtime's own threads do not
     * count, unless a task has no others (decision 0220); those of OpenMP do
     * while they run a region of the program. In a task with Python frames only
     * threads that have some count; if some have frames of the program's own
     * files, only these. Threads that only poll do not count, unless a task has
     * no others. */
    CLASSES_CALLS,
    CLASSES_FULL, /* at its last frame */
};

/* Find the classes of `tree`. Takes time linear in the ranges of all ends,
 * apart from sorting. Returns 0 or -ENOMEM. */
int classes_new(struct classes **out,
                const struct tree *tree,
                enum classes_ends ends);

/* Free `classes`. NULL is fine. */
void classes_free(struct classes *classes);

/* The number of the class with exactly these `tasks`, from 0 on, or -1. */
long classes_find(const struct classes *classes, const struct tasks *tasks);
