/* pulse.h - the arrival of packets: their rate, and how far it dips.
 *
 * The rate at a packet is the mean over the last PULSE_SPAN packets, as in the
 * dissertation's figure 8.3. Times are in seconds, in ascending order. */
#pragma once

#include <stddef.h>

#include "bench/sample.h"

#define PULSE_SPAN 10

/* A rate below this share of the usual rate is a dip. */
#define PULSE_DIP 0.9

/* The dip within one interval. */
struct pulse_dip {
    double lowest;   /* rate; NAN if no packet came */
    double depth;    /* the part of the usual rate that was missing then; 0 if
                        none was */
    double length_s; /* the longest time below PULSE_DIP of the usual rate */
    double gap_s;    /* the longest time without a packet */
    double slowest;  /* packets in the slowest second; NAN if the interval is
                        shorter than a second */
};

/* The rate at arrival `index`, in packets per second; NAN for the first
 * PULSE_SPAN arrivals. */
double pulse_rate(const struct sample *arrivals, size_t index);

/* The median of the rates at the arrivals in [from_s, until_s); NAN if there
 * are none, or without memory. */
double pulse_usual(const struct sample *arrivals,
                   double from_s,
                   double until_s);

/* Compare [from_s, until_s) with the `usual` rate. */
struct pulse_dip pulse_look(const struct sample *arrivals,
                            double from_s,
                            double until_s,
                            double usual);
