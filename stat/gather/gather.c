/* gather.c - see gather.h. */
#include "stat/gather/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coppice/coppice.h>

#include "stat/clock.h"
#include "stat/gather/shortfall.h"
#include "stat/request.h"
#include "stat/tree/tree.h"

/* How long to wait for a thread to stop: this long at most, and this part of
 * the time for all tasks of a daemon, so that time is left for the others. */
#define STOP_MS   1000
#define STOP_PART 8

/* The time for one task where one daemon has thousands, on a busy machine; and
 * a sample is late after this many times the longest pause so far. */
#define WALK_MS 5
#define PAUSES  4

/* The answer, and the names, get at least this long, even if the time is up. */
#define LEAST_MS 1000

/* While samples are due: how often to check for Ctrl-C and for lost daemons. */
#define WATCH_MS 100

/* At most this many lost daemons are reported at once. */
#define LOSSES_SAID_MAX 16

/* With a viewer, names are waited for this long for each sample. */
#define FOLLOW_NAMES_MS 2000

/* If samples come faster than they are taken, show one this often. */
#define FOLLOW_SHOW_MS 1000

/* How long to wait for the tree to end by itself; and if a daemon was lost or
 * has not answered. */
#define SHUTDOWN_MS       5000
#define SHUTDOWN_AFTER_MS 1000

/* cop_stream_receive(); that no daemon lives is for take_events() to tell. */
static int receive_packet(struct cop_stream *stream,
                          struct cop_packet **packet,
                          int timeout_ms)
{
    int r = cop_stream_receive(stream, packet, timeout_ms);

    return r == -ENODEV ? -EAGAIN : r;
}

/* Tell the daemons to stop. It is no error if none is left. */
static int send_stop(struct cop_stream *stream)
{
    int r = cop_stream_send(stream, STAT_TAG_STOP, "%ud", 1u);

    return r == -ENODEV ? 0 : r;
}

/* How long a frozen node can delay the samples of all others: until its
 * neighbours have missed it, and then a node above it too (PROTOCOL 6.1b). */
static uint64_t frozen_ms(const struct gather_options *options)
{
    return 2 * (uint64_t)daemons_silence_ms(options->timeout_ms) + LEAST_MS;
}

/* Format a line for `fn`, unless that is NULL. */
__attribute__((format(printf, 2, 3))) static void say_line(gather_say_fn fn,
                                                           const char *format,
                                                           ...)
{
    char line[sizeof(struct cop_event)];
    va_list list;

    if (!fn)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    fn(line);
}

