/* window.h - where tasks were in the last samples, of trees that each know only
 * where they are now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/tree.h"

/* Of so many samples, as history.h. */
#define WINDOW_MAX 20

/* Trees with more nodes and ends than this are not kept. */
#define WINDOW_TREE_MAX (1U << 16)

/* A zeroed one knows nothing. */
struct window {
    struct tree *trees[WINDOW_MAX]; /* a ring */
    uint32_t count;                 /* of all that were put there */
};

/* Free what `window` holds. */
void window_fini(struct window *window);

/* Put a copy of `tree`, settled, in place of the oldest. Returns 0 or -ENOMEM.
 */
int window_note(struct window *window, const struct tree *tree);

/* How many samples it has. */
uint32_t window_samples(const struct window *window);

/* Make the tree of all of them: an end has as many samples as the task was
 * there in, and a task has moved in the second one if it was at several places.
 *
 * by_line  whether another line is another place
 *
 * Returns 0 or -ENOMEM. */
int window_tree(struct tree **out, const struct window *window, bool by_line);
