/* movers.h - notes on tasks that move, and on tasks that do not. */
#pragma once

#include <stdint.h>

#include "stat/show/report.h"

/* For this many of the smallest classes, and for the largest one,
 * movers_never_left() searches: each search examines the whole tree. */
#define MOVERS_CLASSES 64

/* Find the deepest place that no thread of class number `class` has left,
 * though it was seen at several places below it: an endless loop is there. A
 * function of the program is preferred. Returns 1 and the node, 0 if there is
 * none or no task has moved, or -ENOMEM. */
int movers_never_left(uint32_t *node,
                      const struct report *report,
                      size_t class);

/* Write how long a class has not moved, or how often some of it moved and which
 * place they never left; "" after one sample. The caller frees it. Returns 0 or
 * -ENOMEM. */
int movers_note(char **out, const struct report *report, size_t class);
