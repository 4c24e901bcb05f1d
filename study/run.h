/* study_run.h - one run of the study: a tree, failures one after another, and
 * what one algorithm makes of it. */
#ifndef STUDY_RUN_H
#define STUDY_RUN_H

#include <stdint.h>

#include "study/shape.h"

/* Where the failures are. */
enum study_where {
    STUDY_RANDOM,  /* any internal node but the front-end */
    STUDY_SUBTREE, /* all below one child of the front-end, chosen at random,
                      that child included; then below another */
    STUDY_LEVEL,   /* all of the level below the front-end, in a random order;
                      then the next level */
};

struct study_options {
    uint32_t algorithm; /* of topology/adopter.h */
    uint32_t failures;  /* at most the internal nodes but the front-end */
    enum study_where where;
    uint32_t lag; /* reports that an orphan's table is behind */
    uint64_t seed;
};

/* The tree after one failure, when all its orphans have been adopted. */
struct study_step {
    uint32_t victim;
    uint32_t orphans;
    uint32_t fan_out; /* the maximum */
    uint32_t height;
    uint32_t collisions; /* orphans whose first choice an elder sibling's was */
    uint32_t refusals;   /* adopters that had failed, were too deep, or had no
                            path: where tables are behind */
    uint32_t bound;      /* the least maximum fan-out of any assignment of these
                            orphans that does not raise the tree */
    uint32_t mean;       /* the mean fan-out, rounded up: no tree is below it */
    double deviation;    /* of the fan-outs */
};

/* What an aggregation costs, in microseconds (dissertation, 7.1). */
struct study_cost {
    double overhead_us; /* o: a process for each message */
    double latency_us;  /* l: a link */
    double gap_us;      /* g: an aggregation */
};

/* h x (l + o x (f + 1) + g). */
double study_latency_us(const struct study_cost *cost,
                        uint32_t height,
                        uint32_t fan_out);

/* Run it. The same options, the same steps: all randomness is the seed's, and
 * the failures do not depend on the algorithm.
 *
 * steps  room for options->failures
 *
 * Returns 0 or -ENOMEM. */
int study_run(const struct study_tree *tree,
              const struct study_options *options,
              struct study_step *steps);

/* The step that every run begins with: nobody has failed. Returns 0 or
 * -ENOMEM. */
int study_begin(const struct study_tree *tree, struct study_step *step);

#endif
