/* times.c - times measured on this machine. */
#include "study/times.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sim/random.h"
#include "topology/adopter.h"
#include "topology/table.h"

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

/* The distribution of many times. */
struct times {
    double median_us;
    double low_us;
    double high_us;
};

static struct times summarise(double *times, uint32_t count)
{
    qsort(times, count, sizeof *times, compare_doubles);
    return (struct times){
        (times[(count - 1) / 2] + times[count / 2]) / 2,
        times[count / 10],
        times[count - 1 - count / 10],
    };
}

/* One pass over the table, which reads every node. */
static uint64_t read_all_nodes(const struct table *table)
{
    uint32_t count = table_count(table);
    struct table_entry entry;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        table_at(table, i, &entry);
        sum += entry.failed ? 0 : entry.fan_out;
    }
    return sum;
}

static int choose_adopter(const struct table *table,
                          uint32_t algorithm,
                          const struct adopter_orphan *orphan,
                          uint32_t height_limit)
{
    struct adopter_survey *survey = NULL;
    uint32_t rank;
    int r;

    r = adopter_survey_new(&survey, table, algorithm, orphan, height_limit);
    if (r == 0)
        r = adopter_survey_pick(survey, orphan, 0, &rank);
    adopter_survey_free(survey);
    return r;
}

/* An orphan of a random live node, not the front-end. */
static struct adopter_orphan draw_orphan(const struct table *table,
                                         struct random *random)
{
    struct table_entry entry;

    do
        table_at(table,
                 (uint32_t)random_between(random, 1, table_count(table) - 1),
                 &entry);
    while (entry.failed);
    return (struct adopter_orphan){
        .rank = TABLE_RANKS_MAX, /* a back-end: no rank of the table */
        .ordinal = (uint32_t)random_between(random, 0, entry.fan_out),
        .lost = entry.rank,
        .seed = random_next(random),
    };
}

/* Time one algorithm; `passes` are timed in between. */
static int time_algorithm(const struct study_tree *tree,
                          uint32_t algorithm,
                          uint32_t choices,
                          uint64_t seed,
                          double *times,
                          double *passes)
{
    struct table *table = NULL;
    struct random random;
    volatile uint64_t sink = 0;
    uint32_t height;
    int r = study_tree_table(tree, &table);

    if (r < 0)
        return r;
    height = table_height(table);
    random_seed(&random, seed);
    for (uint32_t i = 0; r == 0 && i < choices; i++) {
        struct adopter_orphan orphan = draw_orphan(table, &random);
        double begin_us;

        table_record(table, orphan.lost, 1, TABLE_FAILED);
        begin_us = now_us();
        sink += read_all_nodes(table);
        passes[i] = now_us() - begin_us;
        begin_us = now_us();
        r = choose_adopter(table, algorithm, &orphan, height);
        times[i] = now_us() - begin_us;
    }
    table_free(table);
    (void)sink; /* keeps the compiler from dropping the passes */
    return r;
}

static void write_times(FILE *file,
                        enum study_format format,
                        const char *name,
                        const struct times *chosen,
                        const struct times *passed,
                        bool first)
{
    double ratio = chosen->median_us / passed->median_us;

    if (format == STUDY_JSON)
        fprintf(file,
                "%s{\"algorithm\": \"%s\", \"median_us\": %.2f, "
                "\"low_us\": %.2f, \"high_us\": %.2f, \"pass_us\": %.2f, "
                "\"passes\": %.2f}",
                first ? "\n  " : ",\n  ", name, chosen->median_us,
                chosen->low_us, chosen->high_us, passed->median_us, ratio);
    else
        fprintf(file,
                format == STUDY_CSV
                    ? "%s,%.2f,%.2f,%.2f,%.2f,%.2f\n"
                    : "%-8s %12.2f %12.2f %12.2f %12.2f %8.2f\n",
                name, chosen->median_us, chosen->low_us, chosen->high_us,
                passed->median_us, ratio);
}

static void write_head(FILE *file,
                       enum study_format format,
                       const char *name,
                       const struct table *table)
{
    if (format == STUDY_JSON)
        fprintf(file, "[");
    else if (format == STUDY_CSV)
        fprintf(file, "algorithm,median_us,low_us,high_us,pass_us,passes\n");
    else
        fprintf(file,
                "%s: %u internal nodes, table %zu bytes (%.1f a node)\n\n"
                "%-8s %12s %12s %12s %12s %8s\n",
                name, table_count(table), table_bytes(table),
                (double)table_bytes(table) / table_count(table), "",
                "median us", "10 % us", "90 % us", "pass us", "passes");
}

int study_time(FILE *file,
               const struct study_tree *tree,
               const char *name,
               const uint32_t *algorithms,
               uint32_t algorithm_count,
               uint32_t choices,
               uint64_t seed,
               enum study_format format)
{
    double *times = calloc(choices, sizeof *times);
    double *passes = calloc(choices, sizeof *passes);
    struct table *table = NULL;
    int r = -ENOMEM;

    if (times && passes)
        r = study_tree_table(tree, &table);
    if (r == 0)
        write_head(file, format, name, table);
    for (uint32_t i = 0; r == 0 && i < algorithm_count; i++) {
        r = time_algorithm(tree, algorithms[i], choices, seed, times, passes);
        if (r == 0) {
            struct times chosen = summarise(times, choices);
            struct times passed = summarise(passes, choices);

            write_times(file, format, adopter_name(algorithms[i]), &chosen,
                        &passed, i == 0);
        }
    }
    if (r == 0 && format == STUDY_JSON)
        fprintf(file, "\n]\n");
    table_free(table);
    free(times);
    free(passes);
    return r;
}
