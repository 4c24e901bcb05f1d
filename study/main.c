/* main.c - coppice-study: compares algorithms of reconfiguration on a tree. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/batch.h"
#include "study/shape.h"
#include "study/times.h"
#include "study/write.h"
#include "topology/adopter.h"

/* The exit status after any error. */
#define EXIT_BAD 2

#define JOBS_MAX  1024
#define SEEDS_MAX 1000000
#define LAG_MAX   1000000

static const char usage[] =
    "Usage: coppice-study --tree TREE [OPTION]...\n"
    "Simulate failures of internal nodes, one after another, and compare the\n"
    "trees that each algorithm of reconfiguration leads to.\n\n"
    "  --tree TREE         F^H or AxBxC, any shape of coppice-topgen(1), or a\n"
    "                      topology file\n"
    "  --failures N        number of failures (default 128)\n"
    "  --failures-in WHERE random (default), subtree, or level\n"
    "  --algorithm LIST    names, comma-separated, or all (default NHI-WM)\n"
    "  --seeds N|A-B       seeds 1 to N, or A to B (default 100)\n"
    "  --lag K             orphans do not know the last K reports (default 0)\n"
    "  --cost O,L,G        microseconds for the modelled latency of an\n"
    "                      aggregation (default 10,50,100)\n"
    "  --format FORMAT     table (default), csv, or json\n"
    "  --median            csv, json: medians over the seeds\n"
    "  --output FILE       write to FILE instead of standard output\n"
    "  --jobs N            use N threads (default 1)\n"
    "  --choices N         measure the time of N choices of each algorithm\n"
    "                      instead of simulating\n"
    "  --help              print this\n";

struct settings {
    const char *tree;
    const char *output;
    uint32_t failures;
    enum study_where where;
    uint32_t *algorithms;
    uint32_t algorithm_count;
    uint64_t first_seed;
    uint64_t last_seed;
    uint32_t lag;
    struct study_cost cost;
    enum study_format format;
    bool median;
    uint32_t jobs;
    uint32_t choices; /* 0: simulate */
};

/* Print an error message. Returns -EINVAL. */
__attribute__((format(printf, 1, 2))) static int complain(const char *format,
                                                          ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "coppice-study: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return -EINVAL;
}

/* Read a whole number from `low` to `high`. `*end` is set to where it ends;
 * NULL: it must be all of `text`. */
static bool read_number(const char *text,
                        uint64_t low,
                        uint64_t high,
                        const char **end,
                        uint64_t *out)
{
    char *stop;
    unsigned long long value;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &stop, 10);
    if (errno || value < low || value > high || (!end && *stop))
        return false;
    if (end)
        *end = stop;
    *out = value;
    return true;
}

static int take_number(const char *option,
                       const char *text,
                       uint64_t low,
                       uint64_t high,
                       uint32_t *out)
{
    uint64_t value;

    if (!read_number(text, low, high, NULL, &value))
        return complain("--%s %s: write a number from %" PRIu64 " to %" PRIu64,
                        option, text, low, high);
    *out = (uint32_t)value;
    return 0;
}

static int take_seeds(const char *text, struct settings *settings)
{
    const char *end;
    uint64_t first;
    uint64_t last;
    bool good = read_number(text, 0, UINT64_MAX, &end, &first);

    if (good && *end == '\0') {
        last = first;
        first = 1;
    } else {
        good = good && *end == '-' &&
               read_number(end + 1, 0, UINT64_MAX, NULL, &last);
    }
    if (!good || last < first || last - first >= SEEDS_MAX)
        return complain("--seeds %s: write how many, such as 100, or the first "
                        "and the last, such as 1-100; at most %d",
                        text, SEEDS_MAX);
    settings->first_seed = first;
    settings->last_seed = last;
    return 0;
}

static int take_cost(const char *text, struct settings *settings)
{
    double *numbers[] = {&settings->cost.overhead_us,
                         &settings->cost.latency_us, &settings->cost.gap_us};
    const char *at = text;
    char *end;

    for (int i = 0; i < 3; i++) {
        *numbers[i] = strtod(at, &end);
        if (end == at || !isfinite(*numbers[i]) || *numbers[i] < 0 ||
            *end != (i < 2 ? ',' : '\0'))
            return complain("--cost %s: write the microseconds of o, l and g, "
                            "such as 10,50,100",
                            text);
        at = end + 1;
    }
    return 0;
}

static int take_word(const char *option,
                     const char *text,
                     const char *const words[3],
                     int *out)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return complain("--%s %s: write %s, %s or %s", option, text, words[0],
                    words[1], words[2]);
}

/* Read a list of names, or "all". */
static int take_algorithms(const char *text, struct settings *settings)
{
    bool all = strcmp(text, "all") == 0;
    const char *names = all ? adopter_names() : text;
    uint32_t count = 1;
    const char *at;

    for (at = names; *at; at++)
        count += *at == ',';
    free(settings->algorithms);
    settings->algorithms = calloc(count, sizeof *settings->algorithms);
    settings->algorithm_count = 0;
    if (!settings->algorithms)
        return complain("out of memory");
    for (at = names; count > 0; count--) {
        size_t len = strcspn(at, ",");
        char name[16];
        int found;

        snprintf(name, sizeof name, "%.*s", (int)(len < 15 ? len : 15), at);
        found = len < sizeof name ? adopter_find(name) : -ENOENT;
        if (found < 0)
            return complain(
                "--algorithm: \"%.*s\" is unknown: use all, or some "
                "of %s",
                (int)(len < 40 ? len : 40), at, adopter_names());
        settings->algorithms[settings->algorithm_count++] = (uint32_t)found;
        at += len;
        at += strspn(at, all ? ", " : ",") > 0 ? (all ? 2 : 1) : 0;
    }
    return 0;
}

