/* join.c - how a back-end joins a network. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "api/network.h"
#include "api/options.h"
#include "net/session.h"
#include "protocol/launch/roster.h"
#include "wire/limits.h"

/* How long a joiner that every node turned away calls again, and how often. */
#define TRY_FOR_MS   2000
#define TRY_AGAIN_MS 100

static bool is_decided(void *arg)
{
    const struct cop_network *network = arg;

    return network->launched || network->ended;
}

/* Wait until the whole tree is launched. Entered. */
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

static int join_start(struct cop_network *network,
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

/* The deadline for one of several nodes. */
static uint64_t attempt_deadline_ms(const struct bootstrap *bootstrap,
                                    uint64_t deadline_ms)
{
    const struct cop_times *times = &bootstrap->times;
    uint64_t until_ms = driver_now_ms() + times->connect_timeout_ms +
                        times->handshake_timeout_ms + times->probe_timeout_ms +
                        times->failure_timeout_ms;

    return bootstrap->node_count > 1 && until_ms < deadline_ms ? until_ms
                                                               : deadline_ms;
}

/* A join: the nodes of the session file are tried one after another. */
struct joining {
    const struct cop_join *join;
    uint64_t deadline_ms;
    uint32_t spread;     /* chooses the node to call ... */
    uint32_t attempt;    /* ... in turn */
    uint32_t node_count; /* nodes to choose from */
    bool called;         /* a node was called, and others can be */
};

/* Read the session file, or the inherited bootstrap, and join one node. Returns
 * -ECONNREFUSED if no process listens at the node's address, or if the node
 * closed the link. A node takes no back-end during the launch, or without a
 * parent (PROTOCOL 12.3). */
static int join_once(struct cop_network **out,
                     struct joining *joining,
                     struct cop_error *error)
{
    const struct cop_join *join = joining->join;
    struct cop_network *network;
    struct bootstrap *bootstrap = NULL;
    uint64_t deadline_ms;
    int r;

    joining->called = false;
    if (join->session_path)
        r = session_read(&bootstrap, join->session_path, joining->spread,
                         joining->attempt, error);
    else
        r = bootstrap_inherit(&bootstrap, join->timeout_ms, error);
    if (r < 0)
        return r;
    joining->node_count = bootstrap->node_count;
    deadline_ms = attempt_deadline_ms(bootstrap, joining->deadline_ms);
    if (join->label)
        bootstrap->label = strdup(join->label);
    if (join->label && !bootstrap->label) {
        bootstrap_free(bootstrap);
        return cop_error_set(error, -ENOMEM, "out of memory");
    }
    r = network_new(&network, bootstrap, error);
    if (r < 0)
        return r;
    joining->called = join->session_path != NULL;
    r = join_start(network, deadline_ms, error);
    if (r < 0) {
        network_free(network);
        return r;
    }
    *out = network;
    return 0;
}

/* Call the nodes of the session file in turn, until one accepts us. */
static int join_any(struct cop_network **out,
                    struct joining *joining,
                    struct cop_error *error)
{
    uint64_t again_ms = driver_now_ms() + TRY_FOR_MS;
    bool refused = false, late = false;
    uint32_t tried = 0;
    uint64_t now_ms;
    int r;

    for (;; joining->attempt++) {
        r = join_once(out, joining, error);
        if (r == 0 || !joining->called)
            return r;
        refused |= r == -ECONNREFUSED;
        late |= r == -ETIMEDOUT;
        now_ms = driver_now_ms();
        if (now_ms >= joining->deadline_ms)
            return r;
        if (++tried < joining->node_count)
            continue;
        if (!late && (!refused || now_ms >= again_ms))
            return r;
        refused = late = false;
        tried = 0;
        poll(NULL, 0, TRY_AGAIN_MS);
    }
}

int cop_network_join(struct cop_network **out,
                     const struct cop_join *given,
                     struct cop_error *error)
{
    struct cop_join join = COP_JOIN_INIT;
    struct joining joining = {.join = &join, .spread = (uint32_t)getpid()};
    int r = 0;

    if (given)
        r = options_read(&join, sizeof(join), given, sizeof(join),
                         "COP_JOIN_INIT", error);
    if (r < 0)
        return r;
    if (join.label && !label_is_valid(join.label))
        return cop_error_set(error, -EINVAL,
                             "the label must have at most %d bytes and no "
                             "control characters",
                             LIMIT_LABEL);
    if (join.timeout_ms == 0)
        join.timeout_ms = LIMIT_LAUNCH_TIMEOUT_MS;
    if (join.timeout_ms > INT_MAX)
        join.timeout_ms = INT_MAX;
    joining.deadline_ms = network_deadline_ms((int)join.timeout_ms);
    return join_any(out, &joining, error);
}
