/* death.c - bench/exactness when a commnode dies: the time to the first right
 * answer, what each orphan did until it had another parent, the traffic, and
 * the memory that back-ends keep. */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/census.h"
#include "bench/duel.h"
#include "bench/exactness.h"
#include "bench/footprint.h"
#include "bench/rescue.h"
#include "bench/traffic.h"

/* How long the tree works before the kill, and for how long before and after
 * the kill it is measured. */
#define WARM_S   0.3
#define AROUND_S 0.7

/* The dissertation's figure 8.2: on 1,024 nodes with InfiniBand, from the kill
 * until the last of 128 orphans had reported. */
#define PAPER_ORPHANS 128
#define PAPER_MS      80

/* The rank of the commnode to kill. */
#define VICTIM 1

enum {
    ROW_FIRST,
    ROW_ADOPTED,
    ROW_ORPHAN,
    ROW_CHOOSE,
    ROW_CONNECT,
    ROW_COMPENSATE,
    ROW_CLEANUP,
    ROW_WRONG,
    ROW_REDOS,
    ROW_PACKETS,
    ROW_BYTES,
    ROW_MEMORY,
    ROW_CARRIED,
    ROW_COUNT
};

struct death {
    struct census *census;
    struct exactness_row *rows;
    uint32_t orphans;
    double killed_s;
    bool noticed;     /* the front-end has noticed the end of its link */
    uint32_t adopted; /* orphans with another parent */
    uint32_t redos;
    double adopted_s; /* when the last one was adopted; 0: not yet */
    double first_s;   /* first right answer since `noticed`; 0: none */
};

/* Take answers for `for_s`. */
static int work(struct death *death, double for_s)
{
    double end_s = duel_now_s() + for_s;
    bool right;
    int r = 0;

    while ((r == 0 || r == -EAGAIN) && duel_now_s() < end_s)
        r = census_take(death->census, 1, &right);
    return r == -EAGAIN ? 0 : r;
}

/* Take the answers that arrived before the front-end noticed. */
static int drain(struct death *death)
{
    bool right;
    int r;

    death->noticed = true;
    if (death->census->mode == MODE_CUMULATIVE)
        return 0;
    while ((r = census_take(death->census, 0, &right)) == 0)
        continue;
    return r == -EAGAIN ? 0 : r;
}

/* Note how long each part of an adoption took. */
static int take_adoption(struct death *death, const struct cop_recovery *took)
{
    const uint64_t parts_us[] = {took->overall_us, took->choose_us,
                                 took->connect_us, took->compensate_us,
                                 took->cleanup_us};
    int r = 0;

    for (int i = 0; r == 0 && i < ROW_WRONG - ROW_ORPHAN; i++)
        r = sample_add(
            &death->rows[ROW_ORPHAN + i].columns[death->census->mode],
            (double)parts_us[i] / 1e3);
    if (++death->adopted == death->orphans)
        death->adopted_s = duel_now_s();
    return r;
}

static int take_events(struct death *death)
{
    struct cop_event event = COP_EVENT_INIT;
    int r = 0;

    while (r == 0 &&
           cop_network_event(death->census->network, &event, 0) == 0) {
        if (event.type == COP_EVENT_REDO)
            death->redos++;
        if (event.type == COP_EVENT_NODE_ADOPTED)
            r = take_adoption(death, &event.recovery);
        if ((event.type == COP_EVENT_NODE_LOST ||
             event.type == COP_EVENT_NODE_SUSPECTED) &&
            event.rank == VICTIM && !death->noticed)
            r = drain(death);
    }
    return r;
}

/* Wait until all orphans are adopted and a right answer has arrived. */
static int await(struct death *death)
{
    double end_s = death->killed_s + RESCUE_STUCK_MS / 1e3;
    int r = 0;

    while (r == 0 && (death->first_s == 0 || death->adopted_s == 0)) {
        bool right;

        r = take_events(death);
        if (r == 0)
            r = census_take(death->census, 1, &right);
        if (r == 0 && right && death->noticed && death->first_s == 0)
            death->first_s = duel_now_s();
        if (r == -EAGAIN)
            r = 0;
        if (r == 0 && duel_now_s() > end_s)
            r = -ETIMEDOUT;
    }
    return r;
}

/* Private memory of a back-end, in KiB: the median. */
static int measure_memory(struct sample *out)
{
    struct sample inner[FOOTPRINT_COUNT] = {{.values = NULL}};
    struct sample leaf[FOOTPRINT_COUNT] = {{.values = NULL}};
    int r = footprint_below(getpid(), inner, leaf);

    if (r >= 0)
        r = sample_add(out, sample_quantile(&leaf[FOOTPRINT_PRIVATE_KIB], 0.5));
    for (int i = 0; i < FOOTPRINT_COUNT; i++) {
        sample_fini(&inner[i]);
        sample_fini(&leaf[i]);
    }
    return r;
}

/* Add the traffic of all nodes, from the kill until there is a right answer and
 * every orphan is adopted. */
static int add_traffic(struct exactness_row *rows,
                       enum mode mode,
                       const struct traffic *from,
                       const struct traffic *to)
{
    int r = sample_add(&rows[ROW_PACKETS].columns[mode],
                       (double)(to->packets - from->packets));

    return r < 0 ? r
                 : sample_add(&rows[ROW_BYTES].columns[mode],
                              (double)(to->bytes - from->bytes) / 1e3);
}

