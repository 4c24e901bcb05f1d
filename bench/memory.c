/* memory.c - the cost of each node of a tree that has worked and now waits. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/duel.h"
#include "bench/footprint.h"

/* The work before: it fills buffers and caches. */
#define PINGS 100
#define WAVES 10000

/* How long the tree then waits: memory of a burst is released soon after. */
#define IDLE_US 2000000

struct costs {
    struct sample inner[DUEL_SIDES_MAX][FOOTPRINT_COUNT];
    struct sample leaf[DUEL_SIDES_MAX][FOOTPRINT_COUNT];
};

static int work_tree(const struct side *side, void *tree)
{
    int r = side->prepare_ping(tree);

    for (int i = 0; r == 0 && i < PINGS; i++)
        r = side->ping(tree);
    if (r == 0)
        r = side->prepare_stream(tree, SIDE_INTS);
    return r < 0 ? r : side->stream(tree, WAVES);
}

/* One side's tree at a time: all processes below this one belong to it. */
static int measure(struct duel *duel,
                   size_t i,
                   const struct shape *shape,
                   struct costs *costs)
{
    int r = duel->side[i]->start(&duel->tree[i], shape);

    if (r < 0)
        return r;
    r = work_tree(duel->side[i], duel->tree[i]);
    usleep(IDLE_US);
    if (r == 0)
        r = footprint_below(getpid(), costs->inner[i], costs->leaf[i]);
    if (r >= 0 && (uint32_t)r != shape_nodes(shape)) {
        warnx("%s: %d processes below us, not %u", duel->side[i]->name, r,
              shape_nodes(shape));
        r = -ECHILD;
    }
    duel->side[i]->end(duel->tree[i]);
    duel->tree[i] = NULL;
    return r < 0 ? r : 0;
}

static int print_footprint(struct duel *duel,
                           const struct shape *shape,
                           const struct duel_metric metrics[FOOTPRINT_COUNT],
                           struct sample from[DUEL_SIDES_MAX][FOOTPRINT_COUNT])
{
    int r = 0;

    for (int what = 0; r == 0 && what < FOOTPRINT_COUNT; what++) {
        struct sample row[DUEL_SIDES_MAX];

        for (size_t i = 0; i < duel->count; i++)
            row[i] = from[i][what]; /* borrowed */
        if (row[0].count > 0)
            r = duel_print(duel, shape, &metrics[what], row);
    }
    return r;
}

static int measure_memory(struct duel *duel, const struct shape *shape)
{
    static const struct duel_metric inner[FOOTPRINT_COUNT] = {
        [FOOTPRINT_PRIVATE_KIB] = {"commnode private", "KiB", false, 0},
        [FOOTPRINT_THREADS] = {"commnode threads", "", false, 0},
        [FOOTPRINT_DESCRIPTORS] = {"commnode descriptors", "", false, 0},
    };
    static const struct duel_metric leaf[FOOTPRINT_COUNT] = {
        [FOOTPRINT_PRIVATE_KIB] = {"back-end private", "KiB", false, 0},
        [FOOTPRINT_THREADS] = {"back-end threads", "", false, 0},
        [FOOTPRINT_DESCRIPTORS] = {"back-end descriptors", "", false, 0},
    };
    struct costs costs = {.inner = {{{.values = NULL}}}};
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++)
        for (size_t i = 0; r == 0 && i < duel->count; i++)
            r = measure(duel, i, shape, &costs);
    if (r == 0)
        r = print_footprint(duel, shape, inner, costs.inner);
    if (r == 0)
        r = print_footprint(duel, shape, leaf, costs.leaf);
    for (size_t i = 0; i < DUEL_SIDES_MAX; i++) {
        for (int what = 0; what < FOOTPRINT_COUNT; what++) {
            sample_fini(&costs.inner[i][what]);
            sample_fini(&costs.leaf[i][what]);
        }
    }
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "memory",
        .what = "What each node costs that has worked and now waits: private "
                "memory, threads,\ndescriptors.",
        .cases = "1x16",
        .rounds = 3,
    };

    return duel_main(argc, argv, &usage, measure_memory);
}
