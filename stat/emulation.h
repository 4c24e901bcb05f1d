/* emulation.h - run an emulation, check its answer, and say how it went. */
#ifndef STAT_EMULATION_H
#define STAT_EMULATION_H

#include <stdint.h>

#include "stat/emulate.h"
#include "stat/gather/gather.h"

/* How it went. */
struct emulation {
    uint64_t launch_ns; /* the tree of processes is there */
    uint64_t merge_ns;  /* from the word to go, when all daemons have their
                           traces, until the merged tree is read */
    uint64_t bytes;     /* of the merged tree's packet */
    uint32_t edges;     /* of the merged tree */
    uint64_t level_ns[TREE_LEVELS_MAX]; /* longest time of a node's filter, by
                                           depth in the network */
};

/* Launch the daemons, have them make up their traces, merge these in the tree,
 * and compare with what must come out. `options` as for gather_tree(); without
 * a topology the tree has two levels, as even as can be.
 *
 * Returns 0, -EBADE if the answer is another one than it must be, or another
 * negative errno, each with a sentence. */
int emulation_run(struct tree **out,
                  struct emulation *result,
                  const struct emulate *emulate,
                  const struct gather_options *options,
                  struct cop_error *error);

#endif
