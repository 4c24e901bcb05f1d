/* bare.c - the machine's own limit: a tree of processes that read, sum and
 * write over loopback TCP, at its root. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kids.h"
#include "bench/side.h"
#include "bench/start.h"

/* A read that takes this long means that the tree is stuck. */
#define STUCK_S 60

struct bare {
    struct kids *kids;
    uint32_t leaves;
    enum side_load load;
    bool failed; /* the nodes may be stuck: kill them at the end */
};

static void write_below(char *text, size_t room, const struct shape *shape)
{
    size_t at = 0;

    snprintf(text, room, "-");
    for (size_t i = 1; i < shape->depth; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%u", i > 1 ? "x" : "",
                               shape->fanout[i]);
}

static int say_failure(struct bare *bare, int r, const char *what)
{
    if (r < 0) {
        warnx("bare tree: %s: %s", what, strerror(-r));
        bare->failed = true;
    }
    return r;
}

static int bare_start(void **tree, const struct shape *shape)
{
    char program[PATH_MAX];
    char below[SHAPE_TEXT_MAX + 1];
    struct bare *bare = calloc(1, sizeof(*bare));
    int r;

    if (!bare)
        return -ENOMEM;
    write_below(below, sizeof(below), shape);
    r = start_path(program, sizeof(program), "bare_node");
    if (r == 0)
        r = kids_start(&bare->kids, program, shape->fanout[0], below,
                       &bare->leaves);
    if (r == 0)
        r = kids_set_timeout(bare->kids, STUCK_S);
    if (r == 0 && bare->leaves != shape_leaves(shape))
        r = say_failure(bare, -EPROTO, "not every leaf has reported");
    if (r < 0) {
        kids_end(bare->kids, true);
        free(bare);
        return r;
    }
    *tree = bare;
    return 0;
}

static int bare_prepare_ping(void *tree)
{
    (void)tree;
    return 0;
}

static int bare_prepare_stream(void *tree, enum side_load load)
{
    struct bare *bare = tree;

    bare->load = load;
    return 0;
}

static int bare_ping(void *tree)
{
    struct bare *bare = tree;
    struct kids_command command = {.op = KIDS_PING};
    int32_t sum;
    int r;

    r = kids_command(bare->kids, &command);
    if (r == 0)
        r = kids_ping(bare->kids, &sum);
    if (r == 0 && (uint32_t)sum != bare->leaves)
        r = -EBADMSG;
    return say_failure(bare, r, "round trip");
}

static int bare_stream(void *tree, uint32_t count)
{
    static const enum kids_op ops[] = {
        [SIDE_INTS] = KIDS_INTS,
        [SIDE_SUM] = KIDS_SUM,
        [SIDE_ARRAYS] = KIDS_ARRAYS,
    };
    struct bare *bare = tree;
    struct kids_command command = {.op = ops[bare->load], .count = count};
    int r;

    r = kids_command(bare->kids, &command);
    if (r < 0)
        return say_failure(bare, r, "stream");
    switch (bare->load) {
    case SIDE_INTS:
        r = kids_ints(bare->kids, count, -1, bare->leaves);
        break;
    case SIDE_SUM:
        r = kids_sum(bare->kids, count, -1, bare->leaves);
        break;
    case SIDE_ARRAYS:
        r = kids_arrays(bare->kids, count);
        break;
    }
    return say_failure(bare, r, "stream");
}

static void bare_end(void *tree)
{
    struct bare *bare = tree;

    if (!bare)
        return;
    kids_end(bare->kids, bare->failed);
    free(bare);
}

const struct side bare_side = {
    .name = "bare",
    .start = bare_start,
    .prepare_ping = bare_prepare_ping,
    .prepare_stream = bare_prepare_stream,
    .ping = bare_ping,
    .stream = bare_stream,
    .end = bare_end,
};