/* Send the request: which daemon walks which tasks. */
static int send_request(struct cop_stream *stream,
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
                                       (options->states ? REQUEST_STATES : 0) |
                                       (options->native ? REQUEST_NATIVE : 0),
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
    if (options->viewer)
        request.samples = REQUEST_FOLLOW;
    /* What is left is for the way up, and for names. */
    request.sample_ms = options->timeout_ms / 2;
    request.stop_ms = request.sample_ms / STOP_PART;
    if (request.stop_ms > STOP_MS)
        request.stop_ms = STOP_MS;
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
static int join_packet(struct tree **tree, const struct cop_packet *packet)
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
static int join_waiting(struct tree **tree, struct cop_stream *stream)
{
    struct cop_packet *packet;
    int r;

    while ((r = receive_packet(stream, &packet, 0)) == 0) {
        r = join_packet(tree, packet);
        cop_packet_free(packet);
        if (r < 0)
            return r;
    }
    return r == -EAGAIN || r == -ENOTCONN ? 0 : r;
}

/* Names that were asked for, for the next time. */
struct known {
    struct naming *naming;
    struct tree *tree; /* its tree */
};

/* What is asked, and what has come. */
struct gathering {
    struct daemons *daemons;
    struct targets *targets;
    const struct gather_options *options;
    struct cop_stream *stream;  /* of samples */
    struct cop_stream *answers; /* and of names */
    struct known known;
    uint64_t sample; /* the last one; frozen daemons may lack it */
    uint64_t end_ms; /* until when the answer is waited for */
    uint32_t losses; /* lost daemons that have tasks */
    bool is_over;    /* no daemon with tasks is left */
    bool is_cut;     /* ended by Ctrl-C */
    struct cop_error *late;
};

/* Whether any daemon with tasks is left. */
static bool is_anyone_left(const struct gathering *gathering)
{
    const struct daemons *daemons = gathering->daemons;
    uint32_t i;

    for (i = 0; i < gathering->targets->count; i++) {
        uint32_t rank = daemons_of_task(daemons, i);

        if (rank != COP_RANK_NONE && !daemons_loss(daemons, rank))
            return true;
    }
    return false;
}

/* Report the loss of the daemon `rank`, if it has tasks. */
static void say_loss(struct gathering *gathering,
                     uint32_t rank,
                     const char *why)
{
    const struct targets *targets = gathering->targets;
    uint32_t count = 0, host = 0, i;

    for (i = 0; i < targets->count; i++) {
        if (daemons_of_task(gathering->daemons, i) != rank)
            continue;
        host = targets->hosts[i];
        count++;
    }
    if (count == 0 || gathering->losses++ >= LOSSES_SAID_MAX)
        return;
    say_line(gathering->options->say,
             "the daemon on %s was lost: its %" PRIu32
             " process%s not looked at any more: %s",
             targets_host_name(targets, host), count,
             count == 1 ? " is" : "es are", why);
}

/* Report nodes that were lost or adopted. Only the loss of a daemon makes the
 * answer incomplete, as the stream is recoverable: it is put into `late`.
 * Returns whether any daemon was lost. */
static bool take_events(struct gathering *gathering)
{
    struct cop_network *network = daemons_network(gathering->daemons);
    const struct gather_options *options = gathering->options;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_error *late = gathering->late;
    bool any = false;

    while (cop_network_event(network, &event, 0) == 0) {
        const char *why = event.text[0] ? event.text : "it was silent too long";
        bool lost = event.type == COP_EVENT_NODE_LOST ||
                    event.type == COP_EVENT_BACKEND_LOST;

        if (lost && daemons_note_loss(gathering->daemons, event.rank, why) < 0)
            cop_error_set(late, -ENOMEM, "out of memory");
        if (event.type == COP_EVENT_NODE_SUSPECTED) {
            say_line(options->say, "node %u may be lost: %s", event.rank, why);
        } else if (event.type == COP_EVENT_NODE_BACK) {
            say_line(options->say, "node %u lives", event.rank);
        } else if (event.type == COP_EVENT_NODE_LOST) {
            say_line(options->say, "node %u was lost: %s", event.rank, why);
        } else if (event.type == COP_EVENT_NODE_ADOPTED) {
            say_line(options->say, "node %u was adopted %s", event.rank,
                     event.text);
        } else if (event.type == COP_EVENT_BACKEND_LOST) {
            cop_error_set(late, -ECONNRESET, "node %u was lost: %s", event.rank,
                          why);
            say_loss(gathering, event.rank, why);
            any = true;
        } else if (event.type == COP_EVENT_FILTER_ERROR) {
            cop_error_set(late, -EPROTO, "a filter failed at node %u: %s",
                          event.rank, event.text);
        } else if (event.type == COP_EVENT_ENDED) {
            cop_error_set(late, -ENOTCONN, "the tree ended: %s", event.text);
        }
    }
    if (any)
        gathering->is_over = !is_anyone_left(gathering);
    return any;
}

/* What is left of the time, and at least `least_ms`. */
static uint64_t left_ms(const struct gathering *gathering, uint64_t least_ms)
{
    uint64_t now = clock_now_ms();
    uint64_t left =
        gathering->end_ms > now ? gathering->end_ms - now : (uint64_t)0;

    return left > least_ms ? left : least_ms;
}

/* For how many samples no task has moved. Tasks of daemons that were missing
 * for longer than frozen_ms() do not count. Returns the number, 0 if there is
 * no task, or a negative errno. */
static int64_t count_still(const struct tree *tree,
                           const struct gathering *gathering)
{
    const struct gather_options *options = gathering->options;
    struct tasks *present = NULL;
    int64_t still = 0;
    uint32_t i;
    int r;

    r = tasks_new(&present, NULL, 0);
    for (i = 0; r == 0 && i < tree->progress_count; i++) {
        const struct tree_progress *progress = &tree->progress[i];
        uint64_t behind = progress->seen < gathering->sample
                              ? gathering->sample - progress->seen
                              : 0;

        if (behind == 0 || behind * options->interval_ms < frozen_ms(options))
            r = tasks_change(&present, TASKS_UNION, progress->tasks);
    }
    if (r == 0)
        still = tree_unmoved(tree, present);
    tasks_free(present);
    return r < 0 ? r : still;
}

/* Report a sample. Returns 1 if it is the last that is wanted, 0 if more are
 * to come, or a negative errno. */
static int say_sample(const struct tree *tree,
                      const struct gathering *gathering)
{
    const struct gather_options *options = gathering->options;
    uint64_t sample = gathering->sample, still_ms;
    int64_t still;

    if (options->watch_ms == 0) {
        say_line(options->show, "sample %" PRIu64 " of %u", sample,
                 options->samples);
        return sample >= options->samples;
    }
    still = count_still(tree, gathering);
    if (still < 0)
        return (int)still;
    still_ms = still > 0 ? (uint64_t)(still - 1) * options->interval_ms : 0;
    say_line(options->show, "sample %" PRIu64 ": nothing has moved for %.1f s",
             sample, (double)still_ms / 1000);
    return still_ms >= options->watch_ms || sample >= REQUEST_SAMPLES_MAX;
}

/* When a sample is due, at the latest.
 *
 * pause_ms  the longest so far */
static uint64_t due_ms(const struct gathering *gathering, uint64_t pause_ms)
{
    const struct gather_options *options = gathering->options;
    uint64_t slow_ms = (uint64_t)WALK_MS * gathering->targets->count;

    if (slow_ms < PAUSES * pause_ms)
        slow_ms = PAUSES * pause_ms;
    return 2 * (uint64_t)options->interval_ms + 2 * STOP_MS +
           frozen_ms(options) + slow_ms;
}

/* How long to wait for a sample. To give up earlier would lose what the other
 * daemons still send: a sync does not wait for samples not taken yet. */
static uint64_t quiet_ms(const struct gathering *gathering, uint64_t pause_ms)
{
    uint64_t due = due_ms(gathering, pause_ms);
    uint64_t left = left_ms(gathering, 0);

    return due < left ? due : left;
}

/* Note which sample `packet` is of: the number of its wave. Returns whether it
 * is a new one. */
static bool note_sample(struct gathering *gathering,
                        const struct cop_packet *packet)
{
    if (cop_packet_wave(packet) <= gathering->sample)
        return false;
    gathering->sample = cop_packet_wave(packet);
    return true;
}

/* Wait for a packet of a sample, up to `timeout_ms`. Returns as
 * receive_packet(), or 1 after Ctrl-C, or if no daemon is left. */
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
        r = receive_packet(gathering->stream, packet, (int)left);
        take_events(gathering);
        if (r == -EAGAIN && gathering->is_over)
            return 1;
    } while (r == -EAGAIN && clock_now_ms() < end_ms);
    return r;
}

