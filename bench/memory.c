/* memory.c - the cost of each node of a tree: of a round trip, and of one that
 * has worked and now waits. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/duel.h"
#include "bench/footprint.h"

/* The work: the first trips and the waves fill buffers and caches. */
#define WARM  20
#define PINGS 100
#define WAVES 10000

/* How long the tree then waits: memory of a burst is released soon after. */
#define IDLE_US 2000000

enum {
    COMMNODE,
    BACK_END,
    ROLES, /* how many there are */
};

/* Of all processes of each role. */
struct costs {
    struct sample of[ROLES][FOOTPRINT_COUNT];
};

static void costs_fini(struct costs *costs)
{
    for (int role = 0; role < ROLES; role++)
        for (int what = 0; what < FOOTPRINT_COUNT; what++)
            sample_fini(&costs->of[role][what]);
}

static int costs_take(struct costs *costs)
{
    return footprint_below(getpid(), costs->of[COMMNODE], costs->of[BACK_END]);
}

static int ping(const struct side *side, void *tree, int count)
{
    int r = 0;

    for (int i = 0; r == 0 && i < count; i++)
        r = side->ping(tree);
    return r;
}

/* Take what the processes hold after the work, and what was counted before and
 * after the trips. Returns the number of processes. */
static int work_tree(const struct side *side, void *tree, struct costs taken[3])
{
    int r = side->prepare_ping(tree);

    if (r == 0)
        r = ping(side, tree, WARM);
    if (r == 0)
        r = costs_take(&taken[0]);
    if (r >= 0)
        r = ping(side, tree, PINGS);
    if (r == 0)
        r = costs_take(&taken[1]);
    if (r >= 0)
        r = side->prepare_stream(tree, SIDE_INTS);
    if (r == 0)
        r = side->stream(tree, WAVES);
    usleep(IDLE_US);
    return r < 0 ? r : costs_take(&taken[2]);
}

static double mean(const struct sample *sample)
{
    double sum = 0;

    for (size_t i = 0; i < sample->count; i++)
        sum += sample->values[i];
    return sum / (double)sample->count;
}

/* Add one tree's figures of one role: each process's, or of what is counted the
 * mean of a trip. */
static int add_role(struct sample *out, int role, const struct costs taken[3])
{
    int r = 0;

    for (int what = 0; what < FOOTPRINT_WAKE_UPS; what++) {
        const struct sample *held = &taken[2].of[role][what];

        for (size_t k = 0; r == 0 && k < held->count; k++)
            r = sample_add(&out[what], held->values[k]);
    }
    for (int what = FOOTPRINT_WAKE_UPS; what < FOOTPRINT_COUNT; what++) {
        double rise =
            mean(&taken[1].of[role][what]) - mean(&taken[0].of[role][what]);

        if (r == 0 && taken[0].of[role][what].count > 0)
            r = sample_add(&out[what], rise / PINGS);
    }
    return r;
}

/* One side's tree at a time: all processes below this one belong to it. */
static int measure(struct duel *duel,
                   size_t i,
                   const struct shape *shape,
                   struct costs *costs)
{
    struct costs taken[3] = {{.of = {{{.values = NULL}}}}};
    int r = duel->side[i]->start(&duel->tree[i], shape);

    if (r < 0)
        return r;
    r = work_tree(duel->side[i], duel->tree[i], taken);
    if (r >= 0 && (uint32_t)r != shape_nodes(shape)) {
        warnx("%s: %d processes below us, not %u", duel->side[i]->name, r,
              shape_nodes(shape));
        r = -ECHILD;
    }
    for (int role = 0; r >= 0 && role < ROLES; role++)
        r = add_role(costs[i].of[role], role, taken);
    for (int k = 0; k < 3; k++)
        costs_fini(&taken[k]);
    duel->side[i]->end(duel->tree[i]);
    duel->tree[i] = NULL;
    return r < 0 ? r : 0;
}

static int print_role(struct duel *duel,
                      const struct shape *shape,
                      const struct duel_metric metrics[FOOTPRINT_COUNT],
                      const struct costs *costs,
                      int role)
{
    int r = 0;

    for (int what = 0; r == 0 && what < FOOTPRINT_COUNT; what++) {
        struct sample row[DUEL_SIDES_MAX];

        for (size_t i = 0; i < duel->count; i++)
            row[i] = costs[i].of[role][what]; /* borrowed */
        if (row[0].count > 0)
            r = duel_print(duel, shape, &metrics[what], row);
    }
    return r;
}

static int measure_memory(struct duel *duel, const struct shape *shape)
{
    static const struct duel_metric metrics[ROLES][FOOTPRINT_COUNT] = {
        {
            [FOOTPRINT_PRIVATE_KIB] = {"commnode private", "KiB", false, 0},
            [FOOTPRINT_THREADS] = {"commnode threads", "", false, 0},
            [FOOTPRINT_DESCRIPTORS] = {"commnode descriptors", "", false, 0},
            [FOOTPRINT_WAKE_UPS] = {"commnode wake-ups", "/trip", false, 0},
            [FOOTPRINT_CPU_US] = {"commnode processor", "us/trip", false, 0},
        },
        {
            [FOOTPRINT_PRIVATE_KIB] = {"back-end private", "KiB", false, 0},
            [FOOTPRINT_THREADS] = {"back-end threads", "", false, 0},
            [FOOTPRINT_DESCRIPTORS] = {"back-end descriptors", "", false, 0},
            [FOOTPRINT_WAKE_UPS] = {"back-end wake-ups", "/trip", false, 0},
            [FOOTPRINT_CPU_US] = {"back-end processor", "us/trip", false, 0},
        },
    };
    struct costs costs[DUEL_SIDES_MAX] = {{.of = {{{.values = NULL}}}}};
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++)
        for (size_t i = 0; r == 0 && i < duel->count; i++)
            r = measure(duel, i, shape, costs);
    for (int role = 0; r == 0 && role < ROLES; role++)
        r = print_role(duel, shape, metrics[role], costs, role);
    for (size_t i = 0; i < DUEL_SIDES_MAX; i++)
        costs_fini(&costs[i]);
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "memory",
        .what = "What each node costs: private memory, threads, descriptors "
                "when it has worked and\nnow waits; wake-ups and processor "
                "time of a round trip.",
        .cases = "1x16",
        .rounds = 3,
    };

    return duel_main(argc, argv, &usage, measure_memory);
}
