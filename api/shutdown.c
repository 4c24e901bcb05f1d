/* shutdown.c - ending a network. */
#include <errno.h>

#include "api/network.h"
#include "topology/topology.h"

/* How long cop_network_free() waits for a network that was not shut down. */
#define FREE_TIMEOUT_MS 10000

/* Whether every stream that a shutdown waits for is synced. */
static bool is_synced(const struct cop_network *network)
{
    const struct cop_stream *stream;

    for (stream = network->streams; stream; stream = stream->hh.next)
        if (stream->root->wanted > stream->root->synced && !stream->closed)
            return false;
    return true;
}

/* Whether is_synced(), or packets must be taken to return their credit. */
static bool is_synced_or_untaken(void *arg)
{
    const struct cop_network *network = arg;
    const struct cop_stream *stream;

    for (stream = network->streams; stream; stream = stream->hh.next)
        if (stream->root->held && stream->untaken)
            return true;
    return is_synced(network);
}

/* Sync all open streams together: wait until their members have settled
 * everything they were sent. */
static void sync_all(struct cop_network *network, uint64_t deadline_ms)
{
    struct event event = {.type = EVENT_SYNC};
    struct cop_stream *stream, *next;
    int r;

    for (stream = network->streams; stream; stream = stream->hh.next) {
        stream->root->held = true; /* another thread must not free it */
        stream_enter(stream);
    }
    for (stream = network->streams; stream; stream = stream->hh.next) {
        event.stream = stream->id;
        if (!stream->root->held || stream->closed)
            continue;
        r = driver_step(network->driver, &event, &stream->root->wanted);
        if (r < 0 && r != -EAGAIN) /* -EAGAIN: an earlier sync is pending */
            stream->root->wanted = 0;
    }
    do {
        r = network_wait(network, is_synced_or_untaken, network, deadline_ms);
        for (stream = network->streams; stream; stream = stream->hh.next)
            if (stream->root->held)
                stream_take_early(stream);
    } while (r == 0 && !is_synced(network) &&
             network_left_ms(deadline_ms) != 0);
    HASH_ITER (hh, network->streams, stream, next) {
        if (stream->root->held)
            stream_leave(stream);
    }
}

static bool is_gathered(void *arg)
{
    const struct cop_network *network = arg;

    return network->ended || node_is_gathered(driver_node(network->driver));
}

/* Wait for the orphans: with a parent they end like all others. A node that has
 * not found one within failure_timeout may be stopped. */
static void gather(struct cop_network *network, uint64_t deadline_ms)
{
    uint64_t latest_ms =
        driver_now_ms() + node_patience_ms(driver_node(network->driver));

    network_wait(network, is_gathered, network,
                 deadline_ms < latest_ms ? deadline_ms : latest_ms);
}

/* How long our children may take to kill the nodes below them; 0 if the
 * children are back-ends. */
static int grace_ms(const struct cop_network *network)
{
    const struct topology *tree = driver_bootstrap(network->driver)->subtree;
    int height = tree ? (int)topology_height(tree) : 0;

    return height > 1 ? DRIVER_LEVEL_MS * height : 0;
}

void network_abort(struct cop_network *network)
{
    struct event event = {.type = EVENT_SHUTDOWN};

    network->shut_down = true;
    if (!network->ended)
        driver_step(network->driver, &event, NULL);
    if (!network->ended)
        driver_step(network->driver, &event, NULL);
    driver_flush(network->driver);
    driver_reap(network->driver, 0, grace_ms(network));
}

static bool has_ended(void *arg)
{
    return ((struct cop_network *)arg)->ended;
}

/* Ask the node to end the network, or to leave it, and wait for that. */
static void end(struct cop_network *network, uint64_t deadline_ms)
{
    struct event event = {.type = EVENT_SHUTDOWN};

    if (network->ended)
        return;
    if (!network->asked)
        driver_step(network->driver, &event, NULL);
    network->asked = true;
    network_wait(network, has_ended, network, deadline_ms);
}

/* Whether this back-end was leaving when the network ended, and the front-end
 * had not accepted everything. */
static bool is_unaccepted(const struct cop_network *network)
{
    return network->role == NODE_BACKEND && network->asked && !network->left;
}

