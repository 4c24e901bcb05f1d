/* options.c - the command line that all benchmarks share. */
#include "config.h"

#include "bench/options.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const struct options_usage *usage)
{
    printf("usage: %s [options]\n\n%s\n\n", usage->name, usage->what);
    printf("  --case LIST    trees, such as flat:16,4x4 (%s)\n", usage->cases);
    printf("  --rounds N     rounds of each case (%u)\n", usage->rounds);
    if (usage->metrics)
        printf("  --metric LIST  of %s (all that suit the case)\n",
               usage->metrics);
    printf("  --csv          rows benchmark,case,metric,ours,limit,unit\n"
           "  --bare-only    only the machine's own limit, without Coppice\n"
           "  --help         this text\n");
}

int options_number(const char *option,
                   const char *text,
                   unsigned low,
                   unsigned high,
                   unsigned *number)
{
    unsigned long value;
    char *end;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < low ||
        value > high) {
        warnx("%s %s: give a number from %u to %u", option, text, low, high);
        return -EINVAL;
    }
    *number = (unsigned)value;
    return 0;
}

static int add_case(struct options *options, const char *word)
{
    const char *why = NULL;
    struct shape *cases;
    int r;

    cases = realloc(options->cases,
                    (options->case_count + 1) * sizeof(*options->cases));
    if (!cases)
        return -ENOMEM;
    options->cases = cases;
    r = shape_read(&cases[options->case_count], word, &why);
    if (r < 0) {
        warnx("--case %s: %s", word, why);
        return r;
    }
    options->case_count++;
    return 0;
}

static int read_cases(struct options *options, const char *list)
{
    char *copy = strdup(list);
    char *rest = copy;
    char *word;
    int r = copy ? 0 : -ENOMEM;

    while (r == 0 && (word = strsep(&rest, ",")))
        r = add_case(options, word);
    free(copy);
    return r;
}

bool options_lists(const char *list, const char *word)
{
    size_t len = strlen(word);

    while (list) {
        if (strncmp(list, word, len) == 0 &&
            (list[len] == ',' || list[len] == '\0'))
            return true;
        list = strchr(list, ',');
        if (list)
            list++;
    }
    return false;
}

static int check_metrics(const struct options_usage *usage, const char *list)
{
    char *copy = strdup(list);
    char *rest = copy;
    char *word;
    int r = copy ? 0 : -ENOMEM;

    while (r == 0 && (word = strsep(&rest, ","))) {
        if (options_lists(usage->metrics, word))
            continue;
        warnx("--metric %s: there are %s", word, usage->metrics);
        r = -EINVAL;
    }
    free(copy);
    return r;
}

enum option_key {
    KEY_CASE = 1,
    KEY_ROUNDS,
    KEY_CSV,
    KEY_BARE_ONLY,
    KEY_METRIC,
    KEY_HELP,
};

static int read_option(struct options *options,
                       const struct options_usage *usage,
                       int key)
{
    switch (key) {
    case KEY_CASE:
        return read_cases(options, optarg);
    case KEY_ROUNDS:
        return options_number("--rounds", optarg, 1, OPTIONS_ROUNDS_MAX,
                              &options->rounds);
    case KEY_CSV:
        options->csv = true;
        return 0;
    case KEY_BARE_ONLY:
        options->bare_only = true;
        return 0;
    case KEY_METRIC:
        if (!usage->metrics) {
            warnx("--metric: %s has only one", usage->name);
            return -EINVAL;
        }
        options->metrics = optarg;
        return check_metrics(usage, optarg);
    case KEY_HELP:
        print_help(usage);
        return 1;
    }
    warnx("%s --help names the options", usage->name);
    return -EINVAL;
}

int options_read(struct options *options,
                 const struct options_usage *usage,
                 int argc,
                 char **argv)
{
    static const struct option known[] = {
        {"case", required_argument, NULL, KEY_CASE},
        {"rounds", required_argument, NULL, KEY_ROUNDS},
        {"csv", no_argument, NULL, KEY_CSV},
        {"bare-only", no_argument, NULL, KEY_BARE_ONLY},
        {"metric", required_argument, NULL, KEY_METRIC},
        {"help", no_argument, NULL, KEY_HELP},
        {NULL, 0, NULL, 0},
    };
    int key;
    int r = 0;

    *options = (struct options){.rounds = usage->rounds};
    optind = 0; /* a test calls this more than once */
    while (r == 0 && (key = getopt_long(argc, argv, "", known, NULL)) != -1)
        r = read_option(options, usage, key);
    if (r == 0 && optind < argc) {
        warnx("%s: not an option; trees go behind --case", argv[optind]);
        r = -EINVAL;
    }
    if (r == 0 && options->case_count == 0)
        r = read_cases(options, usage->cases);
    if (r != 0)
        options_fini(options);
    return r;
}

void options_fini(struct options *options)
{
    free(options->cases);
    options->cases = NULL;
    options->case_count = 0;
}
