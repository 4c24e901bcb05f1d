/* merging.h - a synthetic job in a tree of real processes, merged once. */
#pragma once

#include "bench/sample.h"
#include "bench/synthetic.h"

struct merging {
    struct cop_network *network; /* NULL: not launched */
    struct cop_stream *stream;
    struct cop_error error;
};

/* Launch a tree of back-ends, each of which computes its part of the job
 * `keys`. Returns 0, or a negative errno; end it in both cases. */
int merging_start(struct merging *merging, const char *shape, const char *keys);

/* Have the parts sent, and receive what the filters made of them; compare it
 * with what must come out of `job`. Adds the milliseconds and the bytes that
 * came. Returns 0 or a negative errno: -EBADE if the tree is wrong. */
int merging_run(struct merging *merging,
                const struct synthetic *job,
                struct sample *merge,
                struct sample *bytes);

/* Say why it failed, if `r` says so. End the tree and wait for all of it. */
void merging_end(struct merging *merging, int r);
