/* arrows.h - waits as arrows between places of a picture. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stat/show/report.h"

/* Most arrows of a picture. */
#define ARROWS_MAX 64

/* Tasks, or a thread, at one place wait for tasks, or a thread, at another or
 * the same place. Places are nodes that users see: `shown` in report.h.
 */
struct arrow {
    uint32_t from;
    uint32_t to;
    struct tasks *waiting; /* owned */
    char text[160];        /* "ranks 0,2-3 wait for rank 1" */
};

/* Find the arrows of `report`: between classes of ranks, and between threads of
 * one task. `*out` is a new array, for arrows_free(). Returns 0 or -ENOMEM. */
int arrows_find(struct arrow **out, size_t *count, const struct report *report);

/* Free `arrows`. NULL is fine. */
void arrows_free(struct arrow *arrows, size_t count);
