/* counts.c - what test-counts counts: a launch, round trips, an adoption, and
 * samples of the stack-trace tool, each in a phase of its own. */
#include <coppice/coppice.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench_tags.h"
#include "bench/family.h"
#include "bench/start.h"
#include "bench/synthetic.h"
#include "bench/turns.h"
#include "stat/request.h"

#define WARM     20 /* round trips that are not counted */
#define TRIPS    20
#define STUCK_MS 60000

/* The pause between two round trips of a slow tool. */
#define PAUSE_MS 20

/* The children of the commnode that is killed. */
#define ORPHANS 2

/* The daemons whose samples are joined. */
#define DAEMONS 16
#define JOB     "tasks=4096,daemons=16"

static void begin_phase(const char *name)
{
    if (turns_phase)
        turns_phase(name);
}

static int trip(struct cop_stream *stream)
{
    struct cop_packet *packet;
    int r = cop_stream_send(stream, BENCH_PING, "%d", 1);

    if (r == 0)
        r = cop_stream_receive(stream, &packet, STUCK_MS);
    if (r == 0)
        cop_packet_free(packet);
    return r;
}

static int make_trips(struct cop_stream *stream, int count, int pause_ms)
{
    struct timespec pause = {.tv_nsec = pause_ms * 1000000L};
    int r = 0;

    for (int i = 0; r == 0 && i < count; i++) {
        if (pause_ms > 0)
            nanosleep(&pause, NULL);
        r = trip(stream);
    }
    return r;
}

/* Find the commnode that was started first. Reading /proc takes the longer, the
 * more processes the machine has, so it is not counted. */
static int find_commnode(pid_t *out)
{
    struct family family;
    pid_t first = 0;
    int r = family_read(&family, getpid());

    for (size_t i = 0; r == 0 && i < family.count; i++)
        if (family.list[i].child_count > 0 &&
            (first == 0 || family.list[i].pid < first))
            first = family.list[i].pid;
    family_fini(&family);
    if (r == 0 && first == 0)
        r = -ESRCH;
    *out = first;
    return r;
}

/* Kill `victim`, and wait until its children have other parents. */
static int kill_commnode(struct cop_network *network, pid_t victim)
{
    struct cop_event event = COP_EVENT_INIT;
    int r = kill(victim, SIGKILL) < 0 ? -errno : 0;

    for (int adopted = 0; r == 0 && adopted < ORPHANS;) {
        r = cop_network_event(network, &event, STUCK_MS);
        adopted += r == 0 && event.type == COP_EVENT_NODE_ADOPTED;
    }
    return r;
}

static int count_tree(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network = NULL;
    struct cop_stream *stream;
    struct cop_error error = {.text = ""};
    pid_t victim = 0;
    int r;

    launch.topology_shape = "2x2";
    launch.times.heartbeat_ms = 600000; /* none is due */
    launch.times.failure_timeout_ms = 3600000;
    r = start_launch(&network, "bench_be", &launch);
    begin_phase("open");
    options.up_filter = "sum";
    if (r == 0)
        r = cop_stream_open(&stream, network, cop_network_everyone(network),
                            &options, &error);
    if (r == 0)
        r = make_trips(stream, WARM, 0);
    begin_phase("trip");
    if (r == 0)
        r = make_trips(stream, TRIPS, 0);
    begin_phase("slow trip");
    if (r == 0)
        r = make_trips(stream, TRIPS, PAUSE_MS);
    begin_phase("idle");
    if (r == 0)
        r = find_commnode(&victim);
    begin_phase("adoption");
    if (r == 0)
        r = kill_commnode(network, victim);
    if (r < 0)
        warnx("a tree of 2x2: %s %s", strerror(-r), error.text);
    return r;
}

/* Pack the sample of each daemon, as daemons do; read them, join them, and pack
 * the result, as their parent does. Takes the trees. */
static int join_samples(struct tree **trees)
{
    struct cop_packet *packets[DAEMONS] = {NULL};
    struct cop_packet *packet = NULL;
    struct tree *joined = NULL;
    int r = 0;

    for (size_t i = 0; i < DAEMONS; i++) {
        if (r == 0)
            r = tree_pack(&packets[i], STAT_TAG_TREE, trees[i]);
        tree_free(trees[i]);
        trees[i] = NULL;
    }
    for (size_t i = 0; r == 0 && i < DAEMONS; i++)
        r = tree_unpack(&trees[i], packets[i]);
    if (r == 0)
        r = tree_join_all(&joined, trees, DAEMONS);
    if (r == 0)
        r = tree_pack(&packet, STAT_TAG_TREE, joined);
    for (size_t i = 0; i < DAEMONS; i++) {
        tree_free(trees[i]);
        cop_packet_free(packets[i]);
    }
    tree_free(joined);
    cop_packet_free(packet);
    return r;
}

static int count_sample(const char *phase, const char *keys)
{
    struct tree *trees[DAEMONS] = {NULL};
    struct synthetic job;
    struct cop_error error;
    int r;

    begin_phase("idle");
    r = synthetic_parse(&job, keys, &error);
    for (uint32_t i = 0; r == 0 && i < DAEMONS; i++)
        r = synthetic_tree(&trees[i], &job, i);
    begin_phase(phase);
    if (r == 0)
        r = join_samples(trees);
    if (r < 0)
        warnx("%s: %s", phase, strerror(-r));
    return r;
}

int main(void)
{
    int r = count_tree();

    if (r == 0)
        r = count_sample("sample in blocks", JOB);
    if (r == 0)
        r = count_sample("sample in a cycle", JOB ",placement=cyclic");
    if (r == 0)
        r = count_sample("scattered sample",
                         JOB ",placement=cyclic,mix=scattered");
    if (turns_end)
        turns_end();
    _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS); /* all others have ended */
}
