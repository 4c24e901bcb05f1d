/* fold.c - see fold.h. */
#include "stat/tree/fold.h"

#include <string.h>

void fold_begin(struct fold *fold, bool by_line, bool whole)
{
    fold->by_line = by_line;
    fold->whole = whole;
    fold->cut = 0;
    fold->count = 0;
}

/* Whether two frames are the same place. */
static bool is_same(const struct fold *fold,
                    const struct frame *a,
                    const struct frame *b)
{
    return strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0 &&
           (!fold->by_line || a->line == b->line) &&
           strcmp(a->module, b->module) == 0 && a->offset == b->offset;
}

/* Whether the last `len` frames repeat those before them. */
static bool is_turn(const struct fold *fold, size_t len)
{
    const struct frame *last = fold->frames + fold->count - len;
    size_t i;

    if (2 * len > fold->count)
        return false;
    for (i = 0; i < len && is_same(fold, &last[i], &last[i] - len); i++)
        ;
    return i == len;
}

/* After frames that were cut out, a stack may continue anywhere in a cycle:
 * only the frame that leaves the cycle is kept. Returns whether `frame` is in
 * the cycle. */
static bool is_behind_cut(const struct fold *fold, const struct frame *frame)
{
    size_t at = fold->cut - 1, i;

    for (i = 1; i <= FOLD_CIRCLE_MAX && i <= at; i++)
        if (is_same(fold, &fold->frames[at - i], frame))
            return true;
    return false;
}

/* Add a frame, and fold the round that it completes. */
static void push(struct fold *fold, const struct frame *frame)
{
    if (fold->count == TREE_DEPTH_MAX)
        return;
    fold->frames[fold->count++] = *frame;
    for (size_t len = 1; !fold->whole && len <= FOLD_CIRCLE_MAX; len++) {
        if (!is_turn(fold, len))
            continue;
        fold->count -= len;
        memcpy(fold->frames + fold->count - len, fold->frames + fold->count,
               len * sizeof(*frame));
        return;
    }
}

/* `frame` completes the first round of `len` frames after the cut. If the cycle
 * before the cut has the same length, continue as if nothing had been cut.
 * Returns whether it does. */
static bool close_cut(struct fold *fold, const struct frame *frame, size_t len)
{
    size_t at = fold->cut - 1, i = 1;

    while (i <= len && i <= at && !is_same(fold, &fold->frames[at - i], frame))
        i++;
    if (len > FOLD_CIRCLE_MAX || len > at || i > len)
        return false;
    fold->count = at;
    fold->cut = 0;
    for (i = 0;
         i < len && !is_same(fold, &fold->frames[fold->count - 1], frame);
         i++) {
        struct frame next = fold->frames[fold->count - len];

        push(fold, &next);
    }
    fold->frames[fold->count - 1] = *frame;
    return true;
}

void fold_add(struct fold *fold, const struct frame *frame)
{
    if (!fold->whole && fold->cut > 0) {
        if (!is_behind_cut(fold, frame)) {
            fold->cut = 0;
        } else if (fold->behind > 0 && is_same(fold, &fold->first, frame) &&
                   close_cut(fold, frame, fold->behind)) {
            return;
        } else {
            if (fold->behind++ == 0)
                fold->first = *frame;
            fold->count = fold->cut;
        }
    }
    push(fold, frame);
    if (!fold->whole && strcmp(frame->function, FRAME_CUT) == 0) {
        fold->cut = fold->count;
        fold->behind = 0;
    }
}
