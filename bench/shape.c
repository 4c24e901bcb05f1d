/* shape.c - the tree of a benchmark. */
#include "bench/shape.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool read_fanout(const char **at, uint32_t *fanout)
{
    char *end;
    unsigned long value;

    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    value = strtoul(*at, &end, 10);
    if (errno || value == 0 || value > SHAPE_NODES_MAX)
        return false;
    *fanout = (uint32_t)value;
    *at = end;
    return true;
}

static int read_levels(struct shape *shape,
                       const char *at,
                       bool flat,
                       const char **why)
{
    for (;;) {
        if (shape->depth == SHAPE_LEVELS_MAX) {
            *why = "it has more than 8 levels";
            return -EINVAL;
        }
        if (!read_fanout(&at, &shape->fanout[shape->depth])) {
            *why = "a fan-out is a number from 1 to 100000";
            return -EINVAL;
        }
        shape->depth++;
        if (*at == '\0')
            return 0;
        if (*at != 'x' || flat) {
            *why = "it is written flat:16 or 4x4";
            return -EINVAL;
        }
        at++;
    }
}

int shape_read(struct shape *shape, const char *text, const char **why)
{
    struct shape read = {.depth = 0};
    bool flat = strncmp(text, "flat:", 5) == 0;
    uint64_t level = 1;
    uint64_t nodes = 0;
    int r;

    if (strlen(text) > SHAPE_TEXT_MAX) {
        *why = "it is too long";
        return -EINVAL;
    }
    strcpy(read.text, text);
    r = read_levels(&read, flat ? text + 5 : text, flat, why);
    if (r < 0)
        return r;
    for (size_t i = 0; i < read.depth; i++) {
        level *= read.fanout[i];
        nodes += level;
        if (nodes > SHAPE_NODES_MAX) {
            *why = "it has more than 100000 nodes";
            return -E2BIG;
        }
    }
    *shape = read;
    return 0;
}

uint32_t shape_leaves(const struct shape *shape)
{
    uint32_t leaves = 1;

    for (size_t i = 0; i < shape->depth; i++)
        leaves *= shape->fanout[i];
    return leaves;
}

uint32_t shape_nodes(const struct shape *shape)
{
    uint32_t level = 1;
    uint32_t nodes = 0;

    for (size_t i = 0; i < shape->depth; i++) {
        level *= shape->fanout[i];
        nodes += level;
    }
    return nodes;
}
