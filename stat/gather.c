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

#include "stat/frame.h"
#include "stat/request.h"
#include "stat/traces.h"
#include "stat/tree_pack.h"

/* How long a thread may take to stop, at most, and a shutdown. */
#define STOP_MS     1000
#define SHUTDOWN_MS 5000

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
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

/* Say which daemon is to walk which tasks. */
static int ask(struct cop_stream *stream,
               const struct daemons *daemons,
               const struct targets *targets,
               const struct gather_options *options)
{
    uint32_t *ranks = calloc((size_t)targets->count + 1, sizeof(*ranks));
    struct request request = {.samples = options->watch_ms > 0
                                             ? REQUEST_SAMPLES_MAX
                                             : options->samples,
                              .interval_ms = options->interval_ms,
                              .max_stop_ms = options->max_stop_ms,
                              .flags = (options->names ? REQUEST_NAMES : 0) |
                                       (options->states ? REQUEST_STATES : 0),
                              .task_count = targets->count,
                              .daemons = ranks,
                              .pids = targets->pids};
    struct cop_packet *packet = NULL;
    char boot[REQUEST_BOOT_SIZE] = "";
    uint32_t i;
    int r = -ENOMEM;

    if (!ranks)
        goto out;
    if (targets->host_count <= 1)
        request_boot(boot);
    request.boot = boot;
    request.stop_ms =
        options->timeout_ms / 2 < STOP_MS ? options->timeout_ms / 2 : STOP_MS;
    for (i = 0; i < targets->count; i++)
        ranks[i] = daemons_of_task(daemons, i);
    r = request_pack(&packet, &request);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
out:
    cop_packet_free(packet);
    free(ranks);
    return r;
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

/* Tell of a sample. Returns 1 if it is the last that is wanted, 0 if more are
 * to come, or a negative errno. */
static int say_sample(const struct tree *tree,
                      uint64_t sample,
                      const struct gather_options *options)
{
    struct tasks *all;
    int64_t still;
    uint64_t still_ms;
    int r;

    if (options->watch_ms == 0) {
        say(options, "sample %" PRIu64 " of %u", sample, options->samples);
        return sample >= options->samples;
    }
    r = tree_tasks(&all, tree);
    if (r < 0)
        return r;
    still = tree_unmoved(tree, all);
    tasks_free(all);
    if (still < 0)
        return (int)still;
    still_ms = still > 0 ? (uint64_t)(still - 1) * options->interval_ms : 0;
    say(options, "sample %" PRIu64 ": nothing has moved for %.1f s", sample,
        (double)still_ms / 1000);
    return still_ms >= options->watch_ms || sample >= REQUEST_SAMPLES_MAX;
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
    uint64_t end_ms = now_ms() + options->timeout_ms;
    uint64_t sample = 0;
    int r = 0;

    if (quiet_ms > options->timeout_ms)
        quiet_ms = options->timeout_ms;
    while (r == 0) {
        r = cop_stream_receive(stream, &packet, (int)quiet_ms);
        take_events(network, options, late);
        if (r < 0)
            break;
        r = take(tree, packet);
        if (r == 0 && cop_packet_wave(packet) > sample) {
            sample = cop_packet_wave(packet);
            r = say_sample(*tree, sample, options);
        }
        if (r == 0 && options->watch_ms > 0 && now_ms() > end_ms)
            r = 1;
        cop_packet_free(packet);
    }
    if (r > 0 && options->watch_ms > 0)
        r = cop_stream_send(stream, STAT_TAG_STOP, "%ud", 1u);
    return r == -EAGAIN || r == -ENOTCONN || r > 0 ? 0 : r;
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

static uint32_t task_daemon(uint32_t task, void *arg)
{
    return daemons_of_task(arg, task);
}

/* Open the stream of questions and answers. */
static int open_answers(struct cop_stream **stream,
                        const struct daemons *daemons,
                        struct cop_error *error)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network = daemons_network(daemons);

    options.sync = COP_DO_NOT_WAIT;
    return cop_stream_open(stream, network, cop_network_everyone(network),
                           &options, error);
}

/* Wait for a packet until `end_ms`. */
static int receive_until(struct cop_stream *stream,
                         struct cop_packet **packet,
                         uint64_t end_ms)
{
    uint64_t now = now_ms();

    return now < end_ms
               ? cop_stream_receive(stream, packet, (int)(end_ms - now))
               : -EAGAIN;
}

/* Ask the daemons for the processes that are wanted of them. `asked` of the
 * wanted are to be answered. */
static int ask_wanted(struct cop_stream *stream,
                      const struct daemons *daemons,
                      const struct targets *targets,
                      uint32_t *asked)
{
    uint32_t count = targets->wanted_count, i;
    uint32_t *ranks = calloc((size_t)count + 1, sizeof(*ranks));
    const char **names = calloc((size_t)count + 1, sizeof(char *));
    const char **users = calloc((size_t)count + 1, sizeof(char *));
    struct find find = {count, ranks, names, users};
    struct cop_packet *packet = NULL;
    int r = -ENOMEM;

    if (!ranks || !names || !users)
        goto out;
    *asked = 0;
    for (i = 0; i < count; i++) {
        ranks[i] = daemons_of_host(daemons, targets->wanted[i].host);
        names[i] = targets->wanted[i].name;
        users[i] = targets->wanted[i].user;
        *asked += ranks[i] != COP_RANK_NONE;
    }
    r = find_pack(&packet, &find);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
out:
    cop_packet_free(packet);
    free(ranks);
    free(names);
    free(users);
    return r;
}

/* What one answer says; the pids are kept until all are there, so that the
 * tasks are in the order of the hosts. */
struct finding {
    int32_t *pids;
    uint32_t count;
    bool answered;
};

static int take_found(struct finding *findings,
                      uint32_t count,
                      const struct cop_packet *packet)
{
    struct finding *finding;
    struct found found;
    int r;

    r = found_unpack(&found, packet);
    if (r < 0)
        return r;
    if (found.index >= count || findings[found.index].answered)
        return -EBADMSG;
    finding = &findings[found.index];
    finding->pids = calloc((size_t)found.count + 1, sizeof(*finding->pids));
    if (!finding->pids)
        return -ENOMEM;
    if (found.count)
        memcpy(finding->pids, found.pids, found.count * sizeof(*found.pids));
    finding->count = found.count;
    finding->answered = true;
    return 0;
}

/* Name the hosts where a program was not found: one line for each program. */
static int say_nothing(const struct targets *targets,
                       const struct finding *findings,
                       const struct gather_options *options)
{
    uint32_t count = targets->wanted_count, i, k;
    const char **hosts = calloc((size_t)count + 1, sizeof(char *));
    bool *done = calloc((size_t)count + 1, sizeof(*done));
    int r = hosts && done ? 0 : -ENOMEM;

    for (i = 0; r == 0 && i < count; i++) {
        const struct targets_wanted *wanted = &targets->wanted[i];
        size_t here = 0;
        char *text;

        if (done[i] || !findings[i].answered || findings[i].count > 0)
            continue;
        for (k = i; k < count; k++) {
            const struct targets_wanted *other = &targets->wanted[k];

            if (!findings[k].answered || findings[k].count > 0 ||
                strcmp(wanted->name, other->name) != 0 ||
                strcmp(wanted->user, other->user) != 0)
                continue;
            hosts[here++] = targets_host_name(targets, other->host);
            done[k] = true;
        }
        r = cop_hosts_text(&text, hosts, here);
        if (r < 0)
            break;
        say(options, "no process%s%s%s%s on %s",
            wanted->user[0] ? " of user " : "", wanted->user,
            wanted->name[0] ? " called " : "", wanted->name, text);
        free(text);
    }
    free(hosts);
    free(done);
    return r;
}

/* Add what was found to the targets, and name the hosts where nothing was. */
static int add_found(struct targets *targets,
                     const struct finding *findings,
                     const struct gather_options *options,
                     struct cop_error *late)
{
    uint32_t i, k;
    int r = 0;

    for (i = 0; i < targets->wanted_count; i++) {
        uint32_t host = targets->wanted[i].host;

        if (!findings[i].answered)
            cop_error_set(late, -ETIMEDOUT, "%s: its processes are not known",
                          targets_host_name(targets, host));
        for (k = 0; r == 0 && k < findings[i].count; k++)
            r = targets_add(targets, host, findings[i].pids[k]);
    }
    return r < 0 ? r : say_nothing(targets, findings, options);
}

/* Have the daemons find what is wanted. */
static int find(struct targets *targets,
                const struct daemons *daemons,
                struct cop_stream *stream,
                const struct gather_options *options,
                struct cop_error *late)
{
    uint64_t end_ms = now_ms() + options->timeout_ms;
    uint32_t count = targets->wanted_count, asked = 0, i;
    struct finding *findings = calloc((size_t)count + 1, sizeof(*findings));
    struct cop_packet *packet;
    int r = findings ? 0 : -ENOMEM;

    if (r == 0)
        r = ask_wanted(stream, daemons, targets, &asked);
    while (r == 0 && asked > 0) {
        r = receive_until(stream, &packet, end_ms);
        if (r < 0)
            break;
        r = take_found(findings, count, packet);
        asked--;
        cop_packet_free(packet);
    }
    if (r == 0 || r == -EAGAIN || r == -ENOTCONN)
        r = add_found(targets, findings, options, late);
    for (i = 0; findings && i < count; i++)
        free(findings[i].pids);
    free(findings);
    return r;
}

/* Say of each host without a daemon why it has none, and put its tasks into
 * the tree as not walked. */
static int add_absent(struct tree **tree,
                      const struct targets *targets,
                      const struct daemons *daemons,
                      const struct gather_options *options,
                      struct cop_error *late)
{
    char text[sizeof(FRAME_NOT_WALKED) + 512];
    struct frame frame = FRAME_NOTE(text);
    struct traces *traces = NULL;
    struct tree *absent = NULL, *both = NULL;
    uint32_t host, i;
    int r;

    r = traces_new(&traces);
    for (host = 0; r == 0 && host < targets->host_count; host++) {
        const char *reason = daemons_reason(daemons, host);

        if (!reason[0])
            continue;
        say(options, "%s has no daemon: %s", targets_host_name(targets, host),
            reason);
        cop_error_set(late, -EHOSTUNREACH, "%s could not be looked at",
                      targets_host_name(targets, host));
        snprintf(text, sizeof(text), FRAME_NOT_WALKED "%s has no daemon]",
                 targets_host_name(targets, host));
        for (i = 0; r == 0 && i < targets->count; i++)
            if (targets->hosts[i] == host)
                r = traces_add(traces, i, &frame, 1);
    }
    if (r == 0)
        r = traces_sample(&absent, traces, 0);
    if (r == 0)
        r = tree_join(&both, *tree, absent);
    traces_free(traces);
    tree_free(absent);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = both;
    return 0;
}

/* Ask for all names that are missing, until they are there or the time is up:
 * then the tree is shown without them. */
static int ask_names(struct naming *naming,
                     const struct daemons *daemons,
                     struct cop_stream *stream,
                     uint32_t timeout_ms,
                     struct cop_error *late)
{
    uint64_t end_ms = now_ms() + timeout_ms;
    struct cop_packet *packet = NULL;
    int r;

    r = naming_ask(&packet, naming, task_daemon, (void *)daemons);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
    cop_packet_free(packet);
    while (r == 0 && naming_missing(naming) > 0) {
        r = receive_until(stream, &packet, end_ms);
        if (r < 0)
            break;
        r = naming_take(naming, packet);
        cop_packet_free(packet);
    }
    if (r < 0 && r != -ENOMEM && !late->text[0])
        cop_error_set(late, r, "some addresses stay without names: %s",
                      r == -EAGAIN ? "no answer in time" : strerror(-r));
    return r == -ENOMEM ? r : 0;
}

/* Replace `*tree` by one with names. */
static int name(struct tree **tree,
                const struct daemons *daemons,
                struct cop_stream *stream,
                const struct gather_options *options,
                struct cop_error *late)
{
    struct naming *naming = NULL;
    struct tree *named = NULL;
    int r;

    r = naming_new(&naming, *tree, NULL);
    if (r == 0 && naming_missing(naming) > 0)
        r = ask_names(naming, daemons, stream, options->timeout_ms, late);
    if (r == 0)
        r = naming_resolve(&named, naming, options->detail);
    naming_free(naming);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = named;
    return 0;
}

/* Everything between launch and end. */
static int gather(struct tree **tree,
                  const struct daemons *daemons,
                  struct targets *targets,
                  const struct gather_options *options,
                  struct cop_error *late,
                  struct cop_error *error)
{
    struct cop_stream_options stream_options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network = daemons_network(daemons);
    struct cop_stream *answers = NULL, *stream = NULL;
    int r;

    stream_options.up_filter = "stat_merge";
    r = cop_stream_open(&stream, network, cop_network_everyone(network),
                        &stream_options, error);
    if (r == 0)
        r = open_answers(&answers, daemons, error);
    if (r == 0 && targets->wanted_count > 0)
        r = find(targets, daemons, answers, options, late);
    if (r == 0 && targets->count == 0)
        r = cop_error_set(error, -ESRCH,
                          "no process was found: check names, users and hosts");
    if (r == 0)
        r = ask(stream, daemons, targets, options);
    if (r == 0 && (options->samples > 1 || options->watch_ms > 0))
        r = follow(tree, network, stream, options, late);
    if (r == 0)
        r = finish(tree, network, stream, options, late);
    if (r == 0)
        r = add_absent(tree, targets, daemons, options, late);
    if (r == 0)
        r = name(tree, daemons, answers, options, late);
    return r;
}

int gather_tree(struct tree **out,
                struct targets *targets,
                const struct gather_options *options,
                struct cop_error *late,
                struct cop_error *error)
{
    struct daemons *daemons = NULL;
    struct tree *tree = NULL;
    int r;

    error->text[0] = '\0';
    late->text[0] = '\0';
    r = daemons_launch(&daemons, targets, &options->daemons,
                       options->timeout_ms, error);
    if (r == 0)
        r = tree_new(&tree, &(struct tree_size){0});
    if (r == 0)
        r = gather(&tree, daemons, targets, options, late, error);
    if (r == 0)
        r = tree_settle(out, tree);
    if (r < 0 && !error->text[0])
        cop_error_set(error, r, "cannot gather the stacks: %s", strerror(-r));
    daemons_free(daemons, SHUTDOWN_MS);
    tree_free(tree);
    return r;
}
