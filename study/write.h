/* study_write.h - what a study found, as a table, CSV or JSON. */
#ifndef STUDY_WRITE_H
#define STUDY_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "study/batch.h"

enum study_format {
    STUDY_TABLE,
    STUDY_CSV,
    STUDY_JSON,
};

struct study_report {
    const char *tree; /* as it was named */
    const struct study_batch *batch;
    struct study_step begin; /* nobody has failed */
    struct study_cost cost;
    enum study_format format;
    bool median;    /* CSV, JSON: over the seeds, instead of one row for each */
    uint32_t every; /* rows after each so many failures, and the last; 0: after
                       the last only (table), after each (others) */
};

/* Write all rows. A table's are always medians over the seeds; counts are
 * sums over the failures so far. Returns 0 or -ENOMEM; look at ferror(). */
int study_write(FILE *file, const struct study_report *report);

#endif
