/* gathering.c - see gathering.h. */
#include "stat/gather/gathering.h"

#include <coppice/status.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/request.h"

/* Time allowed for each task on a busy machine with thousands of tasks per
 * daemon. A sample is late after this many times the longest pause so far. */
#define WALK_MS 5
#define PAUSES  4

/* At most this many lost daemons are reported at once. */
#define LOSSES_SAID_MAX 16

void gathering_name_option(char *text)
{
    static const char option[] = "(see --timeout)";
    char *open = strchr(text, '(');

    for (; open; open = strchr(open + 1, '(')) {
        size_t len = strspn(open + 1, "abcdefghijklmnopqrstuvwxyz_");
        char *close = open + 1 + len;

        if (*close != ')' || len + 2 < strlen(option) ||
            strncmp(close - strlen("_timeout"), "_timeout", 8) != 0)
            continue;
        memcpy(open, option, strlen(option));
        memmove(open + strlen(option), close + 1, strlen(close + 1) + 1);
    }
}

void gathering_say(gather_say_fn fn, const char *format, ...)
{
    char line[sizeof(struct cop_event)];
    va_list list;

    if (!fn)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    gathering_name_option(line);
    fn(line);
}

int gathering_settle(struct targets *targets,
                     const struct gather_options *options)
{
    int r = targets_settle(targets, options->say);

    if (r == 0 && options->say && !options->quiet_asides)
        targets_say_asides(targets, options->say);
    return r;
}

int gathering_receive(struct cop_stream *stream,
                      struct cop_packet **packet,
                      int timeout_ms)
{
    int r = cop_stream_receive(stream, packet, timeout_ms);

    return r == -ENODEV ? -EAGAIN : r;
}

int gathering_receive_until(struct cop_stream *stream,
                            struct cop_packet **packet,
                            uint64_t end_ms)
{
    uint64_t now = clock_now_ms();

    return now < end_ms ? gathering_receive(stream, packet, (int)(end_ms - now))
                        : -EAGAIN;
}

int gathering_stop(struct cop_stream *stream)
{
    int r = cop_stream_send(stream, STAT_TAG_STOP, "%ud", 1u);

    return r == -ENODEV ? 0 : r;
}

uint64_t gathering_frozen_ms(const struct gather_options *options)
{
    return 2 * (uint64_t)daemons_silence_ms(options->timeout_ms) +
           GATHERING_LEAST_MS;
}

uint64_t gathering_left_ms(const struct gathering *gathering, uint64_t least_ms)
{
    uint64_t now = clock_now_ms();
    uint64_t left =
        gathering->end_ms > now ? gathering->end_ms - now : (uint64_t)0;

    return left > least_ms ? left : least_ms;
}

uint64_t gathering_due_ms(const struct gathering *gathering, uint64_t pause_ms)
{
    const struct gather_options *options = gathering->options;
    uint64_t slow_ms = (uint64_t)WALK_MS * gathering->targets->count;

    if (slow_ms < PAUSES * pause_ms)
        slow_ms = PAUSES * pause_ms;
    return 2 * (uint64_t)options->interval_ms + 2 * GATHERING_STOP_MS +
           gathering_frozen_ms(options) + slow_ms;
}

int gathering_join(struct gathering *gathering,
                   struct tree **tree,
                   const struct cop_packet *packet)
{
    struct tree *more = NULL;
    struct tree *both = NULL;
    int r;

    r = tree_unpack(&more, packet);
    if (r == 0 && gathering->numbers)
        r = tree_renumber(more, gathering->numbers, gathering->targets->count);
    if (r == 0)
        r = tree_join(&both, *tree, more);
    tree_free(more);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = both;
    return 0;
}

bool gathering_note(struct gathering *gathering,
                    const struct cop_packet *packet)
{
    if (cop_packet_wave(packet) <= gathering->sample)
        return false;
    gathering->sample = cop_packet_wave(packet);
    return true;
}

void gathering_check(struct gathering *gathering)
{
    const struct daemons *daemons = gathering->daemons;

    gathering->is_over = true;
    for (uint32_t i = 0; gathering->is_over && i < gathering->targets->count;
         i++) {
        uint32_t rank = daemons_of_target(daemons, i);

        gathering->is_over =
            rank == COP_RANK_NONE || daemons_loss(daemons, rank);
    }
}

/* Report the loss of the daemon `rank`, if it has tasks. */
static void say_loss(struct gathering *gathering,
                     uint32_t rank,
                     const char *why)
{
    const struct targets *targets = gathering->targets;
    uint32_t count = 0, host = 0, i;

    for (i = 0; i < targets->count; i++) {
        if (daemons_of_target(gathering->daemons, i) != rank)
            continue;
        host = targets->hosts[i];
        count++;
    }
    if (count == 0 || gathering->losses++ >= LOSSES_SAID_MAX)
        return;
    gathering_say(gathering->options->say,
                  "the daemon on %s was lost: its %" PRIu32
                  " process%s not looked at any more: %s",
                  targets_host_name(targets, host), count,
                  count == 1 ? " is" : "es are", why);
}

/* Write why `rank` was lost. */
static void write_reason(struct cop_network *network,
                         uint32_t rank,
                         char *out,
                         size_t size)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    bool known = cop_network_node(network, rank, &node) == 0 && *node.reason;

    snprintf(out, size, "%s", known ? node.reason : "it was silent too long");
    gathering_name_option(out);
}

bool gathering_events(struct gathering *gathering)
{
    struct cop_network *network = daemons_network(gathering->daemons);
    const struct gather_options *options = gathering->options;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_error *late = gathering->late;
    bool any = false;

    while (cop_network_event(network, &event, 0) == 0) {
        bool lost = event.type == COP_EVENT_NODE_LOST ||
                    event.type == COP_EVENT_BACKEND_LOST;
        char why[sizeof(event.text)] = "";

        if (lost)
            write_reason(network, event.rank, why, sizeof(why));
        gathering_name_option(event.text);
        if (lost && daemons_note_loss(gathering->daemons, event.rank, why) < 0)
            cop_error_set(late, -ENOMEM, "out of memory");
        if (event.type == COP_EVENT_NODE_SUSPECTED ||
            event.type == COP_EVENT_NODE_BACK ||
            event.type == COP_EVENT_NODE_LOST ||
            event.type == COP_EVENT_NODE_ADOPTED) {
            gathering_say(options->say, "node %s", event.text);
        } else if (event.type == COP_EVENT_BACKEND_LOST) {
            cop_error_set(late, -ECONNRESET, "node %s", event.text);
            say_loss(gathering, event.rank, why);
            any = true;
        } else if (event.type == COP_EVENT_FILTER_ERROR ||
                   event.type == COP_EVENT_STREAM_FAILED) {
            cop_error_set(late, -EPROTO, "a filter failed at node %s",
                          event.text);
        } else if (event.type == COP_EVENT_ENDED) {
            cop_error_set(late, -ENOTCONN, "the tree ended: %s", event.text);
        }
    }
    if (any)
        gathering_check(gathering);
    return any;
}
