/* views.c - the time until every back-end has the next view of a tree.
 *
 * A view is one packet down and claims up, so the limit is the bare tree's
 * broadcast and answer. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_tags.h"
#include "bench/duel.h"
#include "bench/family.h"
#include "bench/rescue.h"
#include "bench/start.h"

extern char **environ;

#define STUCK_MS 60000
#define PINGS    20

enum change {
    CHANGE_JOIN,     /* a commnode joins */
    CHANGE_LEAVE,    /* a back-end leaves */
    CHANGE_BACKEND,  /* a back-end is killed */
    CHANGE_COMMNODE, /* a commnode on the lowest level is killed */
    CHANGE_SEVERAL,  /* ... and two back-ends of another one with it */
    CHANGE_COUNT,
};

/* One tree, of which one thing changes at a time. */
struct place {
    struct cop_network *network;
    struct cop_stream *stream; /* do_not_wait: to ask one to leave */
    char session[64];
    uint32_t leaves;
};

static void place_end(struct place *place)
{
    if (place->network)
        cop_network_shutdown(place->network, RESCUE_STUCK_MS);
    cop_network_free(place->network);
    unlink(place->session);
    rescue_reap();
}

static int place_start(struct place *place, const struct shape *shape)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error;
    int r;

    *place = (struct place){.leaves = shape_leaves(shape)};
    snprintf(place->session, sizeof(place->session), "/tmp/views.%ld",
             (long)getpid());
    launch.topology_shape = shape->text;
    launch.session_path = place->session;
    launch.views = true;
    r = start_launch(&place->network, "bench_be", &launch);
    if (r < 0)
        return r;
    options.sync = COP_DO_NOT_WAIT;
    r = cop_stream_open(&place->stream, place->network,
                        cop_network_everyone(place->network), &options, &error);
    if (r < 0)
        warnx("coppice: %s", error.text);
    return r;
}

/* Kill processes of the tree: `commnodes` of those whose children are leaves, and
 * then `leaves` below another of them. */
static int kill_some(unsigned commnodes, unsigned leaves)
{
    struct family family;
    pid_t spared = 0;
    int r = family_read(&family, getpid());

    for (size_t i = 0; r == 0 && i < family.count; i++) {
        const struct process *process = &family.list[i];
        bool low = false;

        for (size_t k = 0; k < family.count; k++)
            low |= family.list[k].parent == process->pid &&
                   family.list[k].child_count == 0;
        if (!low)
            continue;
        if (commnodes > 0 && kill(process->pid, SIGKILL) == 0)
            commnodes--;
        else if (spared == 0)
            spared = process->pid;
    }
    for (size_t i = 0; r == 0 && i < family.count && leaves > 0; i++)
        if (family.list[i].parent == spared &&
            kill(family.list[i].pid, SIGKILL) == 0)
            leaves--;
    family_fini(&family);
    return r < 0 ? r : commnodes + leaves > 0 ? -ESRCH : 0;
}

static int join_commnode(const struct place *place)
{
    char program[PATH_MAX];
    char *argv[] = {program, (char *)(uintptr_t) "--session",
                    (char *)(uintptr_t)place->session, NULL};
    const char *given = getenv("COPPICE_COMMNODE");
    pid_t pid;
    int r = 0;

    if (given)
        snprintf(program, sizeof(program), "%s", given);
    else
        r = start_path(program, sizeof(program), "../run/coppice-commnode");
    if (r == 0)
        r = -posix_spawn(&pid, program, NULL, NULL, argv, environ);
    if (r < 0)
        warnx("%s: %s", program, strerror(-r));
    return r;
}

static int leave(const struct place *place)
{
    const struct cop_communicator *everyone =
        cop_network_everyone(place->network);
    uint32_t rank = cop_communicator_rank(everyone, place->leaves - 1);
    struct cop_packet *packet;
    int r = cop_packet_new(&packet, BENCH_LEAVE, "");

    if (r < 0)
        return r;
    r = cop_stream_send_to(place->stream, &rank, 1, packet);
    cop_packet_free(packet);
    return r;
}