/* Take the samples as they come, and report each. Fewer than asked for may come,
 * as waves may be joined while a parent is lost: the sync that follows knows
 * when all is in. Each sample puts the end off, except with --watch.
 * Returns 0 or a negative errno. */
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
        r = join_packet(tree, packet);
        if (r == 0 && note_sample(gathering, packet)) {
            if (pause_ms < clock_now_ms() - last_ms)
                pause_ms = clock_now_ms() - last_ms;
            last_ms = clock_now_ms();
            if (options->watch_ms == 0)
                gathering->end_ms = last_ms + options->timeout_ms;
            r = say_sample(*tree, gathering);
        }
        if (r == 0 && left_ms(gathering, 0) == 0)
            r = 1;
        cop_packet_free(packet);
    }
    if (gathering->is_cut)
        say_line(options->say,
                 "what was seen so far is shown; Ctrl-C again ends it "
                 "at once");
    if ((r > 0 || r == -EAGAIN) && (options->watch_ms > 0 || gathering->is_cut))
        r = send_stop(gathering->stream);
    return r == -EAGAIN || r == -ENOTCONN || r > 0 ? 0 : r;
}

/* Wait for the answer to be complete. Returns 0 or a negative errno. */
static int await_answer(struct gathering *gathering, struct tree **tree)
{
    struct cop_error *late = gathering->late;
    int r;

    /* A frozen daemon must not keep the others from answering. */
    r = cop_stream_sync(gathering->stream,
                        (int)left_ms(gathering, frozen_ms(gathering->options)),
                        late);
    if (r < 0 && !late->text[0])
        cop_error_set(late, r, "no complete answer: %s", strerror(-r));
    if (r > 0)
        cop_error_set(late, -ECONNRESET, "a link was lost on the way");
    r = join_waiting(tree, gathering->stream);
    take_events(gathering);
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
    uint64_t now = clock_now_ms();

    return now < end_ms ? receive_packet(stream, packet, (int)(end_ms - now))
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

/* Report where each program was not found: one line for each program. */
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
        say_line(options->say, "no process%s%s%s%s on %s",
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

        if (!findings[i].answered) {
            cop_error_set(late, -ETIMEDOUT, "%s: its processes are not known",
                          targets_host_name(targets, host));
            say_line(options->say, "%s", late->text);
        }
        for (k = 0; r == 0 && k < findings[i].count; k++)
            r = targets_add(targets, host, findings[i].pids[k]);
    }
    return r < 0 ? r : say_nothing(targets, findings, options);
}