/* Front-end: sync every open stream for at most half of the time-out, then tell
 * all nodes to end, and wait for them. Back-end: leave. Entered. Returns 0 or
 * -ETIMEDOUT. */
static int shut_down(struct cop_network *network, int timeout_ms)
{
    int half_ms = timeout_ms < 0 ? timeout_ms : timeout_ms / 2;
    uint64_t deadline_ms = network_deadline_ms(timeout_ms);
    uint64_t half_deadline_ms = network_deadline_ms(half_ms);
    struct event ending = {.type = EVENT_ENDING};
    int stopped_ms, left_ms, killed;

    if (network->shut_down)
        return 0;
    network->shut_down = true;
    if (network->role == NODE_FRONTEND && network->launched &&
        !network->ended) {
        driver_step(network->driver, &ending, NULL);
        sync_all(network, half_deadline_ms);
        gather(network, half_deadline_ms);
    }
    end(network, deadline_ms);
    if (!network->ended) {
        network_abort(network);
        return -ETIMEDOUT;
    }
    driver_flush(network->driver);
    left_ms = network_left_ms(deadline_ms);
    stopped_ms = (int)node_patience_ms(driver_node(network->driver));
    if (left_ms >= 0 && left_ms < stopped_ms)
        stopped_ms = left_ms;
    if (left_ms >= 0 && left_ms < grace_ms(network))
        left_ms = grace_ms(network);
    killed = driver_reap(network->driver, stopped_ms, left_ms);
    return killed > 0 || network->astray || is_unaccepted(network) ||
                   (timeout_ms > 0 && network_left_ms(deadline_ms) == 0)
               ? -ETIMEDOUT
               : 0;
}

int cop_network_shutdown(struct cop_network *network, int timeout_ms)
{
    int r;

    r = network_enter(network);
    if (r < 0)
        return r;
    r = shut_down(network, timeout_ms);
    network_leave(network);
    return r;
}

/* How many packets, and bytes, sent on streams of whole waves are not final. */
static uint64_t count_unfinal(const struct cop_network *network,
                              uint64_t *bytes)
{
    const struct cop_stream *stream;
    uint64_t packets, size, all = 0;

    *bytes = 0;
    for (stream = network->streams; stream; stream = stream->hh.next) {
        if (node_unfinal(driver_node(network->driver), stream->id, &packets,
                         &size) < 0)
            continue;
        all += packets;
        *bytes += size;
    }
    return all;
}

/* Entered. */
static int leave(struct cop_network *network,
                 int timeout_ms,
                 struct cop_error *error)
{
    unsigned long long packets;
    uint64_t bytes;

    if (network->role != NODE_BACKEND)
        return cop_error_set(error, -EPERM,
                             "only a back-end leaves: a front-end ends the "
                             "network with cop_network_shutdown()");
    end(network, network_deadline_ms(timeout_ms));
    packets = count_unfinal(network, &bytes);
    if (network->left) {
        driver_flush(network->driver);
        return 0;
    }
    if (network->ended)
        return cop_error_set(error, -ENOTCONN,
                             "the network has ended before this back-end had "
                             "left: %s; %llu packets of %llu bytes were not "
                             "accepted by the front-end",
                             network->text, packets, (unsigned long long)bytes);
    if (packets > 0)
        return cop_error_set(error, -ETIMEDOUT,
                             "%llu packets of %llu bytes are not accepted by "
                             "the front-end yet",
                             packets, (unsigned long long)bytes);
    return cop_error_set(error, -ETIMEDOUT,
                         "the front-end has not answered that it keeps this "
                         "back-end's totals");
}

int cop_network_leave(struct cop_network *network,
                      int timeout_ms,
                      struct cop_error *error)
{
    int r;

    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r,
                             "the network belongs to the parent process");
    r = leave(network, timeout_ms, error);
    network_leave(network);
    return r;
}

void cop_network_free(struct cop_network *network)
{
    if (!network)
        return;
    if (network_enter(network) == 0) {
        shut_down(network, FREE_TIMEOUT_MS);
        network_leave(network);
    }
    network_free(network);
}
