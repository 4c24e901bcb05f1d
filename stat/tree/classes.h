/* classes.h - which tasks behave alike. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stat/tree/tree.h"

/* The classes of a tree: tasks are in the same one exactly if their traces
 * end at the same places, as last seen. Tasks that could not be walked are in none. */
struct classes {
    struct tasks **sets;  /* smallest first, then by lowest task */
    uint32_t **ends;      /* of each: the nodes where its traces end, rising */
    uint32_t *end_counts; /* of each: how many these are */
    bool *own; /* by node: of a thread that a runtime has for itself, or that
                  waits for work in one */
    size_t count;
};

/* Where a trace ends. */
enum classes_ends {
    /* At the first call of a runtime, such as MPI_Barrier: what spins in there
     * is at another place each time. Threads of the runtime's own do not
     * count, unless a task has no others (decision 0220); those of OpenMP do
     * while they run a region of the program. */
    CLASSES_CALLS,
    CLASSES_FULL, /* at its last frame */
};

/* Find the classes of `tree`. Linear in the ranges of all ends, but for
 * sorting. Returns 0 or -ENOMEM. */
int classes_new(struct classes **out,
                const struct tree *tree,
                enum classes_ends ends);

/* Free `classes`. NULL is fine. */
void classes_free(struct classes *classes);

/* The number of the class that is exactly `tasks`, from 0 on, or -1. */
long classes_find(const struct classes *classes, const struct tasks *tasks);
