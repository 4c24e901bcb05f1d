/* histogram.c - how many numbers lie in each of equal intervals: a join filter.
 *
 * The stream's parameters are "%lf %lf %ud": lowest, highest, and how many bins
 * there are between them. Back-ends send numbers, alone or in arrays. What goes
 * up is "%lf %lf %auld": lowest, highest and the counts: of numbers below the
 * lowest, of each bin, of numbers from the highest on, of NaN. A number on the
 * border of two bins belongs to the upper one. */
#include "filters/numeric_total.h"

#include <math.h>
#include <stdbool.h>

#define BINS_MAX 65536

/* The counts besides those of the bins: below, above, NaN. */
#define OTHERS 3

struct histogram {
    double lowest;
    double highest;
    uint32_t len; /* of `counts`; 0: nothing was joined yet */
    uint64_t *counts;
    int32_t tag; /* of the packet that was joined last */
};

static void histogram_free(void *state)
{
    struct histogram *histogram = state;

    if (histogram)
        free(histogram->counts);
    free(histogram);
}

static bool is_range(double lowest, double highest)
{
    return isfinite(lowest) && isfinite(highest) && lowest < highest &&
           isfinite(highest - lowest);
}

/* Read the stream's parameters. */
static int read_range(struct cop_filter_call *call,
                      double *lowest,
                      double *highest,
                      uint32_t *bins)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);

    if (!parameters ||
        cop_packet_unpack(parameters, "%lf %lf %ud", lowest, highest, bins) <
            0 ||
        !is_range(*lowest, *highest) || *bins == 0 || *bins > BINS_MAX)
        return cop_filter_fail(call,
                               "the stream's parameters must be \"%%lf %%lf "
                               "%%ud\": lowest, highest, and 1 to %d bins",
                               BINS_MAX);
    return 0;
}

/* Only back-ends need the parameters: they read the application's packets. */
static int histogram_init(void **state, struct cop_filter_call *call)
{
    double lowest, highest;
    uint32_t bins;
    int r;

    if (cop_filter_is_leaf(call)) {
        r = read_range(call, &lowest, &highest, &bins);
        if (r < 0)
            return r;
    }
    *state = calloc(1, sizeof(struct histogram));
    return *state ? 0 : -ENOMEM;
}

/* Start with counts of 0, or check that the bins are the same as before. */
static int set_bins(struct histogram *histogram,
                    struct cop_filter_call *call,
                    double lowest,
                    double highest,
                    uint32_t len)
{
    if (histogram->len == 0) {
        histogram->counts = calloc(len, sizeof(*histogram->counts));
        if (!histogram->counts)
            return -ENOMEM;
        histogram->lowest = lowest;
        histogram->highest = highest;
        histogram->len = len;
        return 0;
    }
    if (histogram->lowest == lowest && histogram->highest == highest &&
        histogram->len == len)
        return 0;
    return cop_filter_fail(call,
                           "a packet has %u bins from %g to %g, the histogram "
                           "has %u from %g to %g: open another stream for "
                           "other bins",
                           len - OTHERS, lowest, highest,
                           histogram->len - OTHERS, histogram->lowest,
                           histogram->highest);
}

static double read_number(enum cop_type type, const void *data, uint64_t i)
{
    enum cop_type wide = numeric_wide_type(type);
    union numeric_wide number = numeric_element(type, data, i);

    if (wide == COP_INT64)
        return (double)number.i;
    return wide == COP_UINT64 ? (double)number.u : number.f;
}

/* The place of `number` in the counts. */
static uint32_t place_of(const struct histogram *histogram, double number)
{
    uint32_t bins = histogram->len - OTHERS;
    double part;
    uint32_t bin;

    if (isnan(number))
        return bins + 2;
    if (number < histogram->lowest)
        return 0;
    if (number >= histogram->highest)
        return bins + 1;
    part =
        (number - histogram->lowest) / (histogram->highest - histogram->lowest);
    bin = (uint32_t)(part * bins);
    return 1 + (bin < bins ? bin : bins - 1);
}

/* Count the numbers of an application's packet. */
static int count_numbers(struct histogram *histogram,
                         const struct cop_packet *packet,
                         struct cop_filter_call *call)
{
    struct cop_value values[COP_VALUES_MAX];
    double lowest, highest;
    uint32_t bins;
    int count, r;

    r = read_range(call, &lowest, &highest, &bins);
    if (r < 0)
        return r;
    count = numeric_total_read(packet, call, values);
    if (count < 0)
        return count;
    r = set_bins(histogram, call, lowest, highest, bins + OTHERS);
    for (int i = 0; r >= 0 && i < count; i++)
        for (uint64_t k = 0; k < values[i].count; k++)
            histogram->counts[place_of(
                histogram, read_number(values[i].type, values[i].data, k))]++;
    return r;
}

/* Add the counts of another histogram. */
static int add_counts(struct histogram *histogram,
                      const struct cop_packet *packet,
                      struct cop_filter_call *call)
{
    double lowest, highest;
    const uint64_t *counts;
    uint32_t len;
    int r;

    if (cop_packet_unpack(packet, "%lf %lf %auld", &lowest, &highest, &counts,
                          &len) < 0 ||
        !is_range(lowest, highest) || len <= OTHERS || len > BINS_MAX + OTHERS)
        return cop_filter_fail(call,
                               "a packet of the format \"%s\" is no histogram",
                               cop_packet_format(packet));
    r = set_bins(histogram, call, lowest, highest, len);
    for (uint32_t i = 0; r >= 0 && i < len; i++)
        histogram->counts[i] += counts[i];
    return r;
}

/* In a back-end, packets are the application's; elsewhere, histograms. */
static int histogram_join(void *state,
                          const struct cop_packet *packet,
                          struct cop_filter_call *call)
{
    struct histogram *histogram = state;
    int r = cop_filter_is_leaf(call) ? count_numbers(histogram, packet, call)
                                     : add_counts(histogram, packet, call);

    if (r >= 0)
        histogram->tag = cop_packet_tag(packet);
    return r;
}

static int histogram_pack(const void *state, struct cop_packet **out)
{
    const struct histogram *histogram = state;

    if (histogram->len == 0)
        return 0;
    return cop_packet_new(out, histogram->tag, "%lf %lf %auld",
                          histogram->lowest, histogram->highest,
                          histogram->counts, histogram->len);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "histogram",
    .summary = "how many numbers lie in each of equal intervals",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS,
    .init = histogram_init,
    .free = histogram_free,
    .join = histogram_join,
    .pack = histogram_pack,
};

COP_FILTER_EXPORT(filter);
