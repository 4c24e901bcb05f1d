/* side.h - what is compared: a way to build a tree and to work with it.
 *
 * There are two, Coppice and the bare tree; a benchmark treats them alike, so
 * that the code that measures is the same. Functions return 0 or a negative
 * errno, and have then said why on stderr. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/shape.h"

/* What the leaves are asked to send. */
enum side_load {
    SIDE_INTS,   /* packets of one int, one sum for each wave */
    SIDE_SUM,    /* 1 MiB arrays of doubles, summed element by element */
    SIDE_ARRAYS, /* the same, every one to the root; trees of depth 1 */
};

struct side {
    const char *name;

    /* Start a tree: returns when every node has reported. On failure nothing
     * is left running. */
    int (*start)(void **tree, const struct shape *shape);

    /* Make `tree` ready for ping() or stream(); outside what is measured. */
    int (*prepare_ping)(void *tree);
    int (*prepare_stream)(void *tree, enum side_load load);

    /* Broadcast a token, reduce an int with sum; checks the sum. */
    int (*ping)(void *tree);

    /* Have every leaf send `count` times as prepared, and take it all; checks
     * what comes. */
    int (*stream)(void *tree, uint32_t count);

    /* End the tree and wait for all of it. */
    void (*end)(void *tree);
};

extern const struct side bare_side;
extern const struct side ours_side;
