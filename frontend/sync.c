/* sync.c - waiting until a stream's members have dealt with all they got. */
#include <errno.h>
#include <stdio.h>

#include "network/network.h"

/* How many runs of ranks a sentence names before it says "and so on". */
#define NAMED_RUNS 8

struct syncing {
    struct cop_stream *stream;
    uint64_t marker;
};

static bool is_over(const struct syncing *syncing)
{
    const struct cop_stream *stream = syncing->stream;

    return stream->synced >= syncing->marker || stream->closed ||
           stream->released || stream->network->ended;
}

static bool is_done(void *arg)
{
    const struct syncing *syncing = arg;

    return is_over(syncing) || syncing->stream->untaken;
}

/* Write ranks as "1-3, 7"; what does not fit is left out. */
static void write_ranks(char *text, size_t len, const struct ranks *ranks)
{
    size_t used = 0;
    size_t i;
    int n;

    for (i = 0; i < ranks->count && i < NAMED_RUNS && used < len; i++) {
        const struct ranks_run *run = &ranks->runs[i];

        if (run->first == run->last)
            n = snprintf(text + used, len - used, "%s%u", i ? ", " : "",
                         run->first);
        else
            n = snprintf(text + used, len - used, "%s%u-%u", i ? ", " : "",
                         run->first, run->last);
        used += n > 0 ? (size_t)n : 0;
    }
    if (i < ranks->count && used < len)
        snprintf(text + used, len - used, " and so on");
}

/* Name the members that have not settled. */
static int timed_out(const struct cop_stream *stream, struct cop_error *error)
{
    const struct node *node = driver_node(stream->network->driver);
    struct ranks left = {0};
    char text[256] = "";
    int r;

    if (node_unsettled(node, stream->id, &left) == 0)
        write_ranks(text, sizeof(text), &left);
    r = cop_error_set(error, -ETIMEDOUT,
                      "%llu member(s) of stream %u have not settled: rank %s; "
                      "a member settles when it calls receive again, or "
                      "cop_stream_settle()",
                      (unsigned long long)ranks_size(&left), stream->id, text);
    ranks_fini(&left);
    return r;
}

/* Wait for a marker. Entered. */
static int wait_synced(struct syncing *syncing,
                       int timeout_ms,
                       struct cop_error *error)
{
    struct cop_stream *stream = syncing->stream;
    uint64_t deadline_ms = network_deadline_ms(timeout_ms);
    int r = 0;

    while (!is_over(syncing) && r == 0) {
        r = network_wait(stream->network, is_done, syncing, deadline_ms);
        stream_take_early(stream);
    }
    if (stream->synced >= syncing->marker) {
        r = stream->lossy ? 1 : 0;
        stream->lossy = false; /* it is said; the next one vouches from here */
        return r;
    }
    if (r == -EAGAIN)
        return timed_out(stream, error);
    return cop_error_set(error, -ENOTCONN,
                         "the stream was closed, or the network has ended");
}

int cop_stream_sync(struct cop_stream *stream,
                    int timeout_ms,
                    struct cop_error *error)
{
    struct cop_network *network = stream->network;
    struct syncing syncing = {.stream = stream};
    struct event event = {.type = EVENT_SYNC, .stream = stream->id};
    int r;

    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r,
                             "the network belongs to the parent process");
    stream_enter(stream);
    r = driver_step(network->driver, &event, &syncing.marker);
    if (r == 0)
        r = wait_synced(&syncing, timeout_ms, error);
    else if (r == -EOPNOTSUPP)
        cop_error_set(error, r,
                      "stream %u has a downstream filter that is not "
                      "one-to-one: it cannot be synced",
                      stream->id);
    else if (r == -EPERM)
        cop_error_set(error, r, "only the front-end syncs");
    else
        r = cop_error_set(error, -ENOTCONN,
                          "the stream was closed, or the network has ended");
    stream_leave(stream);
    network_leave(network);
    return r;
}
