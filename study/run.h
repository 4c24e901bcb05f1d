/* run.h - one run of the study: failures one after another in a tree, and the
 * adoptions that one algorithm chooses. */
#pragma once

#include <stdint.h>

#include "study/shape.h"

/* The order in which internal nodes fail; never the front-end. */
enum study_where {
    STUDY_RANDOM,  /* at random */
    STUDY_SUBTREE, /* the subtree of a random child of the front-end; then that
                      of another child */
    STUDY_LEVEL,   /* the level below the front-end in a random order; then the
                      next level */
};

struct study_options {
    uint32_t algorithm; /* of topology/adopter.h */
    uint32_t failures;  /* at most the internal nodes but the front-end */
    enum study_where where;
    uint32_t lag; /* how many reports an orphan's table lacks */
    uint64_t seed;
};

/* The tree after one failure and the adoption of its orphans. */
struct study_step {
    uint32_t victim;
    uint32_t orphans;
    uint32_t fan_out; /* the maximum */
    uint32_t height;
    uint32_t collisions; /* orphans with the same first choice as an earlier
                            sibling */
    uint32_t refusals;   /* by nodes that had failed, were too deep, or had no
                            path; only with a lag */
    uint32_t bound;      /* the least maximum fan-out of any assignment of these
                            orphans that does not raise the tree */
    uint32_t mean;       /* the mean fan-out, rounded up: a lower bound */
    double deviation;    /* of the fan-outs */
};

/* The model of the cost of an aggregation, in microseconds (dissertation, 7.1).
 */
struct study_cost {
    double overhead_us; /* o: of a process for each message */
    double latency_us;  /* l: of a link */
    double gap_us;      /* g: of an aggregation */
};

/* The modelled latency of an aggregation: h x (l + o x (f + 1) + g). */
double study_latency_us(const struct study_cost *cost,
                        uint32_t height,
                        uint32_t fan_out);

/* Do one run. The same options give the same steps: all random numbers come
 * from the seed, and the failures do not depend on the algorithm.
 *
 * steps  room for options->failures
 *
 * Returns 0 or -ENOMEM. */
int study_run(const struct study_tree *tree,
              const struct study_options *options,
              struct study_step *steps);

/* The tree before any failure, as a step. Returns 0 or -ENOMEM. */
int study_begin(const struct study_tree *tree, struct study_step *step);
