/* exactness.h - the parts of bench/exactness, and its table: a column for each
 * mode, and one for the bare tree.
 *
 * Functions return 0, or a negative errno after a message on stderr. */
#pragma once

#include "bench/mode.h"
#include "bench/options.h"
#include "bench/sample.h"

/* The column of the bare tree. */
#define EXACTNESS_BARE    MODE_COUNT
#define EXACTNESS_COLUMNS (MODE_COUNT + 1)

/* One line of the table. A column without figures stays empty. */
struct exactness_row {
    const char *metric;
    const char *unit;
    struct sample columns[EXACTNESS_COLUMNS];
};

/* Print `rows`, which belong to the case `name`, and free their figures. The
 * last column is the median of the rounds' ratios of exact to none. */
int exactness_print(const struct options *options,
                    const char *name,
                    struct exactness_row *rows,
                    size_t count);

/* Print to stderr what begins now, and for how long the run has lasted. */
void exactness_progress(const char *what, const char *name, enum mode mode);

/* Without failures: round trip, waves a second, and processor time. */
int calm_measure(const struct options *options, const struct shape *shape);

/* Kill a commnode whose back-ends each send `rate` packets a second. */
int death_measure(const struct options *options,
                  const struct shape *shape,
                  uint32_t rate);

/* Cut the connections of commnodes to their parents, at several rates. */
int faults_measure(const struct options *options, const struct shape *shape);
