/* main.c - coppice-sim: swarms by seed, or one schedule. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/loader.h"
#include "sim/memory.h"
#include "sim/scale.h"
#include "sim/swarm/shrink.h"
#include "sim/swarm/swarm.h"
#include "sim/tree.h"
#include "wire/limits.h"

#define MAIN_LEVELS 8
#define MAIN_STRESS 20

struct settings {
    uint64_t first;
    uint64_t last;
    struct schedule_wish wish;
    char *tree;
    char *scale;          /* the tree to run once, printing its costs */
    const char *schedule; /* file to read; NULL: drawn by seed */
    const char *write;    /* file to write */
    bool trace;
    bool twice;
    bool shrink;
};

static const char usage[] =
    "Usage: coppice-sim [--seeds A-B] [--tree SHAPE | --nodes N] [--stress N]\n"
    "                   [--schedule FILE] [--write FILE] [--shrink]\n"
    "                   [--trace] [--twice]\n"
    "       coppice-sim --scale SHAPE\n"
    "Run random worlds, one for each seed, and hold them to the rules.\n\n"
    "  --seeds A-B      from seed A to B, or one seed A (default 1-100)\n"
    "  --tree SHAPE     fan-outs such as 4x4x2, or ranks such as 0(1(3,4),2);\n"
    "                   default: each seed draws its own\n"
    "  --nodes N        draw trees of so many nodes, such as 1000\n"
    "  --stress N       in each world, N times as many faults (1 to 20)\n"
    "  --schedule FILE  run what FILE says, not what a seed draws\n"
    "  --write FILE     write the schedule of the (last) seed\n"
    "  --shrink         make what fails as small as it can be, and print it\n"
    "  --scale SHAPE    print what one tree of any size costs: messages and\n"
    "                   bytes of a launch, a failure, a status ...\n"
    "  --trace          print all that happens\n"
    "  --twice          run each seed twice and compare the traces\n";

/* The text of the tree with a shape such as 2x3, of at most `most` nodes;
 * free() it. NULL if it is no such shape. */
static char *shape_text(const char *shape, uint32_t most)
{
    uint32_t fanouts[MAIN_LEVELS];
    size_t count = 0;
    uint64_t nodes = 1;
    uint64_t level = 1;
    struct tree tree;
    char *text;
    char *end;

    for (; count < MAIN_LEVELS; shape = end + 1) {
        unsigned long fanout = strtoul(shape, &end, 10);

        if (end == shape || fanout == 0 || fanout > most)
            return NULL;
        fanouts[count++] = (uint32_t)fanout;
        level *= fanout;
        nodes += level;
        if (nodes > most || (*end != 'x' && *end != '\0'))
            return NULL;
        if (*end == '\0')
            break;
    }
    if (*end)
        return NULL;
    tree_make(&tree, fanouts, count);
    text = tree_text(&tree);
    tree_fini(&tree);
    return text;
}

static char *read_tree(const char *text, uint32_t most)
{
    struct tree tree;
    uint32_t next;

    if (!strchr(text, '('))
        return shape_text(text, most);
    if (tree_read(&tree, text) < 0)
        return NULL;
    next = tree_next_rank(&tree);
    tree_fini(&tree);
    return next <= most ? memory_text(text) : NULL;
}

static int read_seeds(const char *text, struct settings *settings)
{
    char *end;

    errno = 0;
    settings->first = settings->last = strtoull(text, &end, 10);
    if (end == text || *text == '-')
        return -EINVAL;
    if (*end == '-') {
        text = end + 1;
        settings->last = strtoull(text, &end, 10);
        if (end == text)
            return -EINVAL;
    }
    return *end || errno || settings->last < settings->first ? -EINVAL : 0;
}

