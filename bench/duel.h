/* duel.h - the sides of one comparison, in turn, and its table.
 *
 * A round measures every side in turn: A B, A B, A B. A disturbance of the
 * machine affects both, so the ratio of a round's two results counts, not the
 * results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bench/options.h"
#include "bench/sample.h"
#include "bench/side.h"

#define DUEL_SIDES_MAX 2

struct duel {
    const struct options_usage *usage; /* of the benchmark */
    const struct options *options;
    const struct side *side[DUEL_SIDES_MAX]; /* the last one is the limit */
    void *tree[DUEL_SIDES_MAX];              /* NULL: not started */
    size_t count;
    bool headed; /* the heading of the table is printed */
};

/* One line of the table. */
struct duel_metric {
    const char *name; /* such as "median" */
    const char *unit; /* such as "ms" */
    bool more_is_better;
    double quantile; /* of all figures; 0: the median */
};

/* Start every side's tree; duel_main() ends those that there are. Returns 0 or a
 * negative errno, said. */
int duel_start(struct duel *duel, const struct shape *shape);

/* Print one line: the medians over the rounds, how many times the limit is
 * better (the median of the rounds' ratios), and the range of each. For another
 * quantile, the ratio is that of the two results. `samples` has one sample for
 * each side; an empty one has no result. Returns 0 or -ENOMEM. */
int duel_print(struct duel *duel,
               const struct shape *shape,
               const struct duel_metric *metric,
               const struct sample *samples);

/* Read the command line, then run each case; one that fails does not stop the
 * others. Returns main's exit status. */
int duel_main(int argc,
              char **argv,
              const struct options_usage *usage,
              int (*run)(struct duel *duel, const struct shape *shape));

/* Write `value` with four significant digits; `none` if it is NAN. */
void duel_figure(char text[static 24], double value, const char *none);

/* Flush the output: a write error is a failure too. Returns 0, or -1 with a
 * sentence. */
int duel_written(void);

/* Seconds of a monotonic clock. */
double duel_now_s(void);
