/* options.c - see options.h. */
#include "net/options.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "net/address.h"
#include "net/bootstrap.h"
#include "net/ports.h"
#include "topology/adopter.h"
#include "topology/hostlist.h"
#include "topology/topology.h"

/* The longest time that nodes may be told to wait for a front-end. */
#define SURVIVE_MAX_MS UINT32_C(86400000)

const struct launcher *options_launcher(const struct cop_launch *launch,
                                        struct cop_error *error)
{
    const char *name = launch->launcher;

    if (!name && launch->start_argv)
        name = launcher_command.name;
    return launcher_find(name, error);
}

/* Without a launcher all nodes run on this machine: refuse a topology that
 * names other hosts. */
static int check_hosts(const struct cop_launch *launch,
                       const struct topology *topology,
                       struct cop_error *error)
{
    for (uint32_t i = 0; i < topology_count(topology); i++)
        if (!launch->launcher && !launch->start_argv &&
            !address_is_local(topology_host(topology, i)))
            return cop_error_set(
                error, -EINVAL,
                "the topology names host %s, and no launcher is given: set "
                "launcher to \"ssh\" or \"slurm\", or to \"local\" if all "
                "nodes "
                "are to run on this machine",
                topology_host(topology, i));
    return 0;
}

/* Whether the words of a command contain the hosts to start on. */
static bool names_hosts(char *const *words)
{
    for (; *words; words++)
        if (strstr(*words, "{hosts}") || strstr(*words, "{hostlist}"))
            return true;
    return false;
}

/* Check the command that starts all nodes. Outside a job, srun would request a
 * new job and wait for it. */
static int check_start(const struct cop_launch *launch, struct cop_error *error)
{
    const struct launcher *launcher = options_launcher(launch, NULL);

    if (launch->start_argv && !launch->start_argv[0])
        return cop_error_set(
            error, -EINVAL,
            "start_argv is empty: name a command, or leave NULL");
    if (launch->start_argv && !launcher->is_assembling)
        return cop_error_set(error, -EINVAL,
                             "start_argv is for the launchers \"command\" and "
                             "\"slurm\"; the launcher is \"%s\"",
                             launcher->name);
    if (launch->start_argv && !names_hosts(launch->start_argv))
        return cop_error_set(error, -EINVAL,
                             "start_argv does not say on which hosts \"%s\" "
                             "starts a program: one of its words needs {hosts} "
                             "or {hostlist}",
                             launch->start_argv[0]);
    if (launch->start_argv || !launcher->is_assembling)
        return 0;
    if (!launcher->argv)
        return cop_error_set(error, -EINVAL,
                             "launcher \"command\" needs start_argv: the "
                             "command that starts a program on all hosts");
    if (!getenv("SLURM_JOB_ID"))
        return cop_error_set(error, -EINVAL,
                             "launcher \"slurm\" needs a job: run in one, as "
                             "by salloc, or set SLURM_JOB_ID to its number");
    return 0;
}

/* Check what is to replace lost commnodes. */
static int check_replace(const struct cop_launch *launch,
                         struct cop_error *error)
{
    const struct launcher *launcher = options_launcher(launch, NULL);

    if (launch->replace == 0 && launch->spares)
        return cop_error_set(error, -EINVAL,
                             "spares is for `replace`, which is 0: say how "
                             "often a commnode may be replaced");
    if (launch->replace > 0 && launcher->is_assembling)
        return cop_error_set(error, -EINVAL,
                             "replace: launcher \"%s\" starts all nodes at "
                             "once and no single one later: use \"ssh\", or "
                             "have commnodes join with a session file",
                             launcher->name);
    return 0;
}