static int add_times(const struct death *death)
{
    struct exactness_row *rows = death->rows;
    enum mode mode = death->census->mode;
    int r = sample_add(&rows[ROW_FIRST].columns[mode],
                       (death->first_s - death->killed_s) * 1e3);

    if (r == 0)
        r = sample_add(&rows[ROW_ADOPTED].columns[mode],
                       (death->adopted_s - death->killed_s) * 1e3);
    if (r == 0 && mode != MODE_CUMULATIVE)
        r = sample_add(&rows[ROW_WRONG].columns[mode], death->census->wrong);
    if (r == 0 && mode == MODE_EXACT)
        r = sample_add(&rows[ROW_REDOS].columns[mode], death->redos);
    return r;
}

/* Measure the tree before the kill: its rate, and the memory of back-ends. */
static int run_calm(struct death *death)
{
    struct exactness_row *rows = death->rows;
    enum mode mode = death->census->mode;
    uint32_t began = death->census->wave;
    int r = work(death, AROUND_S);

    if (r == 0)
        r = sample_add(&rows[ROW_CARRIED].columns[mode],
                       (death->census->wave - began) / AROUND_S);
    if (r == 0)
        r = measure_memory(&rows[ROW_MEMORY].columns[mode]);
    if (r == 0)
        r = work(death, 0.1); /* answers that arrived in between */
    death->census->wrong = 0;
    return r;
}

/* Kill the commnode while the tree works. */
static int run(struct death *death)
{
    struct traffic from, to;
    bool counted = traffic_read(&from) == 0;
    pid_t victim;
    double left_s;
    int r = rescue_victim(death->orphans, &victim);

    death->killed_s = duel_now_s();
    if (r == 0 && kill(victim, SIGKILL) < 0)
        r = -errno;
    if (r == 0)
        r = await(death);
    if (r == 0 && counted && traffic_read(&to) == 0)
        r = add_traffic(death->rows, death->census->mode, &from, &to);
    left_s = death->killed_s + AROUND_S - duel_now_s();
    if (r == 0)
        r = work(death, left_s > 0 ? left_s : 0);
    return r < 0 ? r : add_times(death);
}

static int measure_mode(enum mode mode,
                        uint32_t orphans,
                        uint32_t rate,
                        struct exactness_row *rows)
{
    struct death death = {.orphans = orphans, .rows = rows};
    char *topology = rescue_topology(orphans);
    int r = topology ? 0 : -ENOMEM;

    if (r == 0)
        r = census_start(&death.census, mode, NULL, topology, NULL, rate);
    if (r == 0)
        r = work(&death, WARM_S);
    if (r == 0)
        r = run_calm(&death);
    if (r == 0)
        r = run(&death);
    if (r < 0)
        warnx("coppice: %s, %u orphans: %u adopted: %s", mode_name(mode),
              orphans, death.adopted, strerror(-r));
    if (r == 0)
        r = census_check(death.census);
    census_end(death.census);
    rescue_reap();
    free(topology);
    return r;
}

int death_measure(const struct options *options,
                  const struct shape *shape,
                  uint32_t rate)
{
    struct exactness_row rows[ROW_COUNT] = {
        [ROW_FIRST] = {.metric = "first right", .unit = "ms"},
        [ROW_ADOPTED] = {.metric = "last adopted", .unit = "ms"},
        [ROW_ORPHAN] = {.metric = "an orphan", .unit = "ms"},
        [ROW_CHOOSE] = {.metric = "choose", .unit = "ms"},
        [ROW_CONNECT] = {.metric = "connect", .unit = "ms"},
        [ROW_COMPENSATE] = {.metric = "compensate", .unit = "ms"},
        [ROW_CLEANUP] = {.metric = "clean-up", .unit = "ms"},
        [ROW_WRONG] = {.metric = "wrong waves", .unit = ""},
        [ROW_REDOS] = {.metric = "redos", .unit = ""},
        [ROW_PACKETS] = {.metric = "packets sent", .unit = ""},
        [ROW_BYTES] = {.metric = "bytes sent", .unit = "kB"},
        [ROW_MEMORY] = {.metric = "back-end private", .unit = "KiB"},
        [ROW_CARRIED] = {.metric = "carried before", .unit = "waves/s"},
    };
    uint32_t orphans = shape->fanout[0];
    char name[32];
    int r = 0;

    snprintf(name, sizeof(name), "%u@%u", orphans, rate);
    for (uint32_t k = 0; r == 0 && k < options->rounds; k++) {
        for (int i = 0; r == 0 && i < MODE_COUNT; i++) {
            exactness_progress("a commnode dies", name, (enum mode)i);
            r = measure_mode((enum mode)i, orphans, rate, rows);
        }
        if (r == 0)
            r = rescue_bare(orphans, &rows[ROW_ADOPTED].columns[EXACTNESS_BARE],
                            &rows[ROW_ORPHAN].columns[EXACTNESS_BARE]);
    }
    if (r == 0)
        r = exactness_print(options, name, rows, ROW_COUNT);
    if (r == 0 && orphans == PAPER_ORPHANS && !options->csv)
        printf("%-10s published: last adopted under %d ms, on 1,024 nodes with "
               "InfiniBand\n",
               name, PAPER_MS);
    return r;
}
