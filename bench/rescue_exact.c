/* rescue_exact.c - Coppice's tree of bench/recovery with an exact stream: when
 * its waves go on after the failure, and whether each of them is right. */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_tags.h"
#include "bench/duel.h"
#include "bench/integers.h"
#include "bench/rescue.h"
#include "bench/start.h"

/* Waves in a second; how many come before the failure, and how many after the
 * first one that was held up. */
#define RATE        100
#define WARM_WAVES  50
#define AFTER_WAVES 20

/* Round trips before the waves begin. */
#define TRIPS 21

#define SHUTDOWN_MS 30000

struct exact {
    struct cop_network *network;
    struct cop_stream *stream; /* exact, sum */
    uint32_t orphans;
    pid_t victim;
    uint32_t taken; /* waves of integers so far */
    double trip_ms;
};

/* Take a wave within `timeout_ms`: 0, -EAGAIN, which is not said, or an error;
 * -EBADMSG if it has not the next integer of each back-end. */
static int take_wave(struct exact *exact, int timeout_ms)
{
    const struct cop_communicator *all = cop_network_everyone(exact->network);
    struct cop_packet *packet;
    const int32_t *numbers;
    uint32_t count = 0, wanted = 0;
    int r = cop_stream_receive(exact->stream, &packet, timeout_ms);

    if (r == -EAGAIN)
        return r;
    if (r == 0)
        r = cop_packet_unpack(packet, "%ad", &numbers, &count);
    for (size_t i = 0; r == 0 && i < cop_communicator_size(all); i++)
        wanted += (uint32_t)integers_draw(cop_communicator_rank(all, i),
                                          exact->taken);
    if (r == 0 && (count != 1 || (uint32_t)numbers[0] != wanted))
        r = -EBADMSG;
    if (r == 0)
        exact->taken++;
    else
        warnx("coppice: wave %u of the exact stream: %s", exact->taken,
              strerror(-r));
    cop_packet_free(packet);
    return r;
}

/* Send a token, and take the sum of the answers. */
static int make_trip(struct exact *exact)
{
    struct cop_packet *packet = NULL;
    int r = cop_stream_send(exact->stream, BENCH_PING, "%d", 0);

    if (r == 0)
        r = cop_stream_receive(exact->stream, &packet, RESCUE_STUCK_MS);
    if (r < 0)
        warnx("coppice: a round trip: %s", strerror(-r));
    cop_packet_free(packet);
    return r;
}

static int measure_trips(struct exact *exact)
{
    struct sample trips = {.values = NULL};
    int r = 0;

    for (int i = 0; r == 0 && i < TRIPS; i++) {
        double start_s = duel_now_s();

        r = make_trip(exact);
        if (r == 0)
            r = sample_add(&trips, (duel_now_s() - start_s) * 1e3);
    }
    exact->trip_ms = sample_quantile(&trips, 0.5);
    sample_fini(&trips);
    return r;
}

static int open_stream(struct exact *exact)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error;
    int r;

    options.guarantee = COP_GUARANTEE_WAVES;
    options.up_filter = "sum";
    r = cop_stream_open(&exact->stream, exact->network,
                        cop_network_everyone(exact->network), &options, &error);
    if (r < 0)
        warnx("coppice: %s", error.text);
    return r;
}

static int begin_waves(struct exact *exact)
{
    int r = cop_stream_send(exact->stream, BENCH_FEED, "%ud %ud",
                            (uint32_t)RATE, UINT32_MAX);

    if (r < 0)
        warnx("coppice: the waves do not begin: %s", strerror(-r));
    while (r == 0 && exact->taken < WARM_WAVES)
        r = take_wave(exact, RESCUE_STUCK_MS);
    return r;
}

static int exact_end(void *tree)
{
    struct exact *exact = tree;
    int r = 0;

    if (!exact)
        return 0;
    if (exact->network)
        r = cop_network_shutdown(exact->network, SHUTDOWN_MS);
    if (r < 0)
        warnx("coppice: shutdown: %s", strerror(-r));
    cop_network_free(exact->network);
    free(exact);
    return r;
}

static int exact_start(void **tree, uint32_t orphans)
{
    struct exact *exact = calloc(1, sizeof(*exact));
    char *topology = rescue_topology(orphans);
    int r = exact && topology ? 0 : -ENOMEM;

    if (r == 0)
        exact->orphans = orphans;
    if (r == 0)
        r = start_network(&exact->network, "bench_be", NULL, topology, NULL);
    if (r == 0)
        r = rescue_victim(orphans, &exact->victim);
    if (r == 0)
        r = open_stream(exact);
    if (r == 0)
        r = measure_trips(exact);
    if (r == 0)
        r = begin_waves(exact);
    free(topology);
    if (r == 0)
        *tree = exact;
    else
        exact_end(exact);
    return r;
}

/* The kill, the last orphan's report, and the longest time without a wave that
 * began before the report. */
struct outage {
    double start_s;
    double reported_s;
    double last_s; /* the last wave */
    double gap_s;
    double resumed_s;
    uint32_t reports;
    uint32_t resumed_at; /* wave */
};

static void take_reports(const struct exact *exact, struct outage *outage)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(exact->network, &event, 0) == 0)
        if (event.type == COP_EVENT_NODE_ADOPTED) {
            outage->reports++;
            outage->reported_s = duel_now_s();
        }
}

/* Take waves and reports until all orphans have reported and waves come again.
 */
static int sit_out(struct exact *exact, struct outage *outage)
{
    double now_s;
    int r = 0;

    while (outage->reports < exact->orphans ||
           exact->taken < outage->resumed_at + AFTER_WAVES) {
        r = take_wave(exact, 1);
        now_s = duel_now_s();
        take_reports(exact, outage);
        if (r == 0 && now_s - outage->last_s > outage->gap_s &&
            (outage->reports < exact->orphans ||
             outage->last_s < outage->reported_s)) {
            outage->gap_s = now_s - outage->last_s;
            outage->resumed_s = now_s;
            outage->resumed_at = exact->taken;
        }
        if (r == 0)
            outage->last_s = now_s;
        else if (r != -EAGAIN)
            return r;
        if (now_s > outage->start_s + RESCUE_STUCK_MS / 1e3) {
            warnx("coppice: %u of %u orphans have reported, wave %u was the "
                  "last",
                  outage->reports, exact->orphans, exact->taken);
            return -ETIMEDOUT;
        }
    }
    return 0;
}

static int exact_fail(void *tree, struct rescue_times *times)
{
    struct exact *exact = tree;
    struct outage outage = {.resumed_at = exact->taken};
    int r;

    outage.start_s = outage.last_s = duel_now_s();
    r = kill(exact->victim, SIGKILL) < 0 ? -errno : 0;
    if (r == 0)
        r = sit_out(exact, &outage);
    if (r == 0)
        r = sample_add(&times->overall,
                       (outage.reported_s - outage.start_s) * 1e3);
    if (r == 0)
        r = sample_add(&times->resumed,
                       (outage.resumed_s - outage.start_s) * 1e3);
    if (r == 0)
        r = sample_add(&times->trip, exact->trip_ms);
    if (r == 0)
        r = sample_add(&times->behind, (outage.resumed_s - outage.reported_s) *
                                           1e3 / exact->trip_ms);
    return r;
}

const struct rescue rescue_exact = {
    .name = "exact",
    .start = exact_start,
    .fail = exact_fail,
    .end = exact_end,
};
