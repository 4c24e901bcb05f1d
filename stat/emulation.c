/* emulation.c - see emulation.h. */
#include "stat/emulation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coppice/coppice.h>

#include "stat/request.h"
#include "stat/tree/tree_pack.h"

#define SHUTDOWN_MS 10000

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Write the shape of an even tree of two levels with so many leaves. */
static void even_shape(char *text, size_t size, uint32_t daemons)
{
    uint32_t fan_out = 1, i;

    for (i = 2; (uint64_t)i * i <= daemons; i++)
        if (daemons % i == 0)
            fan_out = i;
    if (fan_out == 1)
        snprintf(text, size, "flat:%u", daemons);
    else
        snprintf(text, size, "%ux%u", fan_out, daemons / fan_out);
}

/* Have the daemons make up their traces, and wait until all have. */
static int prepare(struct cop_stream *stream,
                   const struct cop_communicator *daemons,
                   const struct emulate *emulate,
                   int timeout_ms,
                   struct cop_error *error)
{
    uint32_t *ranks = calloc(emulate->daemons, sizeof(*ranks)), i;
    struct cop_packet *packet = NULL;
    int r = -ENOMEM;

    if (!ranks)
        return r;
    for (i = 0; i < emulate->daemons; i++)
        ranks[i] = cop_communicator_rank(daemons, i);
    r = emulate_pack(&packet, emulate, ranks);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
    if (r == 0)
        r = cop_stream_sync(stream, timeout_ms, error);
    cop_packet_free(packet);
    free(ranks);
    return r < 0 ? r : 0;
}

/* Join what comes until all tasks are there: one packet, or several if a
 * commnode dies meanwhile. */
static int take(struct tree **tree,
                struct cop_stream *stream,
                uint32_t tasks,
                int timeout_ms)
{
    struct tree *more, *both;
    struct tasks *known;
    struct cop_packet *packet;
    uint32_t count = 0;
    int r = 0;

    while (r == 0 && count < tasks) {
        r = cop_stream_receive(stream, &packet, timeout_ms);
        if (r < 0)
            break;
        r = tree_unpack(&more, packet);
        cop_packet_free(packet);
        if (r == 0 && *tree) {
            r = tree_join(&both, *tree, more);
            tree_free(more);
            tree_free(*tree);
            *tree = r == 0 ? both : NULL;
        } else if (r == 0) {
            *tree = more;
        }
        if (r == 0)
            r = tree_tasks(&known, *tree);
        if (r == 0) {
            count = tasks_count(known);
            tasks_free(known);
        }
    }
    return r;
}

/* Say go, and take the merged tree. */
static int merge(struct tree **out,
                 struct emulation *result,
                 struct cop_stream *stream,
                 const struct emulate *emulate,
                 int timeout_ms)
{
    struct cop_packet *packet;
    uint64_t begin_ns = now_ns();
    uint32_t i;
    int r;

    r = cop_stream_send(stream, STAT_TAG_GO, "%ud", 1u);
    if (r == 0)
        r = take(out, stream, emulate->tasks, timeout_ms);
    if (r < 0)
        return r;
    result->merge_ns = now_ns() - begin_ns;
    result->edges = (*out)->node_count;
    for (i = 0; i < TREE_LEVELS_MAX; i++) {
        result->level_ns[i] = (*out)->level_ns[i];
        (*out)->level_ns[i] = 0;
    }
    r = tree_pack(&packet, STAT_TAG_TREE, *out);
    if (r < 0)
        return r;
    result->bytes = cop_packet_size(packet);
    cop_packet_free(packet);
    return 0;
}

static int check(const struct tree *tree,
                 const struct emulate *emulate,
                 struct cop_error *error)
{
    struct tree *expected;
    bool same;
    int r;

    r = emulate_tree(&expected, emulate, EMULATE_ALL);
    if (r < 0)
        return r;
    same = tree_equal(tree, expected);
    tree_free(expected);
    if (same)
        return 0;
    return cop_error_set(error, -EBADE,
                         "the merged tree is not what it must be: this is a "
                         "mistake of coppice-stat; please report the options");
}

int emulation_run(struct tree **out,
                  struct emulation *result,
                  const struct emulate *emulate,
                  const struct gather_options *options,
                  struct cop_error *error)
{
    struct cop_stream_options stream_options = COP_STREAM_OPTIONS_INIT;
    struct daemons_options tree_options = options->daemons;
    struct targets none = {0};
    struct daemons *daemons = NULL;
    struct cop_network *network;
    struct cop_stream *stream = NULL;
    struct tree *tree = NULL;
    char shape[64];
    uint64_t begin_ns = now_ns();
    uint64_t count;
    char line[48];
    int r;

    *result = (struct emulation){0};
    error->text[0] = '\0';
    even_shape(shape, sizeof(shape), emulate->daemons);
    if (!tree_options.topology_path && !tree_options.shape)
        tree_options.shape = shape;
    tree_options.whole = true;
    snprintf(line, sizeof(line), "starting %u daemons", emulate->daemons);
    if (options->say)
        options->say(line);
    r = daemons_launch(&daemons, &none, &tree_options, options->timeout_ms,
                       error);
    if (r < 0)
        return r;
    network = daemons_network(daemons);
    result->launch_ns = now_ns() - begin_ns;
    count = cop_communicator_size(cop_network_everyone(network));
    if (count != emulate->daemons)
        r = cop_error_set(error, -EINVAL,
                          "the tree has %llu leaves, but --emulate says "
                          "daemons=%u: make them the same",
                          (unsigned long long)count, emulate->daemons);
    stream_options.up_filter = "stat_merge";
    if (r == 0)
        r = cop_stream_open(&stream, network, cop_network_everyone(network),
                            &stream_options, error);
    if (r == 0)
        r = prepare(stream, cop_network_everyone(network), emulate,
                    (int)options->timeout_ms, error);
    if (r == 0)
        r = merge(&tree, result, stream, emulate, (int)options->timeout_ms);
    if (r == 0)
        r = check(tree, emulate, error);
    if (r == 0)
        r = tree_settle(out, tree);
    if (r < 0 && !error->text[0])
        cop_error_set(error, r, "the emulation failed: %s", strerror(-r));
    daemons_free(daemons, SHUTDOWN_MS);
    tree_free(tree);
    return r;
}