/* Have the daemons find what is wanted. */
static int find_targets(struct gathering *gathering)
{
    struct targets *targets = gathering->targets;
    uint64_t end_ms = clock_now_ms() + left_ms(gathering, LEAST_MS);
    uint32_t count = targets->wanted_count, asked = 0, i;
    struct finding *findings = calloc((size_t)count + 1, sizeof(*findings));
    struct cop_packet *packet;
    int r = findings ? 0 : -ENOMEM;

    if (r == 0)
        r = ask_wanted(gathering->answers, gathering->daemons, targets, &asked);
    while (r == 0 && asked > 0) {
        r = receive_until(gathering->answers, &packet, end_ms);
        if (r < 0)
            break;
        r = take_found(findings, count, packet);
        asked--;
        cop_packet_free(packet);
    }
    if (r == 0 || r == -EAGAIN || r == -ENOTCONN)
        r = add_found(targets, findings, gathering->options, gathering->late);
    for (i = 0; findings && i < count; i++)
        free(findings[i].pids);
    free(findings);
    return r;
}

/* Say of each host without a daemon why it has none. */
static void say_absent(const struct targets *targets,
                       const struct daemons *daemons,
                       const struct gather_options *options,
                       struct cop_error *late)
{
    uint32_t host;

    for (host = 0; host < targets->host_count; host++) {
        const char *reason = daemons_reason(daemons, host);

        if (!reason[0])
            continue;
        say_line(options->say, "%s has no daemon: %s",
                 targets_host_name(targets, host), reason);
        cop_error_set(late, -EHOSTUNREACH, "%s could not be looked at",
                      targets_host_name(targets, host));
    }
}

/* Say which nodes of a tree on this host are missing: others have their tasks.
 */
static void say_missing(struct cop_network *network, gather_say_fn say_fn)
{
    struct cop_absentee absentee = COP_ABSENTEE_INIT;
    size_t i;

    for (i = 0; cop_network_missing(network, i, &absentee) == 0; i++)
        say_line(say_fn, "node %u on %s is missing, others do its work: %s",
                 absentee.rank, absentee.host, absentee.reason);
}

