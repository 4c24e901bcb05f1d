/* rescue_ours.c - Coppice's trees of bench/recovery, through the public API: one
 * with a recoverable stream, and one with an exact stream, of which it matters
 * when its waves go on. */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_tags.h"
#include "bench/census.h"
#include "bench/duel.h"
#include "bench/family.h"
#include "bench/rescue.h"

/* Packets per second of each back-end, as in the dissertation; and the waves
 * before the failure, which make states to compensate. */
#define RATE       10
#define WARM_WAVES 3

/* The same of the exact stream; how many waves come after the first one that
 * was held up; and round trips before the waves begin. */
#define EXACT_RATE        100
#define EXACT_WARM_WAVES  50
#define EXACT_AFTER_WAVES 20
#define TRIPS             21

struct ours {
    struct census *census;
    uint32_t orphans;
    pid_t victim;
    double trip_ms; /* of an exact stream */
};

/* The front-end is node 0, the victim 1. The refuges follow, each with a
 * back-end (a leaf is no commnode), then the victim's children. */
char *rescue_topology(uint32_t orphans)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    uint32_t next = 2 + RESCUE_REFUGES;

    if (!file)
        return NULL;
    fprintf(file, "localhost:0 =>");
    for (uint32_t i = 1; i <= 1 + RESCUE_REFUGES; i++)
        fprintf(file, " localhost:%u", i);
    fprintf(file, ";\n");
    for (uint32_t i = 2; i < 2 + RESCUE_REFUGES; i++)
        fprintf(file, "localhost:%u => localhost:%u;\n", i, next++);
    fprintf(file, "localhost:1 =>");
    for (uint32_t i = 0; i < orphans; i++)
        fprintf(file, " localhost:%u", next++);
    fprintf(file, ";\n");
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

int rescue_victim(uint32_t orphans, pid_t *victim)
{
    struct family family;
    uint32_t most = 0;
    int r = family_read(&family, getpid());

    for (size_t i = 0; r == 0 && i < family.count; i++) {
        if (family.list[i].child_count <= most)
            continue;
        most = family.list[i].child_count;
        *victim = family.list[i].pid;
    }
    family_fini(&family);
    if (r == 0 && most != orphans) {
        warnx("coppice: no process has %u children", orphans);
        r = -ESRCH;
    }
    return r;
}

static int ours_end(void *tree)
{
    struct ours *ours = tree;
    int r = census_check(ours->census);

    census_end(ours->census);
    free(ours);
    return r;
}

/* Send a token, and take the sum of the answers. */
static int make_trip(struct cop_stream *stream)
{
    struct cop_packet *packet = NULL;
    int r = cop_stream_send(stream, BENCH_PING, "%d", 0);

    if (r == 0)
        r = cop_stream_receive(stream, &packet, RESCUE_STUCK_MS);
    if (r < 0)
        warnx("coppice: a round trip: %s", strerror(-r));
    cop_packet_free(packet);
    return r;
}

/* The round trips of another exact stream. */
static int measure_trips(struct ours *ours)
{
    struct sample trips = {.values = NULL};
    struct cop_stream *stream = NULL;
    int r = mode_open(MODE_EXACT, ours->census->network, &stream);

    for (int i = 0; r == 0 && i < TRIPS; i++) {
        double start_s = duel_now_s();

        r = make_trip(stream);
        if (r == 0)
            r = sample_add(&trips, (duel_now_s() - start_s) * 1e3);
    }
    ours->trip_ms = sample_quantile(&trips, 0.5);
    sample_fini(&trips);
    if (stream)
        cop_stream_close(stream);
    return r;
}

static int warm_up(struct ours *ours, uint32_t rate, uint32_t waves)
{
    bool right;
    int r = census_pace(ours->census, rate);

    for (uint32_t i = 0; r == 0 && i < waves; i++)
        r = census_take(ours->census, RESCUE_STUCK_MS, &right);
    return r;
}

static int start_tree(void **tree, uint32_t orphans, enum mode mode)
{
    struct ours *ours = calloc(1, sizeof(*ours));
    char *topology = rescue_topology(orphans);
    int r = ours && topology ? 0 : -ENOMEM;

    if (r == 0)
        ours->orphans = orphans;
    if (r == 0)
        r = census_start(&ours->census, mode, NULL, topology, NULL, 0);
    if (r == 0)
        r = rescue_victim(orphans, &ours->victim);
    if (r == 0 && mode == MODE_EXACT)
        r = measure_trips(ours);
    if (r == 0)
        r = mode == MODE_EXACT ? warm_up(ours, EXACT_RATE, EXACT_WARM_WAVES)
                               : warm_up(ours, RATE, WARM_WAVES);
    free(topology);
    if (r < 0) {
        if (ours)
            census_end(ours->census);
        free(ours);
        return r;
    }
    *tree = ours;
    return 0;
}

