/* lines.h - functions in which the threads of one task are at several lines.
 *
 * A function is one place, whatever its line, so that tasks that compute look
 * alike. But if two threads of a task stay at two lines of a function, they are
 * at different places, such as two locks that they wait for. If they have
 * called different functions from there, these already distinguish them. */
#pragma once

#include <stdbool.h>

#include "stat/tree/tree.h"

struct lines; /* a set of functions; opaque */

/* Find them in `tree`, where each line is a place. Returns 0 or -ENOMEM. */
int lines_new(struct lines **out, const struct tree *tree);

/* Free `lines`. NULL is fine. */
void lines_free(struct lines *lines);

/* Whether there are any, and whether `function` in `file` is one of them. */
bool lines_any(const struct lines *lines);
bool lines_has(const struct lines *lines,
               const char *function,
               const char *file);
