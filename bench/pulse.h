/* pulse.h - packets as they arrive: their rate, and how far it dips.
 *
 * The rate at a packet is the mean over the last PULSE_SPAN packets, as in the
 * dissertation's figure 8.3. Times are in seconds, and ascend. */
#pragma once

#include <stddef.h>

#include "bench/sample.h"

#define PULSE_SPAN 10

/* Below this share of the usual rate it is a dip. */
#define PULSE_DIP 0.9

/* What happened from one moment to another. */
struct pulse_dip {
    double lowest;   /* rate; NAN if no packet came */
    double depth;    /* share of the usual rate that was missing then; 0 if
                        none was */
    double length_s; /* how long it was below PULSE_DIP of the usual rate, at
                        the longest */
    double gap_s;    /* the longest time without a packet */
    double slowest;  /* packets in the second in which fewest came; NAN if it
                        is less than a second that is looked at */
};

/* The rate at arrival `index`, in packets per second; NAN for the first
 * PULSE_SPAN of them. */
double pulse_rate(const struct sample *arrivals, size_t index);

/* The median of the rates at those arrivals that are in [from_s, until_s); NAN
 * if there are none, or without memory. */
double pulse_usual(const struct sample *arrivals,
                   double from_s,
                   double until_s);

/* Look at [from_s, until_s) beside the `usual` rate. */
struct pulse_dip pulse_look(const struct sample *arrivals,
                            double from_s,
                            double until_s,
                            double usual);
