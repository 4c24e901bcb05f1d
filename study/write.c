/* write.c - the results of a study as a table, CSV or JSON. */
#include "study/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "topology/adopter.h"

enum column {
    COLUMN_FAN_OUT,
    COLUMN_FAN_OUT_PERCENT,
    COLUMN_DEVIATION,
    COLUMN_HEIGHT,
    COLUMN_ORPHANS,
    COLUMN_LATENCY,
    COLUMN_LATENCY_PERCENT,
    COLUMN_COLLISIONS,
    COLUMN_REFUSALS,
    COLUMN_BOUND,
    COLUMN_MEAN,
    COLUMN_COUNT,
};

struct heading {
    const char *name;  /* CSV, JSON */
    const char *title; /* table */
    int width;
    int decimals;
};

static const struct heading headings[COLUMN_COUNT] = {
    [COLUMN_FAN_OUT] = {"max_fan_out", "fan-out", 9, 1},
    [COLUMN_FAN_OUT_PERCENT] = {"max_fan_out_percent", "%", 7, 1},
    [COLUMN_DEVIATION] = {"deviation", "dev.", 7, 2},
    [COLUMN_HEIGHT] = {"height", "height", 7, 1},
    [COLUMN_ORPHANS] = {"orphans", "orphans", 9, 1},
    [COLUMN_LATENCY] = {"latency_us", "latency", 11, 1},
    [COLUMN_LATENCY_PERCENT] = {"latency_percent", "%", 7, 1},
    [COLUMN_COLLISIONS] = {"collisions", "collis.", 9, 1},
    [COLUMN_REFUSALS] = {"refusals", "refused", 9, 1},
    [COLUMN_BOUND] = {"bound", "bound", 7, 1},
    [COLUMN_MEAN] = {"mean", "mean", 6, 1},
};

/* The state of the writing. */
struct rows {
    FILE *file;
    const struct study_report *report;
    uint64_t *sums; /* by seed: orphans, collisions, refusals so far */
    double *values; /* by column, then by seed */
    double *sorted; /* by seed */
    bool begun;
};

