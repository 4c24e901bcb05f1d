/* window.h - places of tasks in the last samples, from trees that each only
 * have the present places. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/tree.h"

/* How many samples are kept, as in history.h. */
#define WINDOW_MAX 20

/* Trees with more nodes and ends than this are not kept. */
#define WINDOW_TREE_MAX (1U << 16)

/* All zero is empty. */
struct window {
    struct tree *trees[WINDOW_MAX]; /* a ring */
    uint32_t count;                 /* of all trees noted so far */
};

/* Free what `window` holds. */
void window_fini(struct window *window);

/* Replace the oldest by a copy of `tree`, settled. Returns 0 or -ENOMEM. */
int window_note(struct window *window, const struct tree *tree);

/* How many samples are kept. */
uint32_t window_samples(const struct window *window);

/* Make the tree of all kept samples. The samples of an end are those with the
 * task there; a task that was at several places has moved in the second sample.
 *
 * by_line  whether different lines are different places
 *
 * Returns 0 or -ENOMEM. */
int window_tree(struct tree **out, const struct window *window, bool by_line);