/* Check what is to survive the front-end. */
static int check_survive(const struct cop_launch *launch,
                         struct cop_error *error)
{
    if (!launch->journal_path != (launch->survive_ms == 0))
        return cop_error_set(error, -EINVAL,
                             "survive_ms and journal_path are given together, "
                             "or neither");
    if (launch->survive_ms > SURVIVE_MAX_MS)
        return cop_error_set(error, -EINVAL,
                             "survive_ms is %u; it is at most a day, %u",
                             launch->survive_ms, SURVIVE_MAX_MS);
    if (launch->survive_ms > 0 && !options_launcher(launch, NULL)->is_local)
        return cop_error_set(error, -EOPNOTSUPP,
                             "survive_ms: launcher \"%s\" cannot do that yet; "
                             "\"local\" can",
                             options_launcher(launch, NULL)->name);
    if (launch->survive_ms > 0 &&
        (launch->views || launch->replace > 0 || launch->keep_shape))
        return cop_error_set(error, -EOPNOTSUPP,
                             "survive_ms cannot go with views, replace or "
                             "keep_shape yet");
    return 0;
}

int options_check(const struct cop_launch *launch,
                  const struct topology *topology,
                  struct cop_error *error)
{
    const char *where;
    int r;

    if (!options_launcher(launch, error))
        return -EINVAL;
    if (launch->networks &&
        address_networks_check(launch->networks, &where) < 0)
        return cop_error_set(error, -EINVAL,
                             "networks \"%s\": \"%s\" is no network such as "
                             "10.0.0.0/8 or fd00::/8",
                             launch->networks, where);
    if (launch->ports && ports_read(&(struct ports){0}, launch->ports) < 0)
        return cop_error_set(error, -EINVAL,
                             "ports \"%s\" is no range such as 20000-20999",
                             launch->ports);
    if (launch->reconfiguration && adopter_find(launch->reconfiguration) < 0)
        return cop_error_set(error, -EINVAL,
                             "reconfiguration \"%.40s\" is unknown: use one of "
                             "%s",
                             launch->reconfiguration, adopter_names());
    if (launch->missing != COP_MISSING_FAIL &&
        launch->missing != COP_MISSING_SKIP)
        return cop_error_set(error, -EINVAL,
                             "missing is %d; it is COP_MISSING_FAIL or "
                             "COP_MISSING_SKIP",
                             (int)launch->missing);
    if (launch->backend_argv && !launch->backend_argv[0])
        return cop_error_set(error, -EINVAL,
                             "backend_argv is empty: name the back-end "
                             "program, or leave backend_argv NULL");
    r = check_start(launch, error);
    if (r == 0)
        r = check_replace(launch, error);
    if (r == 0)
        r = check_survive(launch, error);
    if (r < 0)
        return r;
    if (launch->ssh_argv && !launch->ssh_argv[0])
        return cop_error_set(
            error, -EINVAL, "ssh_argv is empty: name a command, or leave NULL");
    return check_hosts(launch, topology, error);
}

void options_ports(struct ports *out, const struct cop_launch *launch)
{
    *out = (struct ports){0};
    if (launch->ports) {
        ports_read(out, launch->ports);
    } else if (options_launcher(launch, NULL)->is_assembling) {
        *out = (struct ports){PORTS_ASSEMBLED_LOW, PORTS_ASSEMBLED_COUNT};
    } else if (launch->survive_ms > 0) {
        /* one to come back to, at which no other network begins to search */
        out->count = PORTS_ASSEMBLED_COUNT / 2;
        out->low = PORTS_ASSEMBLED_LOW + randombytes_uniform(out->count);
    }
}

int options_spares(char ***out,
                   const struct cop_launch *launch,
                   struct cop_error *error)
{
    const char *text = launch->spares;
    struct hostlist *list;
    const char *host = NULL;
    uint32_t count;
    char **hosts;
    int r;

    r = hostlist_parse(&list, text, strlen(text), "spares", error);
    if (r < 0)
        return r;
    count = hostlist_count(list);
    hosts = calloc(count + 1, sizeof(*hosts));
    r = hosts ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        host = hostlist_host(list, i);
        if (!launch->launcher && !address_is_local(host))
            r = -EINVAL;
        else if (!(hosts[i] = strdup(host)))
            r = -ENOMEM;
    }
    if (r == 0)
        *out = hosts;
    else if (r == -EINVAL)
        cop_error_set(error, r,
                      "spares names host %s, and no launcher is given: set "
                      "launcher to \"ssh\"",
                      host);
    else
        cop_error_set(error, r, "out of memory");
    if (r < 0)
        words_free(hosts);
    hostlist_free(list);
    return r;
}