/* Tell `say_fn` what the tree lacks, and why, and put that into it. */
static int note_shortfall(struct gathering *gathering,
                          struct tree **tree,
                          struct tasks **silent,
                          gather_say_fn say_fn)
{
    const struct gather_options *options = gathering->options;
    bool open_ended =
        options->watch_ms > 0 || options->viewer || gathering->is_cut;
    struct shortfall_wanted wanted = {
        .targets = gathering->targets,
        .daemons = gathering->daemons,
        .samples = open_ended ? (uint32_t)gathering->sample : options->samples,
        .open_ended = open_ended,
        .timeout_ms = options->viewer ? 0 : options->timeout_ms,
        .late = *gathering->late};
    int r;

    r = shortfall_find(tree, silent, &wanted, say_fn);
    *gathering->late = wanted.late;
    return r;
}

/* Ask for all names that are missing, until they are there or the time is up:
 * then the tree is shown without them. */
static int ask_names(struct naming *naming,
                     const struct daemons *daemons,
                     struct cop_stream *stream,
                     uint32_t timeout_ms,
                     struct cop_error *late)
{
    uint64_t end_ms = clock_now_ms() + timeout_ms;
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

static void known_fini(struct known *known)
{
    naming_free(known->naming);
    tree_free(known->tree);
}

/* Replace `*tree` by one with names; what was known need not be asked for. */
static int name_tree(struct gathering *gathering,
                     struct tree **tree,
                     struct tasks *silent)
{
    const struct gather_options *options = gathering->options;
    struct known *known = &gathering->known;
    uint32_t timeout_ms = (uint32_t)left_ms(gathering, LEAST_MS);
    struct naming *naming = NULL;
    struct tree *named = NULL;
    int r;

