/* emulate.h - made-up traces of a large job, from a seed: the whole tool on
 * real processes and a real tree, and an answer that is known beforehand. */
#ifndef STAT_EMULATE_H
#define STAT_EMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/tree/tree.h"

/* Most frames of one trace, and most classes. */
#define EMULATE_DEPTH_MAX   512
#define EMULATE_CLASSES_MAX 4096

/* What the job is like. */
struct emulate {
    uint32_t tasks;
    uint32_t daemons;
    uint32_t depth;    /* frames of a trace */
    uint32_t classes;  /* of tasks that behave alike, the first the largest */
    uint32_t outliers; /* tasks that are a class of their own each */
    bool cyclic;       /* task i is at daemon i modulo daemons, not in blocks */
    bool scattered;    /* each task draws its class, not a band of neighbours:
                          the worst that can happen to sets of tasks */
    uint32_t seed;
};

/* Read "tasks=212992,daemons=1664,depth=20,classes=16,outliers=4,
 * placement=block|cyclic,mix=bands|scattered,seed=1": what is left out has
 * these values. Returns 0, or -EINVAL with a sentence. */
int emulate_parse(struct emulate *emulate,
                  const char *text,
                  struct cop_error *error);

/* Pack it for the daemons, whose ranks are `ranks`. Returns 0 or -ENOMEM. */
int emulate_pack(struct cop_packet **out,
                 const struct emulate *emulate,
                 const uint32_t *ranks);

/* Read it, from anybody; `*daemon` becomes the number of the daemon with rank
 * `rank`. Returns 0, or -EINVAL or -EBADMSG if it is none. */
int emulate_unpack(struct emulate *emulate,
                   uint32_t *daemon,
                   const struct cop_packet *packet,
                   uint32_t rank);

/* Everybody, in the place of a daemon. */
#define EMULATE_ALL UINT32_MAX

/* Make the tree of the tasks of daemon number `daemon`, counted from 0, or of
 * all. Returns 0 or -ENOMEM. */
int emulate_tree(struct tree **out,
                 const struct emulate *emulate,
                 uint32_t daemon);

#endif
