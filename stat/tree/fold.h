/* fold.h - stacks with recursions folded.
 *
 * The depth of a recursion does not make a class: a function that calls itself,
 * or functions that call each other in a cycle, appear once, with the lines of
 * the innermost round. A FRAME_CUT between rounds is left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stat/tree/frame.h"
#include "stat/tree/tree.h"

/* Most functions in a cycle. */
#define FOLD_CIRCLE_MAX 8

/* One stack under construction; `frames` and `count` are public to read. */
struct fold {
    bool by_line;  /* different lines of a function are different places */
    bool whole;    /* nothing is folded */
    size_t cut;    /* index of FRAME_CUT plus one, while the frames after it
                      continue the cycle before it; else 0 */
    size_t behind; /* how many frames do so; or 0 */
    struct frame first; /* the first of them */
    size_t count;
    struct frame frames[TREE_DEPTH_MAX]; /* outermost first */
};

/* Begin a stack. */
void fold_begin(struct fold *fold, bool by_line, bool whole);

/* Add the next inner frame; its strings are borrowed. Frames deeper than
 * TREE_DEPTH_MAX are left out. */
void fold_add(struct fold *fold, const struct frame *frame);
