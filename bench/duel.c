/* duel.c - the sides of one comparison, in turn, and its table. */
#include "config.h"

#include "bench/duel.h"

#include <err.h>
#include <linux/close_range.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/machine.h"

double duel_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Choose the sides. */
static void duel_init(struct duel *duel,
                      const struct options_usage *usage,
                      const struct options *options)
{
    *duel = (struct duel){.usage = usage, .options = options};
    if (!options->bare_only)
        duel->side[duel->count++] = &ours_side;
    duel->side[duel->count++] = &bare_side;
}

/* End those trees that there are. */
static void duel_end(struct duel *duel)
{
    for (size_t i = 0; i < duel->count; i++) {
        if (duel->tree[i])
            duel->side[i]->end(duel->tree[i]);
        duel->tree[i] = NULL;
    }
}

int duel_start(struct duel *duel, const struct shape *shape)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < duel->count; i++)
        r = duel->side[i]->start(&duel->tree[i], shape);
    return r;
}

static void print_heading(struct duel *duel)
{
    if (duel->headed)
        return;
    duel->headed = true;
    if (!duel->options->csv)
        machine_print();
    if (duel->options->csv)
        puts(duel->usage->columns ? duel->usage->columns
                                  : "benchmark,case,metric,ours,limit,unit");
    else
        printf("%s, %u rounds; medians; ratio: how many times bare is better\n"
               "%-8s %-20s %9s %9s %-7s %6s  %-13s %-17s %s\n",
               duel->usage->name, duel->options->rounds, "case", "metric",
               "ours", "bare", "unit", "ratio", "  from-to", "ours from-to",
               "bare from-to");
}

void duel_figure(char text[static 24], double value, const char *none)
{
    int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;

    if (isnan(value))
        snprintf(text, 24, "%s", none);
    else
        snprintf(text, 24, "%.*f", decimals, value);
}

static void write_range(char text[static 48], const struct sample *sample)
{
    char low[24];
    char high[24];

    if (sample->count == 0)
        return;
    duel_figure(low, sample_quantile(sample, 0), "");
    duel_figure(high, sample_quantile(sample, 1), "");
    snprintf(text, 48, "%s-%s", low, high);
}

/* The value that represents a sample. */
static double figure_of(const struct duel_metric *metric,
                        const struct sample *sample)
{
    return sample_quantile(sample,
                           metric->quantile > 0 ? metric->quantile : 0.5);
}

static void print_csv(const struct duel *duel,
                      const struct shape *shape,
                      const struct duel_metric *metric,
                      const struct sample *ours,
                      const struct sample *bare)
{
    char text[24] = "";

    if (ours)
        duel_figure(text, figure_of(metric, ours), "");
    printf("%s,%s,%s,%s,", duel->usage->name, shape->text, metric->name, text);
    duel_figure(text, figure_of(metric, bare), "");
    printf("%s,%s\n", text, metric->unit);
}

/* Write how many times the limit is better, and the range of the ratios. */
static int write_ratio(char text[static 24],
                       char range[static 48],
                       const struct duel_metric *metric,
                       const struct sample *ours,
                       const struct sample *bare)
{
    const struct sample *above = metric->more_is_better ? bare : ours;
    const struct sample *under = metric->more_is_better ? ours : bare;
    struct sample ratio = {.values = NULL};
    int r;

    if (ours->count == 0 || bare->count == 0)
        return 0;
    if (metric->quantile > 0) {
        snprintf(text, 24, "%.2f",
                 figure_of(metric, above) / figure_of(metric, under));
        return 0;
    }
    r = sample_ratio(&ratio, above, under);
    if (r == 0) {
        snprintf(text, 24, "%.2f", sample_quantile(&ratio, 0.5));
        snprintf(range, 48, "%.2f-%.2f", sample_quantile(&ratio, 0),
                 sample_quantile(&ratio, 1));
    }
    sample_fini(&ratio);
    return r;
}

static int print_line(const struct shape *shape,
                      const struct duel_metric *metric,
                      const struct sample *ours,
                      const struct sample *bare)
{
    char figure[3][24] = {"-", "-", "-"};
    char range[3][48] = {"-", "-", "-"};
    int r = 0;

    duel_figure(figure[1], figure_of(metric, bare), "-");
    write_range(range[1], bare);
    if (ours) {
        duel_figure(figure[0], figure_of(metric, ours), "-");
        write_range(range[0], ours);
        r = write_ratio(figure[2], range[2], metric, ours, bare);
    }
    printf("%-8s %-20s %9s %9s %-7s %6s  %-13s %-17s %s\n", shape->text,
           metric->name, figure[0], figure[1], metric->unit, figure[2],
           range[2], range[0], range[1]);
    return r;
}

int duel_print(struct duel *duel,
               const struct shape *shape,
               const struct duel_metric *metric,
               const struct sample *samples)
{
    const struct sample *bare = &samples[duel->count - 1];
    const struct sample *ours = duel->count > 1 ? &samples[0] : NULL;
    int r = 0;

    print_heading(duel);
    if (duel->options->csv)
        print_csv(duel, shape, metric, ours, bare);
    else
        r = print_line(shape, metric, ours, bare);
    fflush(stdout);
    return r;
}

int duel_written(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    warn("cannot write");
    return -1;
}

int duel_main(int argc,
              char **argv,
              const struct options_usage *usage,
              int (*run)(struct duel *duel, const struct shape *shape))
{
    struct options options;
    struct duel duel;
    int failed = 0;
    int r = options_read(&options, usage, argc, argv);

    if (r != 0)
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    duel_init(&duel, usage, &options);
    /* What we were given open is no node's: memory counts descriptors. */
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (!usage->own_tables || options.csv)
        print_heading(&duel); /* early, in case the run is cut short */
    else
        machine_print();
    fflush(stdout);
    for (size_t i = 0; i < options.case_count; i++) {
        r = run(&duel, &options.cases[i]);
        duel_end(&duel);
        if (r == 0)
            continue;
        warnx("%s %s: %s", usage->name, options.cases[i].text, strerror(-r));
        failed++;
    }
    options_fini(&options);
    failed += duel_written() < 0;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
