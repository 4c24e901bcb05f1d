/* synthetic.h - a synthetic job: the stacks of its tasks are computed from a
 * seed, so it may have any size, and the result of merging them is known. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/tree/tree.h"

/* Down the stream: "%s" the job as text, "%aud" the daemons' ranks: the
 * back-end computes its part. */
#define SYNTHETIC_TAG_PREPARE COP_TAG_FIRST
/* Down the stream, "%ud" 1: the back-end sends its part. */
#define SYNTHETIC_TAG_GO (COP_TAG_FIRST + 1)

/* Most frames of one stack, and most classes. */
#define SYNTHETIC_DEPTH_MAX   512
#define SYNTHETIC_CLASSES_MAX 4096

struct synthetic {
    uint32_t tasks;
    uint32_t daemons;
    uint32_t depth;   /* frames of a stack */
    uint32_t classes; /* of tasks with equal stacks; the first is the largest */
    uint32_t outliers; /* tasks with one more, unique frame */
    bool cyclic;       /* task i is at daemon i modulo daemons, not in blocks */
    bool scattered;    /* each task draws its class; otherwise neighbours share
                          one. The worst case for sets of tasks */
    uint32_t seed;
};

/* Read "tasks=212992,daemons=1664,depth=20,classes=16,outliers=4,
 * placement=block|cyclic,mix=bands|scattered,seed=1". These are the defaults of
 * missing keys. Returns 0, or -EINVAL with a sentence. */
int synthetic_parse(struct synthetic *job,
                    const char *text,
                    struct cop_error *error);

/* In place of a daemon's number: all daemons. */
#define SYNTHETIC_ALL UINT32_MAX

/* Make the tree of all tasks, or of those of daemon number `daemon`, counted from
 * 0. There tasks are numbered by daemon: see synthetic_numbers(). Returns 0 or
 * -ENOMEM. */
int synthetic_tree(struct tree **out,
                   const struct synthetic *job,
                   uint32_t daemon);

/* Make the array of the tasks, those of each daemon after those of the one
 * before, for tree_renumber(). NULL: it is 0, 1, 2, ... Returns 0 or -ENOMEM. */
int synthetic_numbers(uint32_t **out, const struct synthetic *job);
