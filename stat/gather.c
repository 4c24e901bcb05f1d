/* gather.c - see gather.h. */
#include "stat/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice/coppice.h>

#include "stat/request.h"
#include "stat/tree_pack.h"

#define DAEMON "coppice-statd"

/* How long a thread may take to stop, at most, and a shutdown. */
#define STOP_MS     1000
#define SHUTDOWN_MS 5000

/* Write the path of the daemon's program: $COPPICE_STATD, or the one in the
 * folder of this program. Returns 0, or -ENOENT with a sentence. */
static int find_daemon(char *path, size_t size, struct cop_error *error)
{
    const char *given = getenv("COPPICE_STATD");
    char own[PATH_MAX];
    char *slash;
    ssize_t len;

    if (given && given[0]) {
        snprintf(path, size, "%s", given);
        if (access(path, X_OK) == 0)
            return 0;
        return cop_error_set(error, -ENOENT,
                             "%s: cannot run it: %s: set COPPICE_STATD to the "
                             "path of " DAEMON ", or unset it",
                             path, strerror(errno));
    }
    len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[len > 0 ? len : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    snprintf(path, size, "%s/" DAEMON, own);
    if (access(path, X_OK) == 0)
        return 0;
    return cop_error_set(error, -ENOENT,
                         "%s: not found: install it beside coppice-stat, or "
                         "set COPPICE_STATD to its path",
                         path);
}

int gather_launch(struct cop_network **network,
                  const struct gather_options *options,
                  struct cop_error *error)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char daemon[PATH_MAX + sizeof(DAEMON) + 1];
    char *argv[] = {daemon, NULL};
    int r;

    r = find_daemon(daemon, sizeof(daemon), error);
    if (r < 0)
        return r;
    launch.topology_path = options->topology_path;
    if (!options->topology_path)
        launch.topology_shape = options->shape ? options->shape : "flat:1";
    launch.backend_argv = argv;
    launch.times.launch_timeout_ms = options->timeout_ms;
    return cop_network_launch(network, &launch, error);
}

/* Which daemon has which task: blocks of the same size. */
struct division {
    const struct cop_communicator *daemons;
    uint32_t task_count;
};

static uint32_t daemon_of(uint32_t task, void *arg)
{
    const struct division *division = arg;
    uint64_t count = cop_communicator_size(division->daemons);

    return cop_communicator_rank(division->daemons,
                                 (size_t)(task * count / division->task_count));
}

/* Say which daemon is to walk which tasks. */
static int ask(struct cop_stream *stream,
               const struct cop_communicator *daemons,
               const struct targets *targets,
               const struct gather_options *options)
{
    struct division division = {daemons, targets->count};
    uint32_t *ranks = calloc((size_t)targets->count + 1, sizeof(*ranks));
    struct request request = {.samples = options->samples,
                              .interval_ms = options->interval_ms,
                              .task_count = targets->count,
                              .daemons = ranks,
                              .pids = targets->pids};
    struct cop_packet *packet = NULL;
    char boot[REQUEST_BOOT_SIZE];
    uint32_t i;
    int r = -ENOMEM;

    if (!ranks)
        goto out;
    request_boot(boot);
    request.boot = boot;
    request.stop_ms =
        options->timeout_ms / 2 < STOP_MS ? options->timeout_ms / 2 : STOP_MS;
    for (i = 0; i < targets->count; i++)
        ranks[i] = daemon_of(i, &division);
    r = request_pack(&packet, &request);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
out:
    cop_packet_free(packet);
    free(ranks);
    return r;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Join `packet` to `*tree`. */
static int take(struct tree **tree, const struct cop_packet *packet)
{
    struct tree *more = NULL;
    struct tree *both = NULL;
    int r;

    r = tree_unpack(&more, packet);
    if (r == 0)
        r = tree_join(&both, *tree, more);
    tree_free(more);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = both;
    return 0;
}

/* Join all that has come on `stream` to `*tree`. */
static int take_all(struct tree **tree, struct cop_stream *stream)
{
    struct cop_packet *packet;
    int r;

    while ((r = cop_stream_receive(stream, &packet, 0)) == 0) {
        r = take(tree, packet);
        cop_packet_free(packet);
        if (r < 0)
            return r;
    }
    return r == -EAGAIN || r == -ENOTCONN ? 0 : r;
}

__attribute__((format(printf, 2, 3))) static void say(
    const struct gather_options *options, const char *format, ...)
{
    char line[sizeof(struct cop_event)];
    va_list list;

    if (!options->say)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    options->say(line);
}

/* Tell of nodes that were lost and adopted: of itself that costs nothing, for
 * the stream is recoverable. What does cost goes into `late`. */
static void take_events(struct cop_network *network,
                        const struct gather_options *options,
                        struct cop_error *late)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(network, &event, 0) == 0) {
        if (event.type == COP_EVENT_NODE_LOST)
            say(options, "node %u was lost: %s", event.rank, event.text);
        else if (event.type == COP_EVENT_NODE_ADOPTED)
            say(options, "node %u was adopted %s", event.rank, event.text);
        else if (event.type == COP_EVENT_BACKEND_LOST)
            cop_error_set(late, -ECONNRESET, "node %u was lost: %s", event.rank,
                          event.text);
        else if (event.type == COP_EVENT_FILTER_ERROR)
            cop_error_set(late, -EPROTO, "a filter failed at node %u: %s",
                          event.rank, event.text);
        else if (event.type == COP_EVENT_ENDED)
            cop_error_set(late, -ENOTCONN, "the tree ended: %s", event.text);
    }
}

