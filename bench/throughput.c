/* throughput.c - every leaf streams as fast as it can. */
#include <math.h>
#include <stdlib.h>

#include "bench/duel.h"

/* A round of one side takes about ROUND_S. The count for that is found by
 * increasing it until a run takes SURE_S. */
#define ROUND_S      0.25
#define SURE_S       0.02
#define COUNT_MAX    100000000
#define ARRAY_MB     1.048576 /* one array, in 10^6 bytes */
#define ARRAY_LEAVES 64       /* above: only with --metric */

struct stream {
    struct duel_metric metric;
    enum side_load load;
    uint32_t first; /* count to start with */
};

static int measure(struct duel *duel, size_t i, uint32_t count, double *took_s)
{
    double start = duel_now_s();
    int r = duel->side[i]->stream(duel->tree[i], count);

    *took_s = duel_now_s() - start;
    return r;
}

/* Each side has its own count: rates are compared, not times. */
static int choose_count(struct duel *duel,
                        size_t i,
                        const struct stream *stream,
                        uint32_t *out)
{
    double count = stream->first;
    double took_s = 0;
    int r = duel->side[i]->prepare_stream(duel->tree[i], stream->load);

    while (r == 0) {
        r = measure(duel, i, (uint32_t)count, &took_s);
        if (r < 0 || took_s >= SURE_S || count * 4 > COUNT_MAX)
            break;
        count *= 4;
    }
    if (r < 0)
        return r;
    count = ceil(count * ROUND_S / took_s);
    *out = count > COUNT_MAX ? COUNT_MAX : (uint32_t)count;
    return 0;
}

static int run_stream(struct duel *duel,
                      const struct shape *shape,
                      const struct stream *stream)
{
    double each =
        stream->load == SIDE_INTS ? 1 : ARRAY_MB * shape_leaves(shape);
    struct sample rates[DUEL_SIDES_MAX] = {{.values = NULL}};
    uint32_t count[DUEL_SIDES_MAX];
    double took_s;
    int r = 0;

    for (size_t i = 0; r == 0 && i < duel->count; i++)
        r = choose_count(duel, i, stream, &count[i]);
    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++) {
        for (size_t i = 0; r == 0 && i < duel->count; i++) {
            r = measure(duel, i, count[i], &took_s);
            if (r == 0)
                r = sample_add(&rates[i], each * count[i] / took_s);
        }
    }
    if (r == 0)
        r = duel_print(duel, shape, &stream->metric, rates);
    for (size_t i = 0; i < DUEL_SIDES_MAX; i++)
        sample_fini(&rates[i]);
    return r;
}

static bool is_possible(const struct duel *duel,
                        const struct shape *shape,
                        const struct stream *s)
{
    if (s->load == SIDE_ARRAYS && shape->depth > 1)
        return false;
    if (duel->options->metrics)
        return options_lists(duel->options->metrics, s->metric.name);
    return s->load == SIDE_INTS || shape_leaves(shape) <= ARRAY_LEAVES;
}

static int measure_throughput(struct duel *duel, const struct shape *shape)
{
    static const struct stream streams[] = {
        {{"waves", "waves/s", true, 0}, SIDE_INTS, 1000},
        {{"arrays", "MB/s", true, 0}, SIDE_ARRAYS, 1},
        {{"sum", "MB/s", true, 0}, SIDE_SUM, 1},
    };
    int r = duel_start(duel, shape);

    for (size_t i = 0; r == 0 && i < sizeof(streams) / sizeof(*streams); i++)
        if (is_possible(duel, shape, &streams[i]))
            r = run_stream(duel, shape, &streams[i]);
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "throughput",
        .what = "Every leaf streams as fast as it can: ints that are summed "
                "(waves), 1 MiB\narrays of doubles as they are (arrays, flat "
                "trees only) and summed element by\nelement (sum). MB are "
                "10^6 bytes of what the leaves send.",
        .cases = "flat:16,4x4,8x8,16x16,32x32",
        .metrics = "waves,arrays,sum",
        .rounds = 10,
    };

    return duel_main(argc, argv, &usage, measure_throughput);
}
