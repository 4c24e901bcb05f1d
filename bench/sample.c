/* sample.c - repeated measurements, and their statistics. */
#include "bench/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int sample_add(struct sample *sample, double value)
{
    if (sample->count == sample->room) {
        size_t room = sample->room ? sample->room * 2 : 64;
        double *values = realloc(sample->values, room * sizeof(*values));

        if (!values)
            return -ENOMEM;
        sample->values = values;
        sample->room = room;
    }
    sample->values[sample->count++] = value;
    return 0;
}

void sample_clear(struct sample *sample)
{
    sample->count = 0;
}

void sample_fini(struct sample *sample)
{
    free(sample->values);
    *sample = (struct sample){.values = NULL};
}

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

double sample_quantile(const struct sample *sample, double quantile)
{
    double *sorted;
    double at;
    double value;
    size_t below;

    if (sample->count == 0)
        return (double)NAN;
    sorted = malloc(sample->count * sizeof(*sorted));
    if (!sorted)
        return (double)NAN;
    memcpy(sorted, sample->values, sample->count * sizeof(*sorted));
    qsort(sorted, sample->count, sizeof(*sorted), compare);
    at = quantile * (double)(sample->count - 1);
    below = (size_t)at;
    value = sorted[below];
    if (below + 1 < sample->count)
        value += (at - (double)below) * (sorted[below + 1] - value);
    free(sorted);
    return value;
}

int sample_ratio(struct sample *out,
                 const struct sample *numerator,
                 const struct sample *denominator)
{
    if (numerator->count != denominator->count)
        return -EINVAL;
    sample_clear(out);
    for (size_t i = 0; i < numerator->count; i++) {
        int r = sample_add(out, numerator->values[i] / denominator->values[i]);

        if (r < 0)
            return r;
    }
    return 0;
}