    if (options->viewer)
        timeout_ms = FOLLOW_NAMES_MS;
    r = naming_new(&naming, *tree, silent);
    if (r == 0 && known->naming)
        r = naming_inherit(naming, known->naming);
    if (r == 0 && naming_missing(naming) > 0)
        r = ask_names(naming, gathering->daemons, gathering->answers,
                      timeout_ms, gathering->late);
    if (r == 0)
        r = naming_resolve(&named, naming, options->detail);
    if (r < 0) {
        naming_free(naming);
        return r;
    }
    known_fini(known);
    *known = (struct known){naming, *tree};
    *tree = named;
    return 0;
}

/* Add the missing tasks, which are reported to `say_fn`, and names to `*tree`. */
static int complete_tree(struct gathering *gathering,
                         struct tree **tree,
                         gather_say_fn say_fn)
{
    struct tasks *silent = NULL;
    int r;

    r = note_shortfall(gathering, tree, &silent, say_fn);
    if (r == 0)
        r = name_tree(gathering, tree, silent);
    tasks_free(silent);
    return r;
}

/* Show how it is now. Returns as the viewer does. */
static int show_now(struct gathering *gathering, const struct tree *tree)
{
    const struct gather_viewer *viewer = gathering->options->viewer;
    struct tree none = {0};
    struct tree *now = NULL;
    struct tree *settled = NULL;
    struct cop_error late = *gathering->late;
    struct cop_error *real = gathering->late;
    int r;

    r = tree_join(&now, tree, &none);
    if (r < 0)
        return r;
    /* What is missing now may come later. */
    gathering->late = &late;
    r = complete_tree(gathering, &now, NULL);
    gathering->late = real;
    if (r == 0)
        r = tree_settle(&settled, now);
    if (r == 0)
        r = viewer->look(viewer->arg, settled, late.text);
    tree_free(settled);
    tree_free(now);
    return r;
}

/* Take `packet`; if it is NULL, report a long silence once. Sets `*fresh` if
 * there is something to show. Returns 0 or a negative errno.
 *
 * heard_ms  when the last packet came; 0: the silence was reported */
static int take_live(struct gathering *gathering,
                     struct tree **tree,
                     struct cop_packet *packet,
                     uint64_t *heard_ms,
                     bool *fresh)
{
    uint64_t now = clock_now_ms();
    int r;

    if (packet) {
        r = join_packet(tree, packet);
        note_sample(gathering, packet);
        cop_packet_free(packet);
        *heard_ms = now;
        *fresh = true;
        return r;
    }
    if (*heard_ms == 0 || now - *heard_ms < due_ms(gathering, 0))
        return 0;
    say_line(gathering->options->say,
             "no sample for %" PRIu64 " s: who is silent is given up later",
             (now - *heard_ms) / 1000);
    *heard_ms = 0;
    *fresh = gathering->sample > 0;
    return 0;
}

/* Show the samples as they come, until the viewer, or the tree, ends it.
 * Returns 0 or a negative errno. */
static int follow_live(struct gathering *gathering, struct tree **tree)
{
    const struct gather_viewer *viewer = gathering->options->viewer;
    uint64_t shown_ms = clock_now_ms(), heard_ms = shown_ms;
    bool fresh = false;
    int r = 0;

    while (r == 0) {
        struct cop_packet *packet = NULL;
        bool paused;

        /* Take all that waits before showing it: a slow viewer must not fall
         * behind. */
        r = receive_packet(gathering->stream, &packet,
                           fresh ? 0 : GATHER_IDLE_MS);
        paused = r == -EAGAIN;
        /* Before the first sample there is nothing to show. */
        if (take_events(gathering) &&
            (gathering->sample > 0 || gathering->is_over))
            fresh = true;
        if (r == 0 || paused)
            r = take_live(gathering, tree, packet, &heard_ms, &fresh);
        if (r == 0 && fresh &&
            (paused || clock_now_ms() - shown_ms >= FOLLOW_SHOW_MS)) {
            r = show_now(gathering, *tree);
            shown_ms = clock_now_ms();
            fresh = false;
        }
        if (r == 0 && paused && gathering->is_over) {
            say_line(gathering->options->say, "no daemon is left");
            r = 1;
        }
        if (r == 0)
            r = viewer->idle(viewer->arg);
    }
    viewer->end(viewer->arg);
    if (r > 0)
        r = send_stop(gathering->stream);
    if (r < 0 && r != -ENOMEM && !gathering->late->text[0])
        cop_error_set(gathering->late, r, "following has ended: %s",
                      strerror(-r));
    return r == -ENOMEM ? r : 0;
}

/* Take the samples that are wanted. */
static int take_samples(struct gathering *gathering, struct tree **tree)
{
    const struct gather_options *options = gathering->options;
    int r = 0;

    if (options->viewer)
        return follow_live(gathering, tree);
    if (options->samples > 1 || options->watch_ms > 0)
        r = follow_samples(gathering, tree);
    return r < 0 ? r : await_answer(gathering, tree);
}

/* Everything between launch and end.
 *
 * end_ms  until when an answer is waited for */
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
        r = send_request(gathering.stream, daemons, targets, options);
    if (r == 0)
        r = take_samples(&gathering, tree);
    if (r == 0)
        r = complete_tree(&gathering, tree, options->say);
    known_fini(&gathering.known);
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
        say_line(options->say, "starting a daemon on each host");
    r = daemons_launch(&daemons, targets, &daemons_options, options->timeout_ms,
                       error);
    if (r == 0)
        r = tree_new(&tree, &(struct tree_size){0});
    if (r == 0)
        r = gather_stacks(&tree, daemons, targets, options, end_ms, late,
                          error);
    if (r == 0)
        r = tree_settle(out, tree);
    if (r < 0 && !error->text[0])
        cop_error_set(error, r, "cannot gather the stacks: %s", strerror(-r));
    hurt = late->text[0] || (daemons && daemons_any_loss(daemons));
    daemons_free(daemons, hurt ? SHUTDOWN_AFTER_MS : SHUTDOWN_MS);
    tree_free(tree);
    return r;
}