/* Read one option with a value. Returns 0, or -EINVAL with a sentence. */
static int read_option(int option, struct settings *settings)
{
    char *end;
    unsigned long nodes;

    switch (option) {
    case 's':
        if (read_seeds(optarg, settings) == 0)
            return 0;
        fprintf(stderr, "coppice-sim: --seeds %s: write it as 1-100\n", optarg);
        return -EINVAL;
    case 't':
        free(settings->tree);
        settings->wish.tree = settings->tree = read_tree(optarg, SWARM_NODES);
        if (settings->tree)
            return 0;
        fprintf(stderr,
                "coppice-sim: --tree %s: write fan-outs such as 2x2x2, or "
                "ranks such as 0(1(3,4),2), of at most %d nodes\n",
                optarg, SWARM_NODES);
        return -EINVAL;
    case 'c':
        free(settings->scale);
        settings->scale = read_tree(optarg, LIMIT_NODES);
        if (settings->scale)
            return 0;
        fprintf(stderr,
                "coppice-sim: --scale %s: write fan-outs such as 32x32x97, of "
                "at most %u nodes\n",
                optarg, LIMIT_NODES);
        return -EINVAL;
    case 'n':
        nodes = strtoul(optarg, &end, 10);
        settings->wish.nodes = (uint32_t)nodes;
        if (end != optarg && !*end && nodes >= 3 && nodes <= SWARM_NODES)
            return 0;
        fprintf(stderr, "coppice-sim: --nodes %s: write 3 to %d\n", optarg,
                SWARM_NODES);
        return -EINVAL;
    case 'x':
        nodes = strtoul(optarg, &end, 10);
        settings->wish.stress = (unsigned)nodes;
        if (end != optarg && !*end && nodes >= 1 && nodes <= MAIN_STRESS)
            return 0;
        fprintf(stderr, "coppice-sim: --stress %s: write 1 to %d\n", optarg,
                MAIN_STRESS);
        return -EINVAL;
    case 'f':
        settings->schedule = optarg;
        return 0;
    default:
        settings->write = optarg;
        return 0;
    }
}