/* Take an option whose argument is a number; returns -ENOENT for another. */
static int take_numbered(int code, const char *text, struct settings *settings)
{
    const struct {
        char code;
        const char *name;
        uint64_t low;
        uint64_t high;
        uint32_t *out;
    } numbered[] = {
        {'f', "failures", 1, UINT32_MAX, &settings->failures},
        {'l', "lag", 0, LAG_MAX, &settings->lag},
        {'j', "jobs", 1, JOBS_MAX, &settings->jobs},
        {'C', "choices", 1, UINT32_MAX, &settings->choices},
    };

    for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++)
        if (code == numbered[i].code)
            return take_number(numbered[i].name, text, numbered[i].low,
                               numbered[i].high, numbered[i].out);
    return -ENOENT;
}

static int take_option(int code, const char *text, struct settings *settings)
{
    static const char *const places[] = {"random", "subtree", "level"};
    static const char *const formats[] = {"table", "csv", "json"};
    int word = 0;
    int r;

    switch (code) {
    case 't':
        settings->tree = text;
        return 0;
    case 'w':
        r = take_word("failures-in", text, places, &word);
        settings->where = (enum study_where)word;
        return r;
    case 'a':
        return take_algorithms(text, settings);
    case 's':
        return take_seeds(text, settings);
    case 'c':
        return take_cost(text, settings);
    case 'F':
        r = take_word("format", text, formats, &word);
        settings->format = (enum study_format)word;
        return r;
    case 'm':
        settings->median = true;
        return 0;
    case 'o':
        settings->output = text;
        return 0;
    case 'h':
        fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    }
    r = take_numbered(code, text, settings);
    return r == -ENOENT ? complain("try --help") : r;
}

static int read_options(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"tree", required_argument, NULL, 't'},
        {"failures", required_argument, NULL, 'f'},
        {"failures-in", required_argument, NULL, 'w'},
        {"algorithm", required_argument, NULL, 'a'},
        {"seeds", required_argument, NULL, 's'},
        {"lag", required_argument, NULL, 'l'},
        {"cost", required_argument, NULL, 'c'},
        {"format", required_argument, NULL, 'F'},
        {"median", no_argument, NULL, 'm'},
        {"output", required_argument, NULL, 'o'},
        {"jobs", required_argument, NULL, 'j'},
        {"choices", required_argument, NULL, 'C'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    int r;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        r = take_option(option, optarg, settings);
        if (r < 0)
            return r;
    }
    if (optind < argc)
        return complain("%s: options begin with --", argv[optind]);
    if (!settings->tree)
        return complain("--tree is missing: write a shape such as 32^3");
    return settings->algorithms ? 0 : take_algorithms("NHI-WM", settings);
}

/* Check the number of failures against the size of the tree. */
static int check_tree(const struct study_tree *tree,
                      const struct settings *settings)
{
    uint32_t most = settings->choices ? settings->choices : settings->failures;

    if (most > tree->count - 1)
        return complain("--%s %u: of the %u internal nodes of %s only %u can "
                        "fail, as the front-end cannot",
                        settings->choices ? "choices" : "failures", most,
                        tree->count, settings->tree, tree->count - 1);
    return 0;
}

static int simulate(FILE *file,
                    const struct study_tree *tree,
                    struct settings *settings)
{
    struct study_batch batch = {
        .tree = tree,
        .options = {.failures = settings->failures,
                    .where = settings->where,
                    .lag = settings->lag},
        .algorithms = settings->algorithms,
        .algorithm_count = settings->algorithm_count,
        .first_seed = settings->first_seed,
        .seed_count =
            (uint32_t)(settings->last_seed - settings->first_seed + 1),
        .jobs = settings->jobs,
        .progress = true,
    };
    struct study_report report = {
        .tree = settings->tree,
        .batch = &batch,
        .format = settings->format,
        .cost = settings->cost,
        .median = settings->median,
    };
    int r = study_begin(tree, &report.begin);

    if (r == 0)
        r = study_batch_run(&batch);
    if (r == 0)
        r = study_write(file, &report);
    study_batch_fini(&batch);
    return r;
}

static int run_study(FILE *file,
                     const struct study_tree *tree,
                     struct settings *settings)
{
    int r = check_tree(tree, settings);

    if (r < 0)
        return r;
    if (settings->choices)
        r = study_time(file, tree, settings->tree, settings->algorithms,
                       settings->algorithm_count, settings->choices,
                       settings->first_seed, settings->format);
    else
        r = simulate(file, tree, settings);
    if (r < 0)
        complain("%s", strerror(-r));
    return r;
}

int main(int argc, char **argv)
{
    struct settings settings = {.failures = 128,
                                .first_seed = 1,
                                .last_seed = 100,
                                .cost = {10, 50, 100},
                                .jobs = 1};
    const char *where = "standard output";
    struct study_tree tree = {0};
    struct cop_error error;
    FILE *file = stdout;
    int r = read_options(argc, argv, &settings);

    if (r < 0)
        goto out;
    r = study_tree_init(&tree, settings.tree, &error);
    if (r < 0) {
        complain("%s", error.text);
        goto out;
    }
    if (settings.output) {
        where = settings.output;
        file = fopen(where, "we");
        if (!file) {
            r = complain("%s: cannot be written: %s", where, strerror(errno));
            goto out;
        }
    }
    r = run_study(file, &tree, &settings);
    if (fflush(file) != 0 || ferror(file))
        r = complain("%s: cannot be written: %s", where, strerror(errno));
    if (settings.output)
        fclose(file);
out:
    study_tree_fini(&tree);
    free(settings.algorithms);
    return r < 0 ? EXIT_BAD : EXIT_SUCCESS;
}
