/* duel.h - the sides of one comparison, turn by turn, and its table.
 *
 * A round takes every side in turn: A B, A B, A B. What disturbs the machine
 * for a while disturbs both, so it is the ratio of a round's two figures that
 * counts, not the figures. */
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
    bool headed; /* the table has its heading */
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
 * better (the median of the rounds' ratios), and from where to where each
 * went. Of another quantile, the ratio is that of the two figures. `samples`
 * has one for each side; an empty one has no figure. Returns 0 or -ENOMEM. */
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

/* Write `value` with the four digits that matter; `none` if it is NAN. */
void duel_figure(char text[static 24], double value, const char *none);

/* Have all written that was printed: what cannot be written is a failure too.
 * Returns 0, or -1 with a sentence. */
int duel_written(void);

/* Seconds since some moment; never goes back. */
double duel_now_s(void);
