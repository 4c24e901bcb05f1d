/* calm.c - bench/exactness without failures: four streams of one network and
 * the bare tree, in turn. */
#include <err.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_tags.h"
#include "bench/duel.h"
#include "bench/exactness.h"
#include "bench/footprint.h"
#include "bench/side.h"
#include "bench/start.h"

/* In one round; the bare tree is faster, and has more waves. */
#define TRIPS      100
#define WAVES      2000
#define BARE_WAVES 50000

#define STUCK_MS 60000

enum {
    ROW_TRIP,
    ROW_WAVES,
    ROW_TRIP_CPU,
    ROW_WAVE_CPU,
    ROW_COUNT
};

struct calm {
    struct cop_network *network;
    struct cop_stream *streams[MODE_COUNT];
    uint32_t total; /* the expected total, modulo 2^32 */
    uint32_t next;  /* next integer for the union, each used only once */
    uint32_t leaves;
    void *bare;
};

static int complain(int r, enum mode mode, const char *what)
{
    if (r < 0)
        warnx("coppice: %s stream: %s: %s", mode_name(mode), what,
              strerror(-r));
    return r;
}

/* Take one wave: the sum of `value` over the members or, of a union, the
 * integer `first`, which all members have sent. */
static int take_wave(struct calm *calm,
                     enum mode mode,
                     uint32_t value,
                     int32_t first)
{
    struct cop_packet *packet;
    const int32_t *numbers;
    uint32_t count;
    int32_t got;
    int r = cop_stream_receive(calm->streams[mode], &packet, STUCK_MS);

    if (r < 0)
        return complain(r, mode, "receive");
    if (mode == MODE_RECOVERABLE) {
        r = cop_packet_unpack(packet, "%ad", &numbers, &count);
        if (r == 0 && (count != 1 || numbers[0] != first))
            r = -EBADMSG;
    } else {
        r = cop_packet_unpack(packet, "%d", &got);
        if (r == 0 && (uint32_t)got != value * calm->leaves)
            r = -EBADMSG;
    }
    if (r == 0 && cop_packet_contributors(packet) != calm->leaves)
        r = -EBADMSG;
    cop_packet_free(packet);
    return complain(r, mode, "a wave");
}

/* Wait until the total contains everything requested. */
static int take_total(struct calm *calm)
{
    struct cop_stream *stream = calm->streams[MODE_CUMULATIVE];
    struct cop_packet *packet = NULL;
    struct cop_error error;
    int32_t total;
    int r = cop_stream_sync(stream, STUCK_MS, &error);

    if (r == 0)
        r = cop_stream_state(stream, &packet, STUCK_MS);
    if (r == 0)
        r = cop_packet_unpack(packet, "%d", &total);
    if (r == 0 && (uint32_t)total != calm->total)
        r = -EBADMSG;
    cop_packet_free(packet);
    return complain(r, MODE_CUMULATIVE, "the total");
}

static int ask(struct calm *calm, enum mode mode, int32_t tag, uint32_t count)
{
    struct cop_stream *stream = calm->streams[mode];
    int r;

    if (mode == MODE_RECOVERABLE)
        r = cop_stream_send(stream, BENCH_RANGE, "%ud %ud", calm->next, count);
    else if (tag == BENCH_PING)
        r = cop_stream_send(stream, tag, "%d", 1);
    else
        r = cop_stream_send(stream, tag, "%ud", count);
    for (uint32_t i = 0; mode == MODE_CUMULATIVE && i < count; i++)
        calm->total +=
            calm->leaves * (tag == BENCH_PING ? 1 : i & BENCH_INT_MASK);
    return complain(r, mode, "send");
}

static int take_waves(struct calm *calm,
                      enum mode mode,
                      bool ping,
                      uint32_t count)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = take_wave(calm, mode, ping ? 1 : i & BENCH_INT_MASK,
                      (int32_t)(calm->next + i));
    if (mode == MODE_RECOVERABLE)
        calm->next += count;
    return r;
}