static int read_options(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'},
        {"scale", required_argument, NULL, 'c'},
        {"tree", required_argument, NULL, 't'},
        {"nodes", required_argument, NULL, 'n'},
        {"stress", required_argument, NULL, 'x'},
        {"schedule", required_argument, NULL, 'f'},
        {"write", required_argument, NULL, 'w'},
        {"shrink", no_argument, NULL, 'k'},
        {"trace", no_argument, NULL, 'v'},
        {"twice", no_argument, NULL, '2'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        settings->shrink |= option == 'k';
        settings->trace |= option == 'v';
        settings->twice |= option == '2';
        if (option == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (option == '?')
            return -EINVAL;
        if (strchr("sctnxfw", option) && read_option(option, settings) < 0)
            return -EINVAL;
    }
    if (optind < argc) {
        fprintf(stderr, "coppice-sim: %s: too much\n", argv[optind]);
        return -EINVAL;
    }
    return 0;
}

/* Print the failure, and how to reproduce it. */
static void say_failure(const struct schedule *schedule,
                        const struct settings *settings,
                        const struct swarm_result *result,
                        const char *failure)
{
    printf("swarm: seed %" PRIu64, schedule->seed);
    if (strlen(schedule->tree) < 200)
        printf(", tree %s", schedule->tree);
    printf(", at %" PRIu64 " ms: %s\n  rerun: coppice-sim",
           result->tally.virtual_ms, failure);
    if (settings->schedule)
        printf(" --schedule %s", settings->schedule);
    else
        printf(" --seeds %" PRIu64, schedule->seed);
    if (settings->wish.tree)
        printf(" --tree '%s'", settings->wish.tree);
    if (settings->wish.nodes)
        printf(" --nodes %u", settings->wish.nodes);
    if (settings->wish.stress)
        printf(" --stress %u", settings->wish.stress);
    printf(" --trace\n");
    fflush(stdout);
}

static int write_schedule(const struct schedule *schedule, const char *path)
{
    FILE *file = fopen(path, "w");
    int r;

    if (!file) {
        fprintf(stderr, "coppice-sim: %s: %s\n", path, strerror(errno));
        return -EIO;
    }
    schedule_write(schedule, file);
    r = ferror(file) ? -EIO : 0;
    return fclose(file) == 0 ? r : -EIO;
}

/* Run one schedule; on failure --shrink makes it smaller. Returns whether all
 * promises were kept. */
static bool run_one(struct schedule *schedule,
                    const struct settings *settings,
                    struct tally *tally)
{
    struct swarm_result result;
    struct swarm_result again = {0};
    bool trace = settings->trace || settings->twice;
    bool good = swarm_run(schedule, trace, &result) == 0;

    if (settings->trace)
        fputs(result.trace, stdout);
    if (!good)
        say_failure(schedule, settings, &result, result.failure);
    if (settings->twice) {
        swarm_run(schedule, true, &again);
        if (strcmp(result.trace, again.trace) != 0) {
            say_failure(schedule, settings, &result, "two runs differ");
            good = false;
        }
    }
    if (result.failure && settings->shrink) {
        uint32_t worlds = shrink_schedule(schedule, result.failure);

        printf("# the smallest of %u worlds\n# %s\n", worlds, result.failure);
        schedule_write(schedule, stdout);
    }
    result.tally.failed = !good;
    tally_add(tally, &result.tally);
    swarm_result_fini(&result);
    swarm_result_fini(&again);
    return good;
}

static int run_seeds(const struct settings *settings, struct tally *tally)
{
    struct schedule schedule;
    uint64_t count = settings->last - settings->first + 1;

    for (uint64_t i = 0; i < count; i++) {
        schedule_draw(&schedule, settings->first + i, &settings->wish);
        run_one(&schedule, settings, tally);
        if (i + 1 == count && settings->write &&
            write_schedule(&schedule, settings->write) < 0) {
            schedule_fini(&schedule);
            return -EIO;
        }
        schedule_fini(&schedule);
    }
    return 0;
}

static int run_file(const struct settings *settings, struct tally *tally)
{
    FILE *file = fopen(settings->schedule, "r");
    struct schedule schedule = {0};
    size_t line;
    int r;

    if (!file) {
        fprintf(stderr, "coppice-sim: %s: %s\n", settings->schedule,
                strerror(errno));
        return -ENOENT;
    }
    r = schedule_read(&schedule, file, &line);
    fclose(file);
    if (r < 0) {
        fprintf(stderr, "coppice-sim: %s, line %zu: not a schedule's\n",
                settings->schedule, line);
        return r;
    }
    run_one(&schedule, settings, tally);
    if (settings->write)
        r = write_schedule(&schedule, settings->write);
    schedule_fini(&schedule);
    return r;
}

/* Check that the built-in filters are found: without them no stream opens.
 * Returns 0, or -ENOENT with a sentence. */
static int find_filters(void)
{
    char sum[] = "sum";
    struct stream_definition definition = {.id = 1, .up_filter = sum};
    const char *path = getenv("COPPICE_FILTER_PATH");
    struct loader *loader = NULL;
    struct cop_error error;

    if (loader_new(&loader, &definition, NODE_FRONTEND, path ? path : "",
                   &error) < 0) {
        fprintf(stderr,
                "coppice-sim: %s; the path is in COPPICE_FILTER_PATH, such as "
                "run/filters\n",
                error.text);
        return -ENOENT;
    }
    loader_free(loader);
    return 0;
}

/* Run --scale with a tree's text, which is freed. Returns an exit status. */
static int run_scale(char *text)
{
    int r = scale_run(text, stdout);

    free(text);
    if (r == -EINVAL)
        fprintf(stderr, "coppice-sim: --scale: the tree has no commnode\n");
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct settings settings = {.first = 1, .last = 100};
    struct tally tally = {0};
    int r;

    if (read_options(argc, argv, &settings) < 0) {
        fputs(usage, stderr);
        free(settings.tree);
        free(settings.scale);
        return 2;
    }
    if (find_filters() < 0) {
        free(settings.tree);
        free(settings.scale);
        return 2;
    }
    if (settings.scale)
        return run_scale(settings.scale);
    if (settings.schedule)
        r = run_file(&settings, &tally);
    else
        r = run_seeds(&settings, &tally);
    if (r == 0)
        tally_print(&tally, stdout);
    free(settings.tree);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "coppice-sim: cannot write: %s\n", strerror(errno));
        return 2;
    }
    if (r < 0)
        return 2;
    return tally.failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
