/* sample.h - figures measured again and again, and what they say. */
#pragma once

#include <stddef.h>

/* Figures in the order in which they were measured. Starts as all zero. */
struct sample {
    double *values;
    size_t count;
    size_t room;
};

/* Add one figure. Returns 0 or -ENOMEM; the sample is then as it was. */
int sample_add(struct sample *sample, double value);

/* Forget all figures, keep the room. */
void sample_clear(struct sample *sample);

/* Free what `sample` holds; it may be used again. */
void sample_fini(struct sample *sample);

/* The figure below which the share `quantile` (0 to 1) of all lie, between
 * neighbours by proportion: 0.5 is the median, 0 the least, 1 the greatest.
 * NAN for an empty sample or when memory is out. */
double sample_quantile(const struct sample *sample, double quantile);

/* Put numerator[i] / denominator[i] into `out` for each pair of rounds.
 * Returns 0, -EINVAL if the samples differ in number, or -ENOMEM. */
int sample_ratio(struct sample *out,
                 const struct sample *numerator,
                 const struct sample *denominator);
