/* launch.c - start a network. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/network.h"
#include "api/options.h"
#include "frontend/communicator.h"
#include "frontend/program.h"
#include "net/launcher.h"
#include "net/session.h"
#include "topology/hostlist.h"
#include "topology/topology.h"

/* How long to wait after `launch_timeout`: the machine ends the launch first,
 * and reports what is missing. */
#define GRACE_MS 2000

/* ---- options ---- */

static int shape_topology(struct topology **out,
                          const struct cop_launch *launch,
                          struct cop_error *error)
{
    struct hostlist *hosts = NULL, *commnode_hosts = NULL;
    int r = 0;

    if (launch->hosts)
        r = hostlist_parse(&hosts, launch->hosts, strlen(launch->hosts),
                           "hosts", error);
    if (r == 0 && launch->commnode_hosts)
        r = hostlist_parse(&commnode_hosts, launch->commnode_hosts,
                           strlen(launch->commnode_hosts), "commnode_hosts",
                           error);
    if (r == 0)
        r = topology_from_shape(out, launch->topology_shape, hosts,
                                commnode_hosts, error);
    hostlist_free(hosts);
    hostlist_free(commnode_hosts);
    return r;
}

static int read_topology(struct topology **out,
                         const struct cop_launch *launch,
                         struct cop_error *error)
{
    int given = (launch->topology_path != NULL) +
                (launch->topology_text != NULL) +
                (launch->topology_shape != NULL);

    if (given != 1)
        return cop_error_set(error, -EINVAL,
                             "%s of topology_path, topology_text and "
                             "topology_shape are given; give exactly one",
                             given == 0   ? "none"
                             : given == 2 ? "two"
                                          : "all");
    if ((launch->hosts || launch->commnode_hosts) && !launch->topology_shape)
        return cop_error_set(error, -EINVAL,
                             "hosts are given without topology_shape; a "
                             "topology file names its own hosts");
    if (launch->topology_path)
        return topology_read(out, launch->topology_path, error);
    if (launch->topology_text)
        return topology_parse(out, launch->topology_text,
                              strlen(launch->topology_text), "topology_text",
                              error);
    return shape_topology(out, launch, error);
}

/* Whether the tree has nodes other than front-end and back-ends. */
static bool has_commnodes(const struct topology *topology, bool attach)
{
    for (uint32_t i = 1; i < topology_count(topology); i++)
        if (attach || !topology_is_leaf(topology, i))
            return true;
    return false;
}

/* Check everything that must exist on this host before anything is started.
 * Other hosts check their own programs. */
static int check_programs(const struct cop_launch *launch,
                          const struct bootstrap *bootstrap,
                          struct cop_error *error)
{
    int r;

    if (launch->filter_path) {
        r = program_check_directories(launch->filter_path, error);
        if (r < 0)
            return r;
    }
    if (!launcher_find(bootstrap->launcher, NULL)->is_local)
        return 0;
    if (bootstrap->missing != COP_MISSING_SKIP &&
        has_commnodes(bootstrap->subtree, bootstrap->attach)) {
        r = program_check(bootstrap->commnode_path, "the commnode program",
                          "name it in commnode_path or $COPPICE_COMMNODE",
                          error);
        if (r < 0)
            return r;
    }
    if (!launch->backend_argv)
        return 0;
    return program_check(launch->backend_argv[0], "the back-end program",
                         "name it in backend_argv", error);
}

/* Make the front-end's bootstrap. Takes `*topology` on success. */
static int make_bootstrap(struct bootstrap **out,
                          const struct cop_launch *launch,
                          struct topology **topology,
                          const char *absent,
                          struct cop_error *error)
{
    struct bootstrap *bootstrap;
    int r;

    if (launch->backend_argv && topology_leaf_count(*topology) == 0)
        return cop_error_set(error, -EINVAL,
                             "the topology has a front-end only; it needs a "
                             "back-end at least");
    r = bootstrap_launch(&bootstrap, launch, *topology, error);
    if (r < 0)
        return r;
    *topology = NULL; /* owned by the bootstrap now */
    r = check_programs(launch, bootstrap, error);
    if (r == 0 && absent) {
        free(bootstrap->absent);
        bootstrap->absent = strdup(absent);
        if (!bootstrap->absent)
            r = cop_error_set(error, -ENOMEM, "out of memory");
    }
    if (r < 0)
        bootstrap_free(bootstrap);
    else
        *out = bootstrap;
    return r;
}

/* ---- starting ---- */

struct attempt {
    struct cop_network *network;
    bool is_late; /* the agents had as long as a start takes */
};

/* Whether some agents have answered and others will not. The command may notice
 * that later, and end all agents, as srun does. */
static bool is_silent(const struct attempt *attempt)
{
    enum agents_presence agents = driver_agents(attempt->network->driver);

    return agents == AGENTS_SILENT ||
           (agents == AGENTS_PARTIAL && attempt->is_late);
}

static bool is_decided(void *arg)
{
    const struct attempt *attempt = arg;
    const struct cop_network *network = attempt->network;

    if (is_silent(attempt))
        return true;
    return driver_agents(network->driver) == AGENTS_COMPLETE &&
           (network->launched || network->launch_failed || network->ended);
}

/* The time `wait_ms` from now. */
static uint64_t deadline_ms(uint64_t wait_ms)
{
    return network_deadline_ms(wait_ms > INT_MAX ? INT_MAX : (int)wait_ms);
}

