/* fold.h - stacks without the turns of a recursion.
 *
 * How deep a recursion is makes no class: a function that calls itself, or some
 * that call each other in a circle, are there once, with the lines of the
 * innermost turn. FRAME_CUT between turns of one is left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stat/tree/frame.h"
#include "stat/tree/tree.h"

/* Most functions in a circle. */
#define FOLD_CIRCLE_MAX 8

/* One stack in the making; read `frames` and `count`. */
struct fold {
    bool by_line; /* another line of a function is another place */
    bool whole;   /* nothing is folded */
    size_t cut;   /* one more than the index of FRAME_CUT, while what follows is
                     still the circle before it; else 0 */
    size_t behind;      /* so many frames of the circle did; or 0 */
    struct frame first; /* of them */
    size_t count;
    struct frame frames[TREE_DEPTH_MAX]; /* outermost first */
};

/* Begin a stack. */
void fold_begin(struct fold *fold, bool by_line, bool whole);

/* Add the next frame inwards; its strings are borrowed. What is deeper than
 * TREE_DEPTH_MAX is left out. */
void fold_add(struct fold *fold, const struct frame *frame);