static int make_change(const struct place *place, enum change change)
{
    switch (change) {
    case CHANGE_JOIN:
        return join_commnode(place);
    case CHANGE_LEAVE:
        return leave(place);
    case CHANGE_BACKEND:
        return kill_some(0, 1);
    case CHANGE_COMMNODE:
        return kill_some(1, 0);
    case CHANGE_SEVERAL:
        return kill_some(1, 2);
    case CHANGE_COUNT:
        break;
    }
    return -EINVAL;
}

/* Wait until a view is stable that has all changes until now. */
static int await_view(const struct place *place, double *took_ms)
{
    double end_s = duel_now_s() + STUCK_MS / 1e3;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_view view = COP_VIEW_INIT;
    int r;

    *took_ms = 0;
    do {
        r = cop_network_event(place->network, &event, 100);
        if (r == 0 && event.type == COP_EVENT_VIEW)
            *took_ms += (double)event.view_us / 1e3;
        if (r == 0)
            r = cop_network_view(place->network, &view);
        free(view.ranks);
        view.ranks = NULL;
    } while ((r == 0 || r == -EAGAIN) && duel_now_s() < end_s &&
             (*took_ms == 0 || view.stable < view.number));
    return r == -EAGAIN ? -ETIMEDOUT : r;
}

/* The bare tree's broadcast and answer. It is gone when the other begins, of which
 * processes are killed. */
static int measure_limit(struct duel *duel,
                         const struct shape *shape,
                         struct sample *out)
{
    size_t limit = duel->count - 1;
    struct sample trips = {.values = NULL};
    int r = duel->side[limit]->start(&duel->tree[limit], shape);

    if (r == 0)
        r = duel->side[limit]->prepare_ping(duel->tree[limit]);
    for (int k = 0; r == 0 && k < PINGS; k++) {
        double start = duel_now_s();

        r = duel->side[limit]->ping(duel->tree[limit]);
        if (r == 0)
            r = sample_add(&trips, (duel_now_s() - start) * 1e3);
    }
    if (r == 0)
        r = sample_add(out, sample_quantile(&trips, 0.5));
    sample_fini(&trips);
    if (duel->tree[limit])
        duel->side[limit]->end(duel->tree[limit]);
    duel->tree[limit] = NULL;
    return r;
}

static int measure_change(struct duel *duel,
                          const struct shape *shape,
                          enum change change,
                          struct sample *samples)
{
    struct place place;
    double took_ms;
    int r = measure_limit(duel, shape, &samples[duel->count - 1]);

    if (r < 0 || duel->options->bare_only)
        return r;
    r = place_start(&place, shape);
    if (r == 0)
        r = make_change(&place, change);
    if (r == 0)
        r = await_view(&place, &took_ms);
    if (r == 0)
        r = sample_add(&samples[0], took_ms);
    place_end(&place);
    return r;
}

static int measure(struct duel *duel, const struct shape *shape)
{
    static const struct duel_metric metrics[CHANGE_COUNT] = {
        [CHANGE_JOIN] = {"a commnode joins", "ms", false, 0},
        [CHANGE_LEAVE] = {"a back-end leaves", "ms", false, 0},
        [CHANGE_BACKEND] = {"a back-end dies", "ms", false, 0},
        [CHANGE_COMMNODE] = {"a commnode dies", "ms", false, 0},
        [CHANGE_SEVERAL] = {"three die", "ms", false, 0},
    };
    int r = 0;

    for (int c = 0; r == 0 && c < CHANGE_COUNT; c++) {
        struct sample samples[DUEL_SIDES_MAX] = {{.values = NULL}};

        for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++)
            r = measure_change(duel, shape, (enum change)c, samples);
        if (r == 0)
            r = duel_print(duel, shape, &metrics[c], samples);
        for (size_t i = 0; i < DUEL_SIDES_MAX; i++)
            sample_fini(&samples[i]);
    }
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "views",
        .what =
            "Change who is in a tree: from when the front-end learns of the "
            "first change until every back-end has the view.",
        .cases = "2x2x2x2x2,4x4,4x4x4,16x16",
        .rounds = 10,
    };

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        err(1, "prctl");
    return duel_main(argc, argv, &usage, measure);
}
