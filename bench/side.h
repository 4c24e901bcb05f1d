/* side.h - one side of a comparison: a way to build a tree and to work with it.
 *
 * There are two, Coppice and the bare tree; a benchmark treats them alike, so
 * that the same code measures both. Functions return 0, or a negative errno
 * after a message on stderr. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/shape.h"

/* The load that leaves send. */
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

    /* Prepare `tree` for ping() or stream(); not measured. */
    int (*prepare_ping)(void *tree);
    int (*prepare_stream)(void *tree, enum side_load load);

    /* Broadcast a token, reduce an int with sum; checks the sum. */
    int (*ping)(void *tree);

    /* Have every leaf send the prepared load `count` times, receive everything,
     * and check it. */
    int (*stream)(void *tree, uint32_t count);

    /* End the tree and wait for all its processes. */
    void (*end)(void *tree);
};

extern const struct side bare_side;
extern const struct side ours_side;
