/* join.c - how a back-end comes into a network. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "net/session.h"
#include "network/network.h"
#include "network/options.h"

/* A joiner that was turned away calls again so often, so long apart. */
#define TRIES_MAX    20
#define TRY_AGAIN_MS 100

static bool is_decided(void *arg)
{
    const struct cop_network *network = arg;

    return network->launched || network->ended;
}

/* Wait until the whole tree stands. Entered. */
static int wait_joined(struct cop_network *network,
                       uint64_t deadline_ms,
                       struct cop_error *error)
{
    int r;

    r = network_wait(network, is_decided, network, deadline_ms);
    if (network->launched)
        return 0;
    network->shut_down = true;
    if (r == -EAGAIN)
        return cop_error_set(error, -ETIMEDOUT,
                             "the network did not take this back-end in time");
    r = driver_error(network->driver);
    return cop_error_set(
        error, r < 0 ? r : -ECONNREFUSED, "cannot join the network: %s",
        *network->text ? network->text : "the connection ended");
}

static int start(struct cop_network *network,
                 uint64_t deadline_ms,
                 struct cop_error *error)
{
    int r;

    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r, "this process was forked meanwhile");
    r = driver_start(network->driver);
    if (r < 0)
        cop_error_set(error, r, "cannot start: %s", strerror(-r));
    else
        r = wait_joined(network, deadline_ms, error);
    network_leave(network);
    return r;
}

/* Read what there is to know, and join by it. Returns -ECONNREFUSED if the node
 * that was called closed the link: it takes nobody while the launch goes on
 * around it, or while it has no parent itself (PROTOCOL 12.3). */
static int join_once(struct cop_network **out,
                     const struct cop_join *join,
                     uint64_t deadline_ms,
                     struct cop_error *error)
{
    struct cop_network *network;
    struct bootstrap *bootstrap = NULL;
    int r;

    if (join->session_path)
        r = session_read(&bootstrap, join->session_path, (uint32_t)getpid(),
                         error);
    else
        r = bootstrap_inherit(&bootstrap, join->timeout_ms, error);
    if (r < 0)
        return r;
    r = network_new(&network, bootstrap, error);
    if (r < 0)
        return r;
    r = start(network, deadline_ms, error);
    if (r < 0) {
        network_free(network);
        return r;
    }
    *out = network;
    return 0;
}

int cop_network_join(struct cop_network **out,
                     const struct cop_join *given,
                     struct cop_error *error)
{
    struct cop_join join = COP_JOIN_INIT;
    uint64_t deadline_ms;
    int tries = 1, r = 0;

    if (given)
        r = options_read(&join, sizeof(join), given, sizeof(join),
                         "COP_JOIN_INIT", error);
    if (r < 0)
        return r;
    if (join.timeout_ms == 0)
        join.timeout_ms = LIMIT_LAUNCH_TIMEOUT_MS;
    if (join.timeout_ms > INT_MAX)
        join.timeout_ms = INT_MAX;
    deadline_ms = network_deadline_ms((int)join.timeout_ms);
    r = join_once(out, &join, deadline_ms, error);
    while (r == -ECONNREFUSED && join.session_path && tries++ < TRIES_MAX) {
        poll(NULL, 0, TRY_AGAIN_MS);
        r = join_once(out, &join, deadline_ms, error);
    }
    return r;
}