/* Take the samples as they come, and tell of each. The number of a packet's
 * wave is how many samples all daemons have sent. While a parent is lost waves
 * may be joined, so fewer may come; then it is quiet, and the sync that follows
 * knows when all is in. Returns 0 or a negative errno. */
static int follow(struct tree **tree,
                  struct cop_network *network,
                  struct cop_stream *stream,
                  const struct gather_options *options,
                  struct cop_error *late)
{
    uint64_t quiet_ms = 2 * (uint64_t)options->interval_ms + 2 * STOP_MS;
    struct cop_packet *packet;
    uint64_t sample = 0;
    int r;

    if (quiet_ms > options->timeout_ms)
        quiet_ms = options->timeout_ms;
    while (sample < options->samples) {
        r = cop_stream_receive(stream, &packet, (int)quiet_ms);
        take_events(network, options, late);
        if (r == -EAGAIN || r == -ENOTCONN)
            return 0;
        if (r < 0)
            return r;
        r = take(tree, packet);
        if (r == 0 && cop_packet_wave(packet) > sample) {
            sample = cop_packet_wave(packet);
            say(options, "sample %" PRIu64 " of %u", sample, options->samples);
        }
        cop_packet_free(packet);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Wait for the answer to be complete. Returns 0 or a negative errno. */
static int finish(struct tree **tree,
                  struct cop_network *network,
                  struct cop_stream *stream,
                  const struct gather_options *options,
                  struct cop_error *late)
{
    int r;

    r = cop_stream_sync(stream, (int)options->timeout_ms, late);
    if (r < 0 && !late->text[0])
        cop_error_set(late, r, "no complete answer: %s", strerror(-r));
    if (r > 0)
        cop_error_set(late, -ECONNRESET, "a link was lost on the way");
    r = take_all(tree, stream);
    take_events(network, options, late);
    return r;
}

/* Ask for all names that are missing, until they are there or the time is up:
 * then the tree is shown without them. */
static int ask_names(struct naming *naming,
                     struct cop_network *network,
                     const struct targets *targets,
                     uint32_t timeout_ms,
                     struct cop_error *late)
{
    struct cop_stream_options stream_options = COP_STREAM_OPTIONS_INIT;
    struct division division = {cop_network_everyone(network), targets->count};
    struct cop_stream *stream = NULL;
    struct cop_packet *packet = NULL;
    struct cop_error error = {""};
    uint64_t end_ms = now_ms() + timeout_ms, now;
    int r;

    stream_options.sync = COP_DO_NOT_WAIT;
    r = cop_stream_open(&stream, network, division.daemons, &stream_options,
                        &error);
    if (r == 0)
        r = naming_ask(&packet, naming, daemon_of, &division);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
    cop_packet_free(packet);
    while (r == 0 && naming_missing(naming) > 0) {
        now = now_ms();
        r = now < end_ms
                ? cop_stream_receive(stream, &packet, (int)(end_ms - now))
                : -EAGAIN;
        if (r < 0)
            break;
        r = naming_take(naming, packet);
        cop_packet_free(packet);
    }
    if (r < 0 && r != -ENOMEM && !late->text[0])
        cop_error_set(late, r, "some addresses stay without names: %s",
                      error.text[0] ? error.text : "no answer in time");
    return r == -ENOMEM ? r : 0;
}

/* Replace `*tree` by one with names. */
static int name(struct tree **tree,
                struct cop_network *network,
                const struct targets *targets,
                const struct gather_options *options,
                struct cop_error *late)
{
    struct naming *naming = NULL;
    struct tree *named = NULL;
    int r;

    r = naming_new(&naming, *tree);
    if (r == 0 && naming_missing(naming) > 0)
        r = ask_names(naming, network, targets, options->timeout_ms, late);
    if (r == 0)
        r = naming_resolve(&named, naming, options->detail);
    naming_free(naming);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = named;
    return 0;
}

int gather_tree(struct tree **out,
                const struct targets *targets,
                const struct gather_options *options,
                struct cop_error *late,
                struct cop_error *error)
{
    struct cop_stream_options stream_options = COP_STREAM_OPTIONS_INIT;
    const struct cop_communicator *daemons;
    struct cop_network *network = NULL;
    struct cop_stream *stream = NULL;
    struct tree *tree = NULL;
    int r;

    error->text[0] = '\0';
    late->text[0] = '\0';
    r = gather_launch(&network, options, error);
    if (r < 0)
        goto out;
    daemons = cop_network_everyone(network);
    stream_options.up_filter = "stat_merge";
    r = cop_stream_open(&stream, network, daemons, &stream_options, error);
    if (r < 0)
        goto out;
    r = ask(stream, daemons, targets, options);
    if (r < 0)
        goto out;
    r = tree_new(&tree, &(struct tree_size){0});
    if (r == 0 && options->samples > 1)
        r = follow(&tree, network, stream, options, late);
    if (r == 0)
        r = finish(&tree, network, stream, options, late);
    if (r == 0)
        r = name(&tree, network, targets, options, late);
    if (r == 0)
        r = tree_settle(out, tree);
out:
    if (r < 0 && !error->text[0])
        cop_error_set(error, r, "cannot gather the stacks: %s", strerror(-r));
    if (network)
        cop_network_shutdown(network, SHUTDOWN_MS);
    cop_network_free(network);
    tree_free(tree);
    return r;
}
