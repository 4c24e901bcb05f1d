/* plot.h - a curve over time as an SVG picture. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "bench/sample.h"

/* What is drawn, all borrowed: a rate at each arrival, and in a thicker line
 * how many arrivals each second has, the first left out. */
struct plot {
    const char *title;
    const char *unit;           /* of the values */
    const struct sample *at_s;  /* of the arrivals, ascending */
    const struct sample *value; /* as many; no NAN */
    const struct sample *marks; /* vertical lines, at these seconds */
    double until_s;             /* the axis goes from 0 to there */
};

/* Write the picture. Where more values fall on one column of it than two, the
 * least and the greatest of them are drawn, so that no dip is hidden. Returns 0
 * or a negative errno. */
int plot_write(FILE *file, const struct plot *plot);

#endif
