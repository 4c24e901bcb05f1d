/* shape.h - the tree of a benchmark: "flat:16" or "8x8". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHAPE_LEVELS_MAX 8
#define SHAPE_NODES_MAX  100000
#define SHAPE_TEXT_MAX   63

/* One tree, every node of a level with the same fan-out. */
struct shape {
    char text[SHAPE_TEXT_MAX + 1]; /* as it was written */
    uint32_t fanout[SHAPE_LEVELS_MAX];
    size_t depth; /* levels below the root */
};

/* Read `text`: "flat:N", or fan-outs from the root down with "x" between.
 *
 * Returns 0, or with a sentence in `why` (a static string):
 *   -EINVAL  not of this form, a fan-out of 0, or more than SHAPE_LEVELS_MAX
 *            levels
 *   -E2BIG   more than SHAPE_NODES_MAX nodes */
int shape_read(struct shape *shape, const char *text, const char **why);

/* The number of leaves. */
uint32_t shape_leaves(const struct shape *shape);

/* The number of nodes without the root. */
uint32_t shape_nodes(const struct shape *shape);
