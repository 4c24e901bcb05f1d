/* gather.c - see gather.h. */
#include "stat/gather/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <coppice/coppice.h>

#include "stat/clock.h"
#include "stat/gather/complete.h"
#include "stat/gather/find.h"
#include "stat/gather/gathering.h"
#include "stat/gather/live.h"
#include "stat/request.h"
#include "stat/tree/tree.h"

/* The part, as 1/n, of a daemon's time for all its tasks that it waits for one
 * thread, to leave time for the others. */
#define STOP_PART 8

/* While samples are due: how often to check for Ctrl-C and for lost daemons. */
#define WATCH_MS 100

/* In a look of at most this many samples names are not requested early. */
#define SHORT_SAMPLES 3

/* How long to wait for the tree to end; and how long if a daemon was lost or
 * has not answered. */
#define SHUTDOWN_MS       5000
#define SHUTDOWN_AFTER_MS 1000

/* A process and the rank of its daemon. */
struct placed {
    uint32_t daemon;
    uint32_t index;
};

static int by_daemon(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;

    if (x->daemon != y->daemon)
        return x->daemon < y->daemon ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Whether a process is a helper, part of the task of the one before it. */
static bool is_helper(const struct targets *targets, uint32_t index)
{
    return targets->facts[index].helper && index > 0 &&
           targets->tasks[index - 1] == targets->tasks[index];
}

/* Write the daemons and the pids of all processes in the order of daemons, and
 * the numbers of their tasks into `gathering`. Returns 0 or -ENOMEM. */
static int order_targets(uint32_t *ranks,
                         int32_t *pids,
                         struct gathering *gathering)
{
    const struct targets *targets = gathering->targets;
    struct placed *order = calloc((size_t)targets->count + 1, sizeof(*order));
    bool needed = false;

    gathering->numbers = calloc((size_t)targets->count + 1, sizeof(uint32_t));
    if (!order || !gathering->numbers) {
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < targets->count; i++)
        /* A helper is looked at by the daemon of its rank. */
        order[i] = (struct placed){
            is_helper(targets, i) ? order[i - 1].daemon
                                  : daemons_of_target(gathering->daemons, i),
            i};
    qsort(order, targets->count, sizeof(*order), by_daemon);
    for (uint32_t i = 0; i < targets->count; i++) {
        ranks[i] = order[i].daemon;
        pids[i] = is_helper(targets, order[i].index)
                      ? -targets->pids[order[i].index]
                      : targets->pids[order[i].index];
        gathering->numbers[i] = targets->tasks[order[i].index];
        needed |= gathering->numbers[i] != i;
    }
    free(order);
    if (!needed) {
        free(gathering->numbers);
        gathering->numbers = NULL;
    }
    return 0;
}

/* Send the request with the daemon of each process. */
static int send_request(struct gathering *gathering)
{
    const struct gather_options *options = gathering->options;
    const struct targets *targets = gathering->targets;
    uint32_t *ranks = calloc((size_t)targets->count + 1, sizeof(*ranks));
    int32_t *pids = calloc((size_t)targets->count + 1, sizeof(*pids));
    struct request request = {.samples = options->watch_ms > 0
                                             ? REQUEST_SAMPLES_MAX
                                             : options->samples,
                              .interval_ms = options->interval_ms,
                              .max_stop_ms = options->max_stop_ms,
                              .flags = (options->names ? REQUEST_NAMES : 0) |
                                       (options->states ? REQUEST_STATES : 0) |
                                       (options->full ? REQUEST_NATIVE : 0),
                              .task_count = targets->count,
                              .daemons = ranks,
                              .pids = pids};
    struct cop_packet *packet = NULL;
    char boot[REQUEST_BOOT_SIZE] = "";
    int r = -ENOMEM;

    if (!ranks || !pids)
        goto out;
    r = order_targets(ranks, pids, gathering);
    if (r < 0)
        goto out;
    if (targets->host_count <= 1)
        request_boot(boot);
    request.boot = boot;
    if (options->viewer)
        request.samples = REQUEST_FOLLOW;
    /* The rest of the time is for the way up and for names. */
    request.sample_ms = options->timeout_ms / 2;
    request.stop_ms = request.sample_ms / STOP_PART;
    if (request.stop_ms > GATHERING_STOP_MS)
        request.stop_ms = GATHERING_STOP_MS;
    r = request_pack(&packet, &request);
    if (r == 0)
        r = cop_stream_send_packet(gathering->stream, packet);
out:
    cop_packet_free(packet);
    free(ranks);
    free(pids);
    return r;
}

/* Join all waiting packets of samples to `*tree`. */
static int join_waiting(struct gathering *gathering, struct tree **tree)
{
    struct cop_packet *packet;
    int r;

    while ((r = gathering_receive(gathering->stream, &packet, 0)) == 0) {
        r = gathering_join(gathering, tree, packet);
        cop_packet_free(packet);
        if (r < 0)
            return r;
    }
    return r == -EAGAIN || r == -ENOTCONN ? 0 : r;
}

/* For how many samples no task has moved, not counting tasks of daemons missing
 * for longer than gathering_frozen_ms(). Returns the number, 0 if there is no
 * task, or a negative errno. */
static int64_t count_still(const struct tree *tree,
                           const struct gathering *gathering)
{
    const struct gather_options *options = gathering->options;
    struct tasks *present = NULL;
    int64_t still = 0;
    int r;

    r = tasks_new(&present, NULL, 0);
    for (uint32_t i = 0; r == 0 && i < tree->progress_count; i++) {
        const struct tree_progress *progress = &tree->progress[i];
        uint64_t behind = progress->seen < gathering->sample
                              ? gathering->sample - progress->seen
                              : 0;

        if (behind == 0 ||
            behind * options->interval_ms < gathering_frozen_ms(options))
            r = tasks_change(&present, TASKS_UNION, progress->tasks);
    }
    if (r == 0)
        still = tree_unmoved(tree, present);
    tasks_free(present);
    return r < 0 ? r : still;
}

/* For how long nothing has moved in the last `still` samples, in milliseconds. A
 * sample of a busy job may take longer than the interval. */
static uint64_t time_still(struct gathering *gathering, uint64_t still)
{
    uint64_t first = gathering->sample - still + 1, now = clock_now_ms();

    if (first != gathering->still_first) {
        gathering->still_first = first;
        gathering->still_ms =
            now - (still - 1) * gathering->options->interval_ms;
    }
    return now - gathering->still_ms;
}

/* Report a sample. Returns 1 if it is the last one wanted, 0 if more follow, or
 * a negative errno. */
static int say_sample(const struct tree *tree, struct gathering *gathering)
{
    const struct gather_options *options = gathering->options;
    uint64_t sample = gathering->sample, still_ms;
    int64_t still;

    if (options->watch_ms == 0) {
        gathering_say(options->show, "sample %" PRIu64 " of %u", sample,
                      options->samples);
        return sample >= options->samples;
    }
    still = count_still(tree, gathering);
    if (still < 0)
        return (int)still;
    still_ms = still > 0 ? time_still(gathering, (uint64_t)still) : 0;
    gathering_say(options->show,
                  "sample %" PRIu64 ": nothing has moved for %.1f s", sample,
                  (double)still_ms / 1000);
    return still_ms >= options->watch_ms || sample >= REQUEST_SAMPLES_MAX;
}

/* How long to wait for a sample. Giving up earlier would lose samples that
 * other daemons still send: a sync does not wait for samples not yet taken. */
static uint64_t quiet_ms(const struct gathering *gathering, uint64_t pause_ms)
{
    uint64_t due =
        gathering_due_ms(gathering, pause_ms) + gathering->options->max_stop_ms;
    uint64_t left = gathering_left_ms(gathering, 0);

    return due < left ? due : left;
}

/* Wait for a packet of a sample, up to `timeout_ms`. Returns like
 * gathering_receive(), or 1 after Ctrl-C or if no daemon is left. */
static int await_sample(struct gathering *gathering,
                        struct cop_packet **packet,
                        uint64_t timeout_ms)
{
    bool (*is_ended)(void) = gathering->options->is_ended;
    uint64_t end_ms = clock_now_ms() + timeout_ms;
    int r;

    do {
        uint64_t now = clock_now_ms(), left = end_ms > now ? end_ms - now : 0;

        if (is_ended && is_ended()) {
            gathering->is_cut = true;
            return 1;
        }
        if (left > WATCH_MS)
            left = WATCH_MS;
        r = gathering_receive(gathering->stream, packet, (int)left);
        gathering_events(gathering);
        if (r == -EAGAIN && gathering->is_over)
            return 1;
    } while (r == -EAGAIN && clock_now_ms() < end_ms);
    return r;
}

/* Take and report the samples as they arrive. Fewer than requested may arrive,
 * as waves may be joined when a parent is lost: the sync that follows covers
 * all. Each sample extends the deadline, except with --watch. Returns 0 or a
 * negative errno. */
static int follow_samples(struct gathering *gathering, struct tree **tree)
{
    const struct gather_options *options = gathering->options;
    struct cop_packet *packet;
    uint64_t last_ms = clock_now_ms(), pause_ms = 0;
    int r = 0;

    while (r == 0) {
        r = await_sample(gathering, &packet, quiet_ms(gathering, pause_ms));
        if (r != 0)
            break;
        r = gathering_join(gathering, tree, packet);
        if (r == 0 && gathering_note(gathering, packet)) {
            if (pause_ms < clock_now_ms() - last_ms)
                pause_ms = clock_now_ms() - last_ms;
            last_ms = clock_now_ms();
            if (options->watch_ms == 0)
                gathering->end_ms = last_ms + options->timeout_ms;
            r = say_sample(*tree, gathering);
            if (r >= 0 && options->history &&
                history_note(options->history, *tree) < 0)
                r = -ENOMEM;
            if (r == 0 &&
                (options->watch_ms > 0 || options->samples > SHORT_SAMPLES) &&
                complete_ahead(gathering, *tree) == -ENOMEM)
                r = -ENOMEM;
        }
        if (r == 0 && gathering_left_ms(gathering, 0) == 0)
            r = 1;
        cop_packet_free(packet);
    }
    if (gathering->is_cut)
        gathering_say(options->say,
                      "what was seen so far is shown; Ctrl-C again ends it "
                      "at once");
    if ((r > 0 || r == -EAGAIN) && (options->watch_ms > 0 || gathering->is_cut))
        r = gathering_stop(gathering->stream);
    return r == -EAGAIN || r == -ENOTCONN || r > 0 ? 0 : r;
}

/* Wait until the answer is complete. Returns 0 or a negative errno. */
static int await_answer(struct gathering *gathering, struct tree **tree)
{
    struct cop_error *late = gathering->late;
    int r;

    /* A frozen daemon must not keep the others from answering. */
    r = cop_stream_sync(gathering->stream,
                        (int)gathering_left_ms(
                            gathering, gathering_frozen_ms(gathering->options)),
                        late);
    if (r < 0 && !late->text[0])
        cop_error_set(late, r, "no complete answer: %s", strerror(-r));
    if (r > 0)
        cop_error_set(late, -ECONNRESET, "a link was lost on the way");
    gathering->is_answered = r == 0;
    r = join_waiting(gathering, tree);
    gathering_events(gathering);
    return r;
}

/* Open the stream for questions and answers. */
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

/* Report why hosts have no daemon. */
static void say_absent(const struct targets *targets,
                       const struct daemons *daemons,
                       const struct gather_options *options,
                       struct cop_error *late)
{
    for (uint32_t host = 0; host < targets->host_count; host++) {
        const char *reason = daemons_reason(daemons, host);

        if (!reason[0])
            continue;
        gathering_say(options->say, "%s has no daemon: %s",
                      targets_host_name(targets, host), reason);
        cop_error_set(late, -EHOSTUNREACH, "%s could not be looked at",
                      targets_host_name(targets, host));
    }
}

/* Report missing nodes of a tree on this host; other daemons have their
 * tasks. */
static void say_missing(struct cop_network *network, gather_say_fn say_fn)
{
    struct cop_absentee absentee = COP_ABSENTEE_INIT;

    for (size_t i = 0; cop_network_missing(network, i, &absentee) == 0; i++)
        gathering_say(say_fn,
                      "node %u on %s is missing, others do its work: %s",
                      absentee.rank, absentee.host, absentee.reason);
}

/* Take the requested samples. */
static int take_samples(struct gathering *gathering, struct tree **tree)
{
    const struct gather_options *options = gathering->options;
    int r = 0;

    if (options->viewer)
        return live_follow(gathering, tree);
    if (options->samples > 1 || options->watch_ms > 0)
        r = follow_samples(gathering, tree);
    return r < 0 ? r : await_answer(gathering, tree);
}

/* Run everything between launch and shutdown.
 *
 * end_ms  deadline for the answer */
static int gather_stacks(struct tree **tree,
                         struct daemons *daemons,
                         struct targets *targets,
                         const struct gather_options *options,
                         uint64_t end_ms,
                         struct cop_error *late,
                         struct cop_error *error)
{
    struct cop_stream_options stream_options = COP_STREAM_OPTIONS_INIT;
    struct gathering gathering = {.daemons = daemons,
                                  .targets = targets,
                                  .options = options,
                                  .end_ms = end_ms,
                                  .late = late};
    struct cop_network *network = daemons_network(daemons);
    int r;

    if (targets->host_count > 1)
        say_absent(targets, daemons, options, late);
    else
        say_missing(network, options->say);
    stream_options.up_filter = "stat_merge";
    stream_options.guarantee = COP_GUARANTEE_COMPENSATION;
    r = cop_stream_open(&gathering.stream, network,
                        cop_network_everyone(network), &stream_options, error);
    if (r == 0)
        r = open_answers(&gathering.answers, daemons, error);
    if (r == 0) {
        cop_stream_set_send_timeout(gathering.stream, (int)options->timeout_ms);
        cop_stream_set_send_timeout(gathering.answers,
                                    (int)options->timeout_ms);
    }
    if (r == 0 && targets->wanted_count > 0)
        r = find_targets(&gathering);
    if (r == 0 && targets->count == 0)
        r = cop_error_set(error, -ESRCH,
                          "no process was found: check names, users and hosts");
    if (r == 0)
        r = send_request(&gathering);
    if (r == 0)
        r = take_samples(&gathering, tree);
    if (r == 0)
        r = complete_tree(&gathering, tree, options->say);
    known_fini(&gathering.known);
    names_free(gathering.files);
    free(gathering.numbers);
    return r;
}

int gather_tree(struct tree **out,
                struct targets *targets,
                const struct gather_options *options,
                struct cop_error *late,
                struct cop_error *error)
{
    struct daemons_options daemons_options = options->daemons;
    uint64_t end_ms = clock_now_ms() + options->timeout_ms;
    struct daemons *daemons = NULL;
    struct tree *tree = NULL;
    bool hurt;
    int r;

    daemons_options.open_ended = options->viewer != NULL;
    error->text[0] = '\0';
    late->text[0] = '\0';
    if (targets->host_count > 1)
        gathering_say(options->say, "starting a daemon on each host");
    r = targets_find_given(targets, error);
    if (r < 0 && r != -ENOMEM) { /* they can be looked at all the same */
        gathering_say(options->say, "%s", error->text);
        error->text[0] = '\0';
        r = 0;
    }
    if (r == 0 && targets->wanted_count == 0)
        r = gathering_settle(targets, options);
    if (r == 0)
        r = daemons_launch(&daemons, targets, &daemons_options,
                           options->timeout_ms, error);
    if (r == 0)
        r = tree_new(&tree, &(struct tree_size){0});
    if (r == 0)
        r = gather_stacks(&tree, daemons, targets, options, end_ms, late,
                          error);
    if (r == 0)
        r = tree_settle(out, tree);
    if (r < 0 && !error->text[0])
        cop_error_set(error, r, "cannot gather the stacks: %s", strerror(-r));
    gathering_name_option(error->text);
    gathering_name_option(late->text);
    hurt = late->text[0] || (daemons && daemons_any_loss(daemons));
    daemons_free(daemons, hurt ? SHUTDOWN_AFTER_MS : SHUTDOWN_MS);
    tree_free(tree);
    return r;
}
