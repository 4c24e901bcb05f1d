/* faults.c - bench/exactness under steady faults: the progress at several
 * numbers of faults a minute, as figure 9 of the MPICH-V paper shows for MPI.
 *
 * A fault is a commnode that resets the connection to its parent: data in
 * flight is lost, and the commnode becomes an orphan with all nodes below it.
 * Unlike after a kill, the tree keeps its size, so that faults can continue. */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice/status.h>

#include "bench/census.h"
#include "bench/duel.h"
#include "bench/exactness.h"
#include "bench/integers.h"
#include "bench/rescue.h"
#include "bench/side.h"

#define WARM_S   0.2
#define WINDOW_S 1.2

/* More than any back-end can send. */
#define RATE 1000000

#define INJECT_MS 5000

enum {
    ROW_RIGHT,
    ROW_FAULTS,
    ROW_COUNT
};

/* A thread that injects the faults. */
struct breaker {
    const char *session_path;
    uint32_t commnodes; /* of ranks 1 to this */
    uint32_t per_minute;
    atomic_bool stop;
    uint32_t done;
};

/* Inject one fault. A node that is an orphan at this moment is unreachable:
 * then try another one. */
static void break_one(struct breaker *breaker, uint32_t *draws)
{
    struct cop_error error;

    for (uint32_t i = 0; i < breaker->commnodes; i++) {
        uint32_t rank =
            1 + (uint32_t)integers_draw(0, (*draws)++) % breaker->commnodes;

        if (cop_network_inject(breaker->session_path, rank, COP_INJECT_CUT, 0,
                               INJECT_MS, &error) < 0)
            continue;
        breaker->done++;
        return;
    }
}

static void *break_nodes(void *arg)
{
    struct breaker *breaker = arg;
    double due_s = duel_now_s();
    uint32_t draws = 0;

    while (!atomic_load(&breaker->stop)) {
        double left_s = due_s - duel_now_s();
        struct timespec pause = {.tv_nsec = 1000000};

        if (left_s > 0) {
            nanosleep(&pause, NULL);
            continue;
        }
        break_one(breaker, &draws);
        due_s += 60.0 / breaker->per_minute;
    }
    return NULL;
}

/* Take answers for `for_s`. The answers of a stream that failed count. */
static int work(struct census *census, double for_s)
{
    double end_s = duel_now_s() + for_s;
    bool right;
    int r = 0;

    while ((r == 0 || r == -EAGAIN) && duel_now_s() < end_s) {
        struct cop_event event = COP_EVENT_INIT;

        while (cop_network_event(census->network, &event, 0) == 0)
            if (event.type == COP_EVENT_STREAM_FAILED)
                warnx("coppice: %s stream: %s", mode_name(census->mode),
                      event.text);
        r = census_take(census, 1, &right);
    }
    return r == -EAGAIN || r == -EIO ? 0 : r;
}

/* The right answers: each wave; in modes in which a later answer contains what
 * was lost, everything up to the last right answer. */
static uint32_t progress(const struct census *census)
{
    return census->mode == MODE_NONE ? census->right : census->wave;
}

static int run(struct census *census,
               struct breaker *breaker,
               struct exactness_row *rows)
{
    enum mode mode = census->mode;
    double began_s;
    uint32_t began;
    pthread_t thread;
    int r = work(census, WARM_S);

    if (r < 0)
        return r;
    began = progress(census);
    began_s = duel_now_s();
    if (breaker->per_minute > 0)
        r = -pthread_create(&thread, NULL, break_nodes, breaker);
    if (r < 0)
        return r;
    r = work(census, WINDOW_S);
    began_s = duel_now_s() - began_s;
    atomic_store(&breaker->stop, true);
    if (breaker->per_minute > 0)
        pthread_join(thread, NULL);
    if (r == 0)
        r = sample_add(&rows[ROW_RIGHT].columns[mode],
                       (progress(census) - began) / began_s);
    if (r == 0)
        r = sample_add(&rows[ROW_FAULTS].columns[mode],
                       breaker->done * 60 / began_s);
    return r;
}

static int measure_mode(enum mode mode,
                        const struct shape *shape,
                        uint32_t per_minute,
                        struct exactness_row *rows)
{
    char path[] = "/tmp/exactness-XXXXXX";
    int fd = mkstemp(path); /* the session file replaces it */
    struct breaker breaker = {
        .session_path = path,
        .commnodes = shape_nodes(shape) - shape_leaves(shape),
        .per_minute = per_minute,
    };
    struct census *census = NULL;
    int r = fd < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    if (r == 0)
        r = census_start(&census, mode, shape->text, NULL, path, RATE);
    if (r == 0)
        r = run(census, &breaker, rows);
    if (r < 0)
        warnx("coppice: %s, %u faults a minute: %s", mode_name(mode),
              per_minute, strerror(-r));
    census_end(census);
    rescue_reap();
    unlink(path);
    return r;
}

/* Measure the waves of the bare tree without a fault: it survives none. */
static int measure_bare(const struct shape *shape, struct exactness_row *rows)
{
    const uint32_t count = 50000;
    void *tree = NULL;
    double began_s;
    int r = bare_side.start(&tree, shape);

    if (r < 0)
        return r;
    r = bare_side.prepare_stream(tree, SIDE_INTS);
    began_s = duel_now_s();
    if (r == 0)
        r = bare_side.stream(tree, count);
    if (r == 0)
        r = sample_add(&rows[ROW_RIGHT].columns[EXACTNESS_BARE],
                       count / (duel_now_s() - began_s));
    bare_side.end(tree);
    return r;
}

static int measure_rate(const struct options *options,
                        const struct shape *shape,
                        uint32_t per_minute)
{
    struct exactness_row rows[ROW_COUNT] = {
        [ROW_RIGHT] = {.metric = "right waves", .unit = "waves/s"},
        [ROW_FAULTS] = {.metric = "faults", .unit = "/min"},
    };
    char name[32];
    int r = 0;

    snprintf(name, sizeof(name), "%u/min", per_minute);
    for (uint32_t k = 0; r == 0 && k < options->rounds; k++) {
        for (int i = 0; r == 0 && i < MODE_COUNT; i++) {
            exactness_progress("faults", name, (enum mode)i);
            r = measure_mode((enum mode)i, shape, per_minute, rows);
        }
        if (r == 0 && per_minute == 0)
            r = measure_bare(shape, rows);
    }
    return r < 0 ? r : exactness_print(options, name, rows, ROW_COUNT);
}

int faults_measure(const struct options *options, const struct shape *shape)
{
    static const uint32_t rates[] = {0, 60, 300, 1000, 3000, 10000, 30000};
    char name[32];
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(rates) / sizeof(*rates); i++) {
        snprintf(name, sizeof(name), "%u/min", rates[i]);
        if (!options->metrics || options_lists(options->metrics, "faults") ||
            options_lists(options->metrics, name))
            r = measure_rate(options, shape, rates[i]);
    }
    return r;
}
