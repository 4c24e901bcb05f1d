/* merging.h - merge a synthetic job once, in a tree of real processes. */
#pragma once

#include "bench/sample.h"
#include "bench/synthetic.h"

struct merging {
    struct cop_network *network; /* NULL: not launched */
    struct cop_stream *stream;
    struct cop_error error;
};

/* Launch a tree of back-ends, each of which computes its part of the job
 * `keys`. Returns 0 or a negative errno; call merging_end() in both cases. */
int merging_start(struct merging *merging, const char *shape, const char *keys);

/* Have the back-ends send their parts, receive the filters' result, and compare
 * it with that expected for `job`. Adds the milliseconds and the bytes
 * received. Returns 0 or a negative errno: -EBADE if the tree is wrong. */
int merging_run(struct merging *merging,
                const struct synthetic *job,
                struct sample *merge,
                struct sample *bytes);

/* Print the error `r`, if any. End the tree and wait for its processes. */
void merging_end(struct merging *merging, int r);
