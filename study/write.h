/* write.h - the results of a study as a table, CSV or JSON. */
#pragma once

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
    struct study_step begin; /* before any failure */
    struct study_cost cost;
    enum study_format format;
    bool median; /* CSV, JSON: medians over the seeds instead of a row for each
                    seed */
};

/* Write all rows: a table's after the last failure, CSV's and JSON's after each.
 * The rows of a table are medians over the seeds; counts are sums over the
 * failures so far. Returns 0 or -ENOMEM; check ferror() too. */
int study_write(FILE *file, const struct study_report *report);
