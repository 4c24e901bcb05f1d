/* movers.h - what is said of tasks that move, and of those that do not. */
#pragma once

#include <stdint.h>

#include "stat/show/report.h"

/* What the movers of a class never left is looked for in this many of the
 * smallest classes, and in the largest one: of each it takes a look at the whole
 * tree. */
#define MOVERS_CLASSES 64

/* Find the deepest place that no thread of class number `class` has left that
 * was seen elsewhere below it: a loop that does not end is there. Of functions of
 * the program, if there is one. Returns 1 and the node, 0 if there is none or
 * none of the tasks has moved, or -ENOMEM. */
int movers_never_left(uint32_t *node,
                      const struct report *report,
                      size_t class);

/* Say for how long a class has stood still, or how often some of it moved and
 * what they never left; "" after one sample. The caller frees it. Returns 0 or
 * -ENOMEM. */
int movers_note(char **out, const struct report *report, size_t class);
