/* pulse.c - the arrival of packets: their rate, and how far it dips. */
#include "bench/pulse.h"

#include <math.h>
#include <stdbool.h>

double pulse_rate(const struct sample *arrivals, size_t index)
{
    if (index < PULSE_SPAN)
        return (double)NAN;
    return PULSE_SPAN /
           (arrivals->values[index] - arrivals->values[index - PULSE_SPAN]);
}

double pulse_usual(const struct sample *arrivals, double from_s, double until_s)
{
    struct sample rates = {.values = NULL};
    double usual = (double)NAN;
    int r = 0;

    for (size_t i = PULSE_SPAN; r == 0 && i < arrivals->count; i++)
        if (arrivals->values[i] >= from_s && arrivals->values[i] < until_s)
            r = sample_add(&rates, pulse_rate(arrivals, i));
    if (r == 0)
        usual = sample_quantile(&rates, 0.5);
    sample_fini(&rates);
    return usual;
}

/* Arrival `i` is below the dip's threshold, and so is the time before it, back
 * to the previous arrival, or to `*since_s` if a dip continues. */
static void note_low(struct pulse_dip *dip,
                     double begin_s,
                     double at_s,
                     bool *low,
                     double *since_s)
{
    if (!*low)
        *since_s = begin_s;
    *low = true;
    dip->length_s = fmax(dip->length_s, at_s - *since_s);
}

/* The fewest arrivals in any second in [from_s, until_s). Seconds begin at
 * `from_s`, or directly after an arrival. */
static double slowest(const struct sample *arrivals,
                      double from_s,
                      double until_s)
{
    double least = (double)NAN;
    size_t first = 0;
    size_t end = 0;

    while (first < arrivals->count && arrivals->values[first] < from_s)
        first++;
    while (from_s + 1 <= until_s) {
        while (end < arrivals->count && arrivals->values[end] < from_s + 1)
            end++;
        least = fmin(least, (double)(end - first));
        if (first == arrivals->count)
            break;
        from_s = nextafter(arrivals->values[first++], INFINITY);
        if (end < first)
            end = first;
    }
    return least;
}

struct pulse_dip pulse_look(const struct sample *arrivals,
                            double from_s,
                            double until_s,
                            double usual)
{
    struct pulse_dip dip = {
        .lowest = (double)NAN,
        .slowest = slowest(arrivals, from_s, until_s),
    };
    double before_s = from_s;
    double since_s = from_s;
    bool low = false;

    for (size_t i = 0; i < arrivals->count; i++) {
        double at_s = arrivals->values[i];
        double rate = pulse_rate(arrivals, i); /* NAN compares as false */

        if (at_s < from_s || at_s >= until_s)
            continue;
        dip.lowest = fmin(dip.lowest, rate);
        dip.gap_s = fmax(dip.gap_s, at_s - before_s);
        if (rate < PULSE_DIP * usual)
            note_low(&dip, before_s, at_s, &low, &since_s);
        else
            low = false;
        before_s = at_s;
    }
    dip.gap_s = fmax(dip.gap_s, until_s - before_s);
    if (usual > 0 && dip.lowest < usual)
        dip.depth = 1 - dip.lowest / usual;
    return dip;
}
