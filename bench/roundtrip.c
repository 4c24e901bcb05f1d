/* roundtrip.c - the time to broadcast a token and reduce an int. */
#include <stdlib.h>

#include "bench/duel.h"

/* A round takes about ROUND_S, and has enough trips for a 99th percentile. */
#define ROUND_S   0.1
#define TRIPS_MIN 100
#define TRIPS_MAX 2000
#define WARM      20

static int measure(struct duel *duel,
                   size_t i,
                   size_t trips,
                   struct sample *out)
{
    sample_clear(out);
    for (size_t k = 0; k < trips; k++) {
        double start = duel_now_s();
        int r = duel->side[i]->ping(duel->tree[i]);

        if (r == 0)
            r = sample_add(out, (duel_now_s() - start) * 1e3);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Choose the trips of a round, the same for all sides, by the limit's speed. */
static int choose_trips(struct duel *duel, size_t *out)
{
    struct sample trips = {.values = NULL};
    double wanted;
    int r = 0;

    for (size_t i = 0; r == 0 && i < duel->count; i++) {
        r = duel->side[i]->prepare_ping(duel->tree[i]);
        if (r == 0)
            r = measure(duel, i, WARM, &trips);
    }
    wanted = ROUND_S * 1e3 / sample_quantile(&trips, 0.5);
    sample_fini(&trips);
    if (r < 0)
        return r;
    *out = wanted < TRIPS_MIN   ? TRIPS_MIN
           : wanted > TRIPS_MAX ? TRIPS_MAX
                                : (size_t)wanted;
    return 0;
}

static int measure_trips(struct duel *duel, const struct shape *shape)
{
    static const struct duel_metric median = {"median", "ms", false, 0};
    static const struct duel_metric p99 = {"p99", "ms", false, 0};
    struct sample trips = {.values = NULL};
    struct sample medians[DUEL_SIDES_MAX] = {{.values = NULL}};
    struct sample p99s[DUEL_SIDES_MAX] = {{.values = NULL}};
    size_t trip_count;
    int r;

    r = duel_start(duel, shape);
    if (r == 0)
        r = choose_trips(duel, &trip_count);
    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++) {
        for (size_t i = 0; r == 0 && i < duel->count; i++) {
            r = measure(duel, i, trip_count, &trips);
            if (r == 0)
                r = sample_add(&medians[i], sample_quantile(&trips, 0.5));
            if (r == 0)
                r = sample_add(&p99s[i], sample_quantile(&trips, 0.99));
        }
    }
    if (r == 0)
        r = duel_print(duel, shape, &median, medians);
    if (r == 0)
        r = duel_print(duel, shape, &p99, p99s);
    sample_fini(&trips);
    for (size_t i = 0; i < DUEL_SIDES_MAX; i++) {
        sample_fini(&medians[i]);
        sample_fini(&p99s[i]);
    }
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "roundtrip",
        .what = "Broadcast a token down a tree and reduce an int with sum on "
                "the way back.",
        .cases = "flat:16,4x4,8x8,16x16,32x32",
        .rounds = 5,
    };

    return duel_main(argc, argv, &usage, measure_trips);
}