static int compare_doubles(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

static double median_of(struct rows *rows, enum column column)
{
    uint32_t count = rows->report->batch->seed_count;
    const double *values = rows->values + (size_t)column * count;

    for (uint32_t i = 0; i < count; i++)
        rows->sorted[i] = values[i];
    qsort(rows->sorted, count, sizeof *rows->sorted, compare_doubles);
    return (rows->sorted[(count - 1) / 2] + rows->sorted[count / 2]) / 2;
}

static double percent(double value, double from)
{
    return from > 0 ? 100 * (value - from) / from : 0;
}

/* Set the columns of one step of one seed in rows->values. */
static void set_values(struct rows *rows,
                       const struct study_step *step,
                       uint32_t seed)
{
    const struct study_report *report = rows->report;
    const struct study_step *begin = &report->begin;
    uint32_t count = report->batch->seed_count;
    uint64_t *sums = rows->sums + (size_t)3 * seed;
    double latency =
        study_latency_us(&report->cost, step->height, step->fan_out);
    double at_begin =
        study_latency_us(&report->cost, begin->height, begin->fan_out);
    const double values[COLUMN_COUNT] = {
        [COLUMN_FAN_OUT] = step->fan_out,
        [COLUMN_FAN_OUT_PERCENT] = percent(step->fan_out, begin->fan_out),
        [COLUMN_DEVIATION] = step->deviation,
        [COLUMN_HEIGHT] = step->height,
        [COLUMN_ORPHANS] = (double)(sums[0] += step->orphans),
        [COLUMN_LATENCY] = latency,
        [COLUMN_LATENCY_PERCENT] = percent(latency, at_begin),
        [COLUMN_COLLISIONS] = (double)(sums[1] += step->collisions),
        [COLUMN_REFUSALS] = (double)(sums[2] += step->refusals),
        [COLUMN_BOUND] = step->bound,
        [COLUMN_MEAN] = step->mean,
    };

    for (uint32_t column = 0; column < COLUMN_COUNT; column++)
        rows->values[(size_t)column * count + seed] = values[column];
}

/* Write one row. `seed` is the index of the seed, or -1 for medians. */
static void write_row(struct rows *rows,
                      const char *algorithm,
                      uint32_t failure,
                      int64_t seed)
{
    const struct study_report *report = rows->report;
    uint32_t count = report->batch->seed_count;
    bool json = report->format == STUDY_JSON;

    if (json)
        fprintf(rows->file, "%s{\"algorithm\": \"%s\", \"failure\": %u",
                rows->begun ? ",\n  " : "\n  ", algorithm, failure);
    else if (report->format == STUDY_CSV)
        fprintf(rows->file, "%s,%u", algorithm, failure);
    else
        fprintf(rows->file, "%-8s %8u", algorithm, failure);
    if (seed >= 0)
        fprintf(rows->file, json ? ", \"seed\": %" PRIu64 : ",%" PRIu64,
                report->batch->first_seed + (uint64_t)seed);
    for (uint32_t column = 0; column < COLUMN_COUNT; column++) {
        double value =
            seed < 0 ? median_of(rows, (enum column)column)
                     : rows->values[(size_t)column * count + (size_t)seed];

        if (json)
            fprintf(rows->file, ", \"%s\": %.10g", headings[column].name,
                    value);
        else if (report->format == STUDY_CSV)
            fprintf(rows->file, ",%.10g", value);
        else
            fprintf(rows->file, "%*.*f", headings[column].width,
                    headings[column].decimals, value);
    }
    fprintf(rows->file, json ? "}" : "\n");
    rows->begun = true;
}

static void write_algorithm(struct rows *rows, uint32_t algorithm)
{
    const struct study_batch *batch = rows->report->batch;
    bool medians = rows->report->median || rows->report->format == STUDY_TABLE;
    const char *name = adopter_name(batch->algorithms[algorithm]);

    for (uint32_t seed = 0; seed < 3 * batch->seed_count; seed++)
        rows->sums[seed] = 0;
    for (uint32_t failure = 0; failure < batch->options.failures; failure++) {
        for (uint32_t seed = 0; seed < batch->seed_count; seed++)
            set_values(rows, study_batch_step(batch, algorithm, seed, failure),
                       seed);
        if (rows->report->format == STUDY_TABLE &&
            failure + 1 < batch->options.failures)
            continue;
        if (medians)
            write_row(rows, name, failure + 1, -1);
        for (uint32_t seed = 0; !medians && seed < batch->seed_count; seed++)
            write_row(rows, name, failure + 1, seed);
    }
}

static void write_head(FILE *file, const struct study_report *report)
{
    if (report->format == STUDY_JSON) {
        fprintf(file, "[");
        return;
    }
    if (report->format == STUDY_CSV) {
        fprintf(file, "algorithm,failure%s", report->median ? "" : ",seed");
        for (uint32_t column = 0; column < COLUMN_COUNT; column++)
            fprintf(file, ",%s", headings[column].name);
        fprintf(file, "\n");
        return;
    }
    fprintf(file,
            "%s: %u internal nodes, %" PRIu64 " back-ends; at first fan-out "
            "%u, height %u\nmedians of %u seeds\n\n",
            report->tree, report->batch->tree->count,
            report->batch->tree->backend_count, report->begin.fan_out,
            report->begin.height, report->batch->seed_count);
    fprintf(file, "%-8s %8s", "", "failures");
    for (uint32_t column = 0; column < COLUMN_COUNT; column++)
        fprintf(file, "%*s", headings[column].width, headings[column].title);
    fprintf(file, "\n");
}

int study_write(FILE *file, const struct study_report *report)
{
    uint32_t seeds = report->batch->seed_count;
    struct rows rows = {.file = file, .report = report};
    int r = 0;

    rows.sums = calloc((size_t)3 * seeds, sizeof *rows.sums);
    rows.values = calloc((size_t)COLUMN_COUNT * seeds, sizeof *rows.values);
    rows.sorted = calloc(seeds, sizeof *rows.sorted);
    if (!rows.sums || !rows.values || !rows.sorted) {
        r = -ENOMEM;
        goto out;
    }
    write_head(file, report);
    for (uint32_t i = 0; i < report->batch->algorithm_count; i++)
        write_algorithm(&rows, i);
    if (report->format == STUDY_JSON)
        fprintf(file, "\n]\n");
out:
    free(rows.sums);
    free(rows.values);
    free(rows.sorted);
    return r;
}
