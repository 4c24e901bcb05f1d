/* launch.c - the time of a launch, until every node has reported. */
#include <stdlib.h>

#include "bench/duel.h"

/* Waits for the tree's end, without measuring it. */
static int measure(struct duel *duel,
                   size_t i,
                   const struct shape *shape,
                   struct sample *sample)
{
    double start = duel_now_s();
    int r = duel->side[i]->start(&duel->tree[i], shape);
    double took_s = duel_now_s() - start;

    if (r < 0)
        return r;
    duel->side[i]->end(duel->tree[i]);
    duel->tree[i] = NULL;
    return sample_add(sample, took_s * 1e3);
}

static int measure_launch(struct duel *duel, const struct shape *shape)
{
    static const struct duel_metric median = {"median", "ms", false, 0};
    struct sample took[DUEL_SIDES_MAX] = {{.values = NULL}};
    int r = 0;

    for (size_t i = 0; r == 0 && i < duel->count; i++) {
        r = measure(duel, i, shape, &took[i]); /* to cache the programs */
        sample_clear(&took[i]);
    }
    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++)
        for (size_t i = 0; r == 0 && i < duel->count; i++)
            r = measure(duel, i, shape, &took[i]);
    if (r == 0)
        r = duel_print(duel, shape, &median, took);
    for (size_t i = 0; i < DUEL_SIDES_MAX; i++)
        sample_fini(&took[i]);
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "launch",
        .what = "Start a tree of processes: from the call until every node "
                "has reported.",
        .cases = "flat:16,4x4,8x8,16x16,32x32",
        .rounds = 10,
    };

    return duel_main(argc, argv, &usage, measure_launch);
}
