/* sync.c - wait until a stream's members have settled all their packets. */
#include <errno.h>

#include "api/network.h"

struct syncing {
    struct cop_stream *stream;
    uint64_t marker;
    uint64_t told; /* the stream's `told` when this call began */
};

static bool is_over(const struct syncing *syncing)
{
    const struct cop_stream *stream = syncing->stream;

    return stream->root->synced >= syncing->marker ||
           stream_error(stream) < 0 || stream->network->ended;
}

/* Whether no live member is left to settle. */
static bool is_deserted(const struct cop_stream *stream)
{
    return !stream->network->ended &&
           node_is_deserted(driver_node(stream->network->driver), stream->id);
}

static int deserted(const struct cop_stream *stream, struct cop_error *error)
{
    return cop_error_set(error, -ENODEV,
                         "no member of stream %u is left: open a stream to "
                         "the back-ends that live",
                         stream->id);
}

static int ended(const struct cop_stream *stream, struct cop_error *error)
{
    if (stream->failed)
        return cop_error_set(error, -EIO,
                             "stream %u has failed: the event "
                             "COP_EVENT_STREAM_FAILED says why",
                             stream->id);
    if (stream_error(stream) == -EPIPE)
        return cop_error_set(error, -EPIPE, "stream %u was closed", stream->id);
    return cop_error_set(error, -ENOTCONN, "the network has ended");
}

static bool is_done(void *arg)
{
    const struct syncing *syncing = arg;

    return is_over(syncing) || syncing->stream->untaken;
}

/* A filter call that takes longer than this holds up a sync. */
#define LONG_CALL_MS 100

/* Whether a running filter call of this node delays the stream. */
static bool is_held_up(const struct cop_stream *stream, struct cop_error *error)
{
    uint64_t since_ms, now_ms = driver_now_ms();
    uint32_t id;

    if (!node_is_filtering(driver_node(stream->network->driver), &id,
                           &since_ms) ||
        now_ms < since_ms + LONG_CALL_MS)
        return false;
    cop_error_set(error, -ETIMEDOUT,
                  "stream %u has not settled: a filter call of stream %u here, "
                  "at the front-end, has lasted for %llu ms, and what members "
                  "have sent waits for it",
                  stream->id, id, (unsigned long long)(now_ms - since_ms));
    return true;
}

/* Name the members that have no path to the front-end; if all have one, those
 * that have not settled. */
static int timed_out(const struct cop_stream *stream, struct cop_error *error)
{
    const struct node *node = driver_node(stream->network->driver);
    struct ranks left = {0}, unreached = {0};
    char text[256] = "";
    int r;

    if (is_held_up(stream, error))
        return -ETIMEDOUT;
    if (node_unsettled(node, stream->id, &left) < 0 ||
        node_unreached(node, &left, &unreached) < 0)
        return cop_error_set(error, -ETIMEDOUT, "not in time");
    node_name_ranks(node, unreached.count > 0 ? &unreached : &left, text,
                    sizeof(text));
    if (unreached.count > 0)
        r = cop_error_set(
            error, -ETIMEDOUT,
            "members of stream %u cannot be reached: %s (%llu in all); a sync "
            "waits for them until they are given up",
            stream->id, text, (unsigned long long)ranks_size(&unreached));
    else if (left.count == 0)
        r = cop_error_set(
            error, -ETIMEDOUT,
            "all members of stream %u have settled, but not all that they sent "
            "is in the state here: it waits for filter calls, or for what a "
            "node that failed had of it",
            stream->id);
    else
        r = cop_error_set(
            error, -ETIMEDOUT,
            "members of stream %u have not settled: %s (%llu in all); a member "
            "settles when it calls receive again, or cop_stream_settle(), and "
            "when the filters between here and the member have had what it "
            "sent",
            stream->id, text, (unsigned long long)ranks_size(&left));
    ranks_fini(&unreached);
    ranks_fini(&left);
    return r;
}

/* Whether a marker may be sent now, or no marker can be sent any more. */
static bool may_mark(void *arg)
{
    const struct syncing *syncing = arg;
    const struct cop_stream *stream = syncing->stream;

    return is_over(syncing) || is_deserted(stream) || stream->untaken ||
           node_can_send(driver_node(stream->network->driver), stream->id);
}

/* Send a marker. If too many packets wait together with an earlier sync's
 * marker, wait for these first. Entered. */
static int send_marker(struct syncing *syncing, uint64_t deadline_ms)
{
    struct cop_stream *stream = syncing->stream;
    struct cop_network *network = stream->network;
    struct event event = {.type = EVENT_SYNC, .stream = stream->id};
    int r;

    syncing->marker = UINT64_MAX;
    do {
        r = driver_step(network->driver, &event, &syncing->marker);
        if (r != -EAGAIN)
            return r;
        syncing->marker = UINT64_MAX;
        r = network_wait(network, may_mark, syncing, deadline_ms);
        stream_take_early(stream);
    } while (r == 0 && !is_over(syncing) && network_left_ms(deadline_ms) != 0);
    return r < 0 ? r : -EAGAIN;
}

/* Wait for a marker. Entered. */
static int wait_synced(struct syncing *syncing,
                       uint64_t deadline_ms,
                       struct cop_error *error)
{
    struct cop_stream *stream = syncing->stream;
    int r = 0;

    while (!is_over(syncing) && r == 0) {
        r = network_wait(stream->network, is_done, syncing, deadline_ms);
        stream_take_early(stream);
        if (r == 0 && !is_over(syncing) && network_left_ms(deadline_ms) == 0)
            r = -EAGAIN; /* packets arrived until the end */
    }
    if (is_deserted(stream))
        return deserted(stream, error);
    if (stream->root->synced >= syncing->marker) {
        /* Each call that began before one returned 1 returns 1, too. */
        stream->root->told = stream->root->losses;
        return stream->root->losses > syncing->told ? 1 : 0;
    }
    if (r == -EAGAIN)
        return timed_out(stream, error);
    return ended(stream, error);
}

int cop_stream_sync(struct cop_stream *stream,
                    int timeout_ms,
                    struct cop_error *error)
{
    struct cop_network *network = stream->network;
    struct syncing syncing = {.stream = stream};
    uint64_t deadline_ms;
    int r;

    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r,
                             "the network belongs to the parent process");
    stream_enter(stream);
    syncing.told = stream->root->told;
    deadline_ms = network_deadline_ms(timeout_ms);
    r = send_marker(&syncing, deadline_ms);
    if (r == 0)
        r = wait_synced(&syncing, deadline_ms, error);
    else if (r == -EAGAIN && stream_error(stream) == 0 && !network->ended)
        r = timed_out(stream, error);
    else if (r == -EOPNOTSUPP)
        cop_error_set(error, r,
                      "stream %u has a downstream filter that is not "
                      "one-to-one: it cannot be synced",
                      stream->id);
    else if (r == -ENODEV)
        deserted(stream, error);
    else if (r == -EPERM)
        cop_error_set(error, r, "only the front-end syncs");
    else
        r = ended(stream, error);
    stream_leave(stream);
    network_leave(network);
    return r;
}