static int run_trips(struct calm *calm, int column, uint32_t count)
{
    enum mode mode = (enum mode)column;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < count; i++) {
        if (column == EXACTNESS_BARE) {
            r = bare_side.ping(calm->bare);
            continue;
        }
        r = ask(calm, mode, BENCH_PING, 1);
        if (r == 0)
            r = mode == MODE_CUMULATIVE ? take_total(calm)
                                        : take_waves(calm, mode, true, 1);
    }
    return r;
}

static int run_waves(struct calm *calm, int column, uint32_t count)
{
    enum mode mode = (enum mode)column;
    int r;

    if (column == EXACTNESS_BARE)
        return bare_side.stream(calm->bare, count);
    r = ask(calm, mode, BENCH_INTS, count);
    if (r == 0 && mode == MODE_CUMULATIVE)
        return take_total(calm);
    return r < 0 ? r : take_waves(calm, mode, false, count);
}

/* Run `count` trips or waves, and add the results: `time` in ms for each trip,
 * or in waves a second; `cpu` in microseconds each. */
static int run_one(struct calm *calm,
                   int column,
                   bool waves,
                   struct sample *time,
                   struct sample *cpu)
{
    uint32_t count = !waves                     ? TRIPS
                     : column == EXACTNESS_BARE ? BARE_WAVES
                                                : WAVES;
    double began_us = footprint_cpu_us(getpid());
    double began_s = duel_now_s();
    int r =
        waves ? run_waves(calm, column, count) : run_trips(calm, column, count);
    double took_s = duel_now_s() - began_s;

    if (r == 0)
        r = sample_add(time, waves ? count / took_s : took_s * 1e3 / count);
    if (r == 0)
        r = sample_add(cpu, (footprint_cpu_us(getpid()) - began_us) / count);
    return r;
}

static void calm_end(struct calm *calm)
{
    if (calm->network)
        cop_network_free(calm->network);
    if (calm->bare)
        bare_side.end(calm->bare);
}

static int calm_start(struct calm *calm, const struct shape *shape)
{
    int r = start_network(&calm->network, "bench_be", shape->text, NULL, NULL);

    calm->leaves = shape_leaves(shape);
    for (int i = 0; r == 0 && i < MODE_COUNT; i++)
        r = mode_open((enum mode)i, calm->network, &calm->streams[i]);
    if (r == 0)
        r = bare_side.start(&calm->bare, shape);
    if (r == 0)
        r = bare_side.prepare_ping(calm->bare);
    if (r == 0)
        r = bare_side.prepare_stream(calm->bare, SIDE_INTS);
    return r;
}

int calm_measure(const struct options *options, const struct shape *shape)
{
    struct exactness_row rows[ROW_COUNT] = {
        [ROW_TRIP] = {.metric = "round trip", .unit = "ms"},
        [ROW_WAVES] = {.metric = "waves", .unit = "waves/s"},
        [ROW_TRIP_CPU] = {.metric = "cpu of a trip", .unit = "us"},
        [ROW_WAVE_CPU] = {.metric = "cpu of a wave", .unit = "us"},
    };
    struct calm calm = {.network = NULL};
    int r = calm_start(&calm, shape);

    for (uint32_t k = 0; r == 0 && k < options->rounds * 3; k++) {
        for (int i = 0; r == 0 && i < EXACTNESS_COLUMNS; i++) {
            if (k == 0)
                exactness_progress("calm", shape->text, (enum mode)i);
            r = run_one(&calm, i, false, &rows[ROW_TRIP].columns[i],
                        &rows[ROW_TRIP_CPU].columns[i]);
            if (r == 0)
                r = run_one(&calm, i, true, &rows[ROW_WAVES].columns[i],
                            &rows[ROW_WAVE_CPU].columns[i]);
        }
    }
    calm_end(&calm);
    if (r < 0)
        return r;
    return exactness_print(options, shape->text, rows, ROW_COUNT);
}
