/* main.c - coppice-sim: swarms by seed. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/swarm.h"
#include "sim/tree.h"

/* The most nodes that a given shape may have: ranks are told apart by what
 * back-ends send. */
#define MAIN_NODES 60

struct settings {
    uint64_t first;
    uint64_t last;
    char *tree;
    bool trace;
    bool twice;
};

static const char usage[] =
    "Usage: coppice-sim [--seeds A-B] [--tree SHAPE] [--trace] [--twice]\n"
    "Run random worlds, one for each seed, and hold them to the rules.\n\n"
    "  --seeds A-B   from seed A to B, or one seed A (default 1-100)\n"
    "  --tree SHAPE  fan-outs such as 4x4x2, or ranks such as 0(1(3,4),2);\n"
    "                default: each seed draws its own\n"
    "  --trace       print all that happens\n"
    "  --twice       run each seed twice and compare the traces\n";

/* A shape such as 2x3 as a tree's text, to be freed; NULL if it is none. */
static char *shape_text(const char *shape)
{
    uint32_t fanouts[8];
    size_t count = 0;
    uint64_t nodes = 1;
    uint64_t level = 1;
    struct tree tree;
    char *text;
    char *end;

    for (; count < 8; shape = end + 1) {
        unsigned long fanout = strtoul(shape, &end, 10);

        if (end == shape || fanout == 0 || fanout > MAIN_NODES)
            return NULL;
        fanouts[count++] = (uint32_t)fanout;
        level *= fanout;
        nodes += level;
        if (nodes > MAIN_NODES || (*end != 'x' && *end != '\0'))
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

static char *read_tree(const char *text)
{
    struct tree tree;
    uint32_t next;

    if (!strchr(text, '('))
        return shape_text(text);
    if (tree_read(&tree, text) < 0)
        return NULL;
    next = tree_next_rank(&tree);
    tree_fini(&tree);
    return next <= MAIN_NODES ? memory_text(text) : NULL;
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

static int read_options(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'},
        {"tree", required_argument, NULL, 't'},
        {"trace", no_argument, NULL, 'v'},
        {"twice", no_argument, NULL, '2'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's' && read_seeds(optarg, settings) < 0) {
            fprintf(stderr, "coppice-sim: --seeds %s: write it as 1-100\n",
                    optarg);
            return -EINVAL;
        }
        if (option == 't') {
            free(settings->tree);
            settings->tree = read_tree(optarg);
            if (!settings->tree) {
                fprintf(stderr,
                        "coppice-sim: --tree %s: write fan-outs such as "
                        "2x2x2, or ranks such as 0(1(3,4),2), of at most %d "
                        "nodes\n",
                        optarg, MAIN_NODES);
                return -EINVAL;
            }
        }
        settings->trace |= option == 'v';
        settings->twice |= option == '2';
        if (option == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (option == '?')
            return -EINVAL;
    }
    if (optind < argc) {
        fprintf(stderr, "coppice-sim: %s: too much\n", argv[optind]);
        return -EINVAL;
    }
    return 0;
}

static void say_failure(uint64_t seed,
                        const struct settings *settings,
                        const struct swarm_result *result,
                        const char *failure)
{
    printf("swarm: seed %" PRIu64 ", tree %s, at %" PRIu64
           " ms: %s\n  rerun: coppice-sim --seeds %" PRIu64 "%s%s%s --trace\n",
           seed, result->tree, result->virtual_ms, failure, seed,
           settings->tree ? " --tree '" : "",
           settings->tree ? settings->tree : "", settings->tree ? "'" : "");
}

/* Run one seed. Returns whether its promises were kept. */
static bool run_seed(uint64_t seed, const struct settings *settings)
{
    struct swarm_options options = {
        .tree = settings->tree,
        .trace = settings->trace || settings->twice,
    };
    struct swarm_result result;
    struct swarm_result again = {0};
    bool good = swarm_run(seed, &options, &result) == 0;

    if (settings->trace)
        fputs(result.trace, stdout);
    if (!good)
        say_failure(seed, settings, &result, result.failure);
    if (settings->twice) {
        swarm_run(seed, &options, &again);
        if (strcmp(result.trace, again.trace) != 0) {
            say_failure(seed, settings, &result, "two runs differ");
            good = false;
        }
    }
    swarm_result_fini(&result);
    swarm_result_fini(&again);
    return good;
}

int main(int argc, char **argv)
{
    struct settings settings = {.first = 1, .last = 100};
    uint64_t failed = 0;
    uint64_t count;

    if (read_options(argc, argv, &settings) < 0) {
        fputs(usage, stderr);
        free(settings.tree);
        return 2;
    }
    count = settings.last - settings.first + 1;
    for (uint64_t i = 0; i < count; i++)
        failed += !run_seed(settings.first + i, &settings);
    printf("swarm: %" PRIu64 " seeds, %" PRIu64 " failed\n", count, failed);
    free(settings.tree);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
