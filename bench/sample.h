/* sample.h - repeated measurements, and their statistics. */
#pragma once

#include <stddef.h>

/* Results in the order of measurement. Initially all zero. */
struct sample {
    double *values;
    size_t count;
    size_t room;
};

/* Add one result. Returns 0, or -ENOMEM with the sample unchanged. */
int sample_add(struct sample *sample, double value);

/* Remove all results, but keep the memory. */
void sample_clear(struct sample *sample);

/* Free the results; the sample may be used again. */
void sample_fini(struct sample *sample);

/* The result below which the share `quantile` (0 to 1) of all results is,
 * interpolated between neighbours: 0.5 is the median, 0 the least, 1 the
 * greatest. NAN for an empty sample or without memory. */
double sample_quantile(const struct sample *sample, double quantile);

/* Put numerator[i] / denominator[i] into `out` for each pair of rounds.
 * Returns 0, -EINVAL if the samples differ in number, or -ENOMEM. */
int sample_ratio(struct sample *out,
                 const struct sample *numerator,
                 const struct sample *denominator);
