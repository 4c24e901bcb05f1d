/* exactness.c - what it costs a stream to survive failures, in each mode: none,
 * recoverable, cumulative, exact; and beside it the bare tree. */
#include "bench/exactness.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "bench/duel.h"
#include "bench/rescue.h"
#include "bench/traffic.h"

static double began_s;
static bool headed;

void exactness_progress(const char *what, const char *name, enum mode mode)
{
    fprintf(stderr, "exactness: %3.0f s: %s %s, %s\n", duel_now_s() - began_s,
            what, name, mode == MODE_COUNT ? "bare" : mode_name(mode));
}

static void print_heading(const struct options *options)
{
    if (headed || options->csv)
        return;
    headed = true;
    printf("exactness, %u rounds; medians; ratio: exact by none\n%-10s %-16s",
           options->rounds, "case", "metric");
    for (int i = 0; i < MODE_COUNT; i++)
        printf(" %11s", mode_name((enum mode)i));
    printf(" %9s %-8s %6s\n", "bare", "unit", "ratio");
}

static void print_csv(const char *name, const struct exactness_row *row)
{
    for (int i = 0; i < EXACTNESS_COLUMNS; i++) {
        const struct sample *sample = &row->columns[i];

        if (sample->count > 0)
            printf("exactness,%s,%s,%s,%.6g,%.6g,%.6g,%s\n", name, row->metric,
                   i == MODE_COUNT ? "bare" : mode_name((enum mode)i),
                   sample_quantile(sample, 0.5), sample_quantile(sample, 0),
                   sample_quantile(sample, 1), row->unit);
    }
}

static int print_line(const char *name, const struct exactness_row *row)
{
    struct sample ratio = {.values = NULL};
    char text[24];
    int r = 0;

    printf("%-10s %-16s", name, row->metric);
    for (int i = 0; i < EXACTNESS_COLUMNS; i++) {
        duel_figure(text, sample_quantile(&row->columns[i], 0.5), "-");
        printf(" %*s", i == MODE_COUNT ? 9 : 11, text);
    }
    printf(" %-8s", row->unit);
    if (row->columns[MODE_EXACT].count > 0 &&
        row->columns[MODE_EXACT].count == row->columns[MODE_NONE].count)
        r = sample_ratio(&ratio, &row->columns[MODE_EXACT],
                         &row->columns[MODE_NONE]);
    if (ratio.count > 0 && isfinite(sample_quantile(&ratio, 0.5)))
        printf(" %6.3f", sample_quantile(&ratio, 0.5));
    printf("\n");
    sample_fini(&ratio);
    return r;
}

int exactness_print(const struct options *options,
                    const char *name,
                    struct exactness_row *rows,
                    size_t count)
{
    int r = 0;

    print_heading(options);
    for (size_t i = 0; i < count; i++) {
        if (options->csv)
            print_csv(name, &rows[i]);
        else if (r == 0)
            r = print_line(name, &rows[i]);
        for (int k = 0; k < EXACTNESS_COLUMNS; k++)
            sample_fini(&rows[i].columns[k]);
    }
    fflush(stdout);
    return r;
}

static bool is_wanted(const struct options *options, const char *metric)
{
    return !options->metrics || options_lists(options->metrics, metric);
}

/* A number of orphans, or a tree. */
static int measure_case(struct duel *duel, const struct shape *shape)
{
    const struct options *options = duel->options;
    static const uint32_t rates[] = {10, 100, 1000};
    char text[12];
    int r = 0;

    if (shape->depth == 1 && shape->fanout[0] > RESCUE_ORPHANS_MAX) {
        warnx("--case %s: give at most %d orphans", shape->text,
              RESCUE_ORPHANS_MAX);
        return -EINVAL;
    }
    if (shape->depth > 1 && is_wanted(options, "calm"))
        r = calm_measure(options, shape);
    if (r == 0 && shape->depth > 1)
        r = faults_measure(options, shape);
    for (size_t i = 0; r == 0 && shape->depth == 1 && i < 3; i++) {
        snprintf(text, sizeof(text), "%u", rates[i]);
        if (is_wanted(options, text))
            r = death_measure(options, shape, rates[i]);
    }
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "exactness",
        .what = "What it costs a stream to survive failures: without "
                "failures (calm), with so many\nfaults a minute (faults), and "
                "when a commnode with so many back-ends dies that\nsend 10, "
                "100 or 1000 packets a second. A case is a tree, or a number "
                "of orphans.",
        .cases = "4x4,16,128",
        .metrics = "calm,faults,300/min,10,100,1000",
        .rounds = 1,
        .own_tables = true,
        .columns = "benchmark,case,metric,mode,value,least,greatest,unit",
    };

    began_s = duel_now_s();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        err(EXIT_FAILURE, "prctl");
    traffic_isolate();
    return duel_main(argc, argv, &usage, measure_case);
}