/* Wait until all nodes are ready. Returns -ERESTART if the hosts in `*absent`
 * (the caller's) must be left out. Entered. */
static int wait_launched(struct cop_network *network,
                         char **absent,
                         struct cop_error *error)
{
    const struct cop_times *times = &driver_bootstrap(network->driver)->times;
    uint64_t end_ms =
        deadline_ms((uint64_t)times->launch_timeout_ms + GRACE_MS);
    uint32_t late_ms = times->launch_timeout_ms / 2;
    struct attempt attempt = {network, false};
    char text[sizeof(network->text)];
    const char *words;
    int r;

    if (late_ms > times->start_timeout_ms)
        late_ms = times->start_timeout_ms;
    r = network_wait(network, is_decided, &attempt, deadline_ms(late_ms));
    attempt.is_late = true;
    if (r == -EAGAIN)
        r = network_wait(network, is_decided, &attempt, end_ms);
    if (is_silent(&attempt)) {
        *absent = driver_absent(network->driver);
        return *absent ? -ERESTART
                       : cop_error_set(error, -ENOMEM, "out of memory");
    }
    if (network->launched)
        return 0;
    if (r == -EAGAIN)
        return cop_error_set(error, -ETIMEDOUT,
                             "the network is not ready after %u ms",
                             times->launch_timeout_ms);
    r = network->launch_failed ? network->launch_code : -EIO;
    memcpy(text, network->text, sizeof(text));
    network_abort(network); /* the command's output may be the reason */
    words = driver_words(network->driver);
    if (strstr(text, words)) /* true also for "" */
        words = "";
    return cop_error_set(error, r, "the launch failed: %s%s%s",
                         *text ? text : "the network has ended",
                         *words ? "; the command has printed: " : "", words);
}

/* Write a session file, and keep it up to date from then on. Entered. */
static int write_session(struct cop_network *network,
                         const char *path,
                         struct cop_error *error)
{
    const struct node *node = driver_node(network->driver);
    int r;

    r = session_write(path, driver_bootstrap(network->driver), node, error);
    if (r == 0)
        session_keep(&network->session, path, node);
    return r;
}

static int start_and_wait(struct cop_network *network,
                          const struct cop_launch *launch,
                          char **absent,
                          struct cop_error *error)
{
    const char *session_path = launch->session_path;
    int r;

    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r, "this process was forked meanwhile");
    r = launch->journal_path
            ? driver_keep_journal(network->driver, launch->journal_path, error)
            : 0;
    if (r == 0 && (r = driver_start(network->driver)) < 0)
        cop_error_set(error, r, "cannot start: %s", strerror(-r));
    if (r == 0)
        r = wait_launched(network, absent, error);
    if (r == 0 && session_path)
        r = write_session(network, session_path, error);
    if (r < 0)
        network_abort(network);
    network_leave(network);
    return r;
}

/* Launch the tree `*topology` (taken) without the hosts in `*absent`, or NULL.
 * Returns -ERESTART if more hosts must be left out: then both are replaced. */
static int launch_once(struct cop_network **out,
                       const struct cop_launch *launch,
                       struct topology **topology,
                       char **absent,
                       struct cop_error *error)
{
    struct cop_network *network = NULL;
    struct bootstrap *bootstrap = NULL;
    char *more = NULL;
    int r;

    r = make_bootstrap(&bootstrap, launch, topology, *absent, error);
    if (r < 0)
        return r;
    r = network_new(&network, bootstrap, error);
    if (r < 0)
        return r;
    r = network_make_everyone(network, error);
    if (r < 0) {
        network_free(network);
        return r;
    }
    r = start_and_wait(network, launch, &more, error);
    if (r == 0) {
        *out = network;
        return 0;
    }
    if (r == -ERESTART &&
        topology_subtree(topology, driver_bootstrap(network->driver)->subtree,
                         0) < 0)
        r = cop_error_set(error, -ENOMEM, "out of memory");
    network_free(network);
    free(*absent);
    *absent = more;
    return r;
}

int cop_network_launch(struct cop_network **out,
                       const struct cop_launch *given,
                       struct cop_error *error)
{
    uint64_t end_ms = driver_now_ms();
    struct topology *topology = NULL;
    struct cop_launch launch;
    char *absent = NULL;
    uint64_t now_ms;
    int r;

    r = options_read(&launch, sizeof(launch), given, sizeof(launch),
                     "COP_LAUNCH_INIT", error);
    if (r == 0)
        r = read_topology(&topology, &launch, error);
    if (r < 0)
        return r;
    end_ms += launch.times.launch_timeout_ms ? launch.times.launch_timeout_ms
                                             : LIMIT_LAUNCH_TIMEOUT_MS;
    for (;;) {
        r = launch_once(out, &launch, &topology, &absent, error);
        now_ms = driver_now_ms();
        if (r != -ERESTART)
            break;
        if (now_ms >= end_ms) {
            r = cop_error_set(error, -ETIMEDOUT,
                              "the launch failed: no agent answers on %s",
                              absent);
            break;
        }
        launch.times.launch_timeout_ms = (uint32_t)(end_ms - now_ms);
    }
    topology_free(topology);
    free(absent);
    return r;
}

int cop_network_write_session(struct cop_network *network,
                              const char *path,
                              struct cop_error *error)
{
    int r;

    if (network->role != NODE_FRONTEND)
        return cop_error_set(error, -EPERM,
                             "only the front-end can write a session file");
    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r,
                             "the network belongs to the parent process");
    r = write_session(network, path, error);
    network_leave(network);
    return r;
}