static int ours_start(void **tree, uint32_t orphans)
{
    return start_tree(tree, orphans, MODE_RECOVERABLE);
}

static int exact_start(void **tree, uint32_t orphans)
{
    return start_tree(tree, orphans, MODE_EXACT);
}

static int add_ms(struct sample *sample, uint64_t us)
{
    return sample_add(sample, (double)us / 1e3);
}

static int take_report(const struct cop_recovery *recovery,
                       struct rescue_times *times)
{
    int r = add_ms(&times->orphan, recovery->overall_us);

    if (r == 0)
        r = add_ms(&times->choose, recovery->choose_us);
    if (r == 0)
        r = add_ms(&times->connect, recovery->connect_us);
    if (r == 0)
        r = add_ms(&times->compensate, recovery->compensate_us);
    if (r == 0)
        r = add_ms(&times->cleanup, recovery->cleanup_us);
    return r;
}

static int ours_fail(void *tree, struct rescue_times *times)
{
    struct ours *ours = tree;
    struct cop_event event = COP_EVENT_INIT;
    uint32_t taken = 0;
    double start = duel_now_s();
    int r = kill(ours->victim, SIGKILL) < 0 ? -errno : 0;

    while (r == 0 && taken < ours->orphans) {
        r = cop_network_event(ours->census->network, &event, RESCUE_STUCK_MS);
        if (r < 0 || event.type != COP_EVENT_NODE_ADOPTED)
            continue;
        r = take_report(&event.recovery, times);
        taken++;
    }
    if (r == 0)
        r = sample_add(&times->overall, (duel_now_s() - start) * 1e3);
    if (r < 0)
        warnx("coppice: %u of %u orphans have reported: %s", taken,
              ours->orphans, strerror(-r));
    return r;
}

const struct rescue rescue_ours = {
    .start = ours_start,
    .fail = ours_fail,
    .end = ours_end,
};

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

static void take_reports(const struct ours *ours, struct outage *outage)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(ours->census->network, &event, 0) == 0)
        if (event.type == COP_EVENT_NODE_ADOPTED) {
            outage->reports++;
            outage->reported_s = duel_now_s();
        }
}

/* Take waves and reports until all orphans have reported and waves come again.
 */
static int sit_out(struct ours *ours, struct outage *outage)
{
    double now_s;
    bool right;
    int r = 0;

    while (outage->reports < ours->orphans ||
           ours->census->wave < outage->resumed_at + EXACT_AFTER_WAVES) {
        r = census_take(ours->census, 1, &right);
        now_s = duel_now_s();
        take_reports(ours, outage);
        if (r == 0 && now_s - outage->last_s > outage->gap_s &&
            (outage->reports < ours->orphans ||
             outage->last_s < outage->reported_s)) {
            outage->gap_s = now_s - outage->last_s;
            outage->resumed_s = now_s;
            outage->resumed_at = ours->census->wave;
        }
        if (r == 0)
            outage->last_s = now_s;
        else if (r != -EAGAIN)
            return r;
        if (now_s > outage->start_s + RESCUE_STUCK_MS / 1e3) {
            warnx("coppice: %u of %u orphans have reported, wave %u was the "
                  "last",
                  outage->reports, ours->orphans, ours->census->wave);
            return -ETIMEDOUT;
        }
    }
    return 0;
}

static int exact_fail(void *tree, struct rescue_times *times)
{
    struct ours *ours = tree;
    struct outage outage = {.resumed_at = ours->census->wave};
    int r;

    outage.start_s = outage.last_s = duel_now_s();
    r = kill(ours->victim, SIGKILL) < 0 ? -errno : 0;
    if (r == 0)
        r = sit_out(ours, &outage);
    if (r == 0)
        r = sample_add(&times->overall,
                       (outage.reported_s - outage.start_s) * 1e3);
    if (r == 0)
        r = sample_add(&times->resumed,
                       (outage.resumed_s - outage.start_s) * 1e3);
    if (r == 0)
        r = sample_add(&times->trip, ours->trip_ms);
    if (r == 0)
        r = sample_add(&times->behind, (outage.resumed_s - outage.reported_s) *
                                           1e3 / ours->trip_ms);
    return r;
}

const struct rescue rescue_exact = {
    .start = exact_start,
    .fail = exact_fail,
    .end = ours_end,
};
