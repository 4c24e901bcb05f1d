/* threads.h - the places of a task's threads: odd ones, and thread ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/show/report.h"

/* How many classes are examined: the first ones, and the last one. */
#define THREADS_CLASSES 64

/* A place of threads of the tasks of a class; a runtime's own threads have
 * none. */
struct threads_place {
    uint32_t node;
    uint32_t count; /* threads of a task, on average, rounded up */
    bool odd;       /* few of many threads are there, as with outliers. Threads
                       that wait for others to end are not odd, nor those that
                       do the same as others in the same function */
};

/* Find the places of class number `class`. `*out` is a new array, even if
 * empty. Returns their number, or -ENOMEM. */
int threads_places(struct threads_place **out,
                   const struct report *report,
                   size_t class);

/* Set in `odd`, by node and all false before, the nodes with only odd threads
 * at and below them. Returns 0 or -ENOMEM. */
int threads_find_odd(bool *odd, const struct report *report);

/* Whether `node` or one below it is in `report->odd`. */
bool threads_odd_below(const struct report *report, uint32_t node);

/* Bytes of threads_ids(). */
#define THREADS_IDS_SIZE 40

/* Write the ids of the threads whose traces are shown as ending at `node`:
 * "thread 12", "threads 12-19", or their number if the ids are scattered; "" if
 * they are not known, of several tasks, or of the only thread that a task has
 * besides a runtime's. Returns 0 or -ENOMEM. */
int threads_ids(char text[THREADS_IDS_SIZE],
                const struct report *report,
                uint32_t node);

/* Append a space and the same in brackets to `text`, which is taken. Returns
 * the new text; NULL without memory. */
char *threads_append(char *text, const struct report *report, uint32_t node);
