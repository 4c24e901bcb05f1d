/* threads.h - where the threads of a task are: the odd ones, and their ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/show/report.h"

/* Classes that are looked at: so many of the first, and the last. */
#define THREADS_CLASSES 64

/* A place where threads of the tasks of a class are; the runtime's own have
 * none. */
struct threads_place {
    uint32_t node;
    uint32_t count; /* threads of a task, on average, rounded up */
    bool odd;       /* few of many: as tasks are outliers. Threads that wait for
                       others to end are not, nor those that do as others do
                       in the same function */
};

/* Find the places of class number `class`. `*out` is a new array, also of none.
 * Returns how many they are, or -ENOMEM. */
int threads_places(struct threads_place **out,
                   const struct report *report,
                   size_t class);

/* Find the nodes that odd threads alone are at and under, into `odd`, by node, all
 * false. Returns 0 or -ENOMEM. */
int threads_find_odd(bool *odd, const struct report *report);

/* Whether `node` or one below it is in `report->odd`. */
bool threads_odd_below(const struct report *report, uint32_t node);

/* Bytes of threads_ids(). */
#define THREADS_IDS_SIZE 40

/* Write the ids of the threads at `node`, and inside of it where people see traces
 * end there: "thread 12", "threads 12-19", or how many they are if the ids do not
 * lie together; "" where they are not known, are of several tasks, or are the
 * only one that a task has besides those of a runtime. Returns 0 or -ENOMEM. */
int threads_ids(char text[THREADS_IDS_SIZE],
                const struct report *report,
                uint32_t node);

/* Append the same in brackets, behind a space. `text` is taken. Returns what it
 * has become; NULL without memory. */
char *threads_append(char *text, const struct report *report, uint32_t node);
