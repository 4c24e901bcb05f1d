/* daemons.c - see daemons.h. */
#include "stat/gather/daemons.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAEMON "coppice-statd"

/* Most daemons directly below the front-end, with one on each host. */
#define FLAT_MAX 32

/* How long a node may be silent: a tenth of the whole time, but long enough
 * that a node that waits for a processor is not lost. */
#define SILENCE_PART   10
#define SILENCE_MIN_MS 250
#define SILENCE_MAX_MS 3000

/* Most words of an ssh command. */
#define SSH_WORDS_MAX 64

/* A daemon that was lost. */
struct loss {
    uint32_t rank;
    char *why;
    struct loss *next;
};

struct daemons {
    const struct targets *targets;
    struct cop_network *network;
    uint32_t *ranks;      /* by host; NULL: the tree is on this host */
    const char **reasons; /* by host: why it has no daemon, or NULL */
    uint32_t *leaves;     /* with a tree on this host: daemons as launched */
    size_t leaf_count;
    struct loss *losses;
};

/* Write the path of the daemon's program: $COPPICE_STATD, or else in the folder
 * of this program. Returns 0, or -ENOENT with a sentence. */
static int find_daemon(char *path, size_t size, struct cop_error *error)
{
    const char *given = getenv("COPPICE_STATD");
    char own[PATH_MAX];
    char *slash;
    ssize_t len;

    if (given && given[0]) {
        snprintf(path, size, "%s", given);
        if (access(path, X_OK) == 0)
            return 0;
        return cop_error_set(error, -ENOENT,
                             "%s: cannot run it: %s: set COPPICE_STATD to the "
                             "path of " DAEMON ", or unset it",
                             path, strerror(errno));
    }
    len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[len > 0 ? len : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    snprintf(path, size, "%s/" DAEMON, own);
    if (access(path, X_OK) == 0)
        return 0;
    return cop_error_set(error, -ENOENT,
                         "%s: not found: install it beside coppice-stat, or "
                         "set COPPICE_STATD to its path",
                         path);
}

/* Find the hosts that have targets, in order. Returns how many. */
static uint32_t used_hosts(const struct targets *targets, uint32_t *hosts)
{
    uint32_t count = 0, host, i;
    bool *used = calloc((size_t)targets->host_count + 1, sizeof(*used));

    if (!used)
        return 0;
    for (i = 0; i < targets->count; i++)
        used[targets->hosts[i]] = true;
    for (i = 0; i < targets->wanted_count; i++)
        used[targets->wanted[i].host] = true;
    for (host = 0; host < targets->host_count; host++)
        if (used[host])
            hosts[count++] = host;
    free(used);
    return count;
}

/* The number of commnodes between the front-end and `count` daemons. */
static uint32_t commnodes_for(uint32_t count)
{
    uint32_t fan_out = 1;

    if (count <= FLAT_MAX)
        return 0;
    while ((uint64_t)fan_out * fan_out < count)
        fan_out++;
    return (count + fan_out - 1) / fan_out;
}

/* Write the topology with a daemon on each host: the front-end here, and, for
 * many hosts, a commnode on the first host of each group. Nodes are numbered in
 * order of appearance: commnodes, then daemons in the order of their hosts. */
static int write_topology(char **text,
                          const struct targets *targets,
                          const uint32_t *hosts,
                          uint32_t count)
{
    uint32_t commnodes = commnodes_for(count), group, i;
    uint32_t fan_out = commnodes ? (count + commnodes - 1) / commnodes : count;
    size_t len;
    FILE *file = open_memstream(text, &len);

    if (!file)
        return -ENOMEM;
    fputs("localhost:0 =>", file);
    for (group = 0; group < commnodes; group++)
        fprintf(file, " %s:1",
                targets_host_name(targets, hosts[group * fan_out]));
    for (i = 0; i < count; i++) {
        if (commnodes && i % fan_out == 0)
            fprintf(file, " ;\n%s:1 =>", targets_host_name(targets, hosts[i]));
        fprintf(file, " %s:2", targets_host_name(targets, hosts[i]));
    }
    fputs(" ;\n", file);
    return fclose(file) == 0 ? 0 : -ENOMEM;
}

/* Split the ssh command at white space; `copy` holds its words. */
static int split_ssh(char **argv, char *copy, struct cop_error *error)
{
    size_t count = 0;
    char *word;

    while ((word = strsep(&copy, " \t")) != NULL) {
        if (!word[0])
            continue;
        if (count == SSH_WORDS_MAX)
            return cop_error_set(error, -E2BIG,
                                 "--ssh: more than %d words: put the options "
                                 "into ssh's configuration",
                                 SSH_WORDS_MAX);
        argv[count++] = word;
    }
    argv[count] = NULL;
    if (count == 0)
        return cop_error_set(error, -EINVAL, "--ssh: no command");
    return 0;
}

/* Note the daemon of each host, or why the host has none. */
static int note_hosts(struct daemons *daemons,
                      const uint32_t *hosts,
                      uint32_t count)
{
    const struct cop_communicator *all = cop_network_everyone(daemons->network);
    struct cop_absentee absentee = COP_ABSENTEE_INIT;
    uint32_t first = 1 + commnodes_for(count), i, host;

    daemons->ranks =
        calloc(daemons->targets->host_count, sizeof(*daemons->ranks));
    daemons->reasons = calloc(daemons->targets->host_count, sizeof(char *));
    if (!daemons->ranks || !daemons->reasons)
        return -ENOMEM;
    for (host = 0; host < daemons->targets->host_count; host++)
        daemons->ranks[host] = COP_RANK_NONE;
    for (size_t k = 0; k < cop_communicator_size(all); k++) {
        i = cop_communicator_rank(all, k) - first;
        if (i < count)
            daemons->ranks[hosts[i]] = first + i;
    }
    for (size_t k = 0; cop_network_missing(daemons->network, k, &absentee) == 0;
         k++) {
        i = absentee.rank - first;
        if (absentee.rank >= first && i < count)
            daemons->reasons[hosts[i]] = absentee.reason;
    }
    return 0;
}

/* Start one daemon on each host. */
static int launch_hosts(struct daemons *daemons,
                        struct cop_launch *launch,
                        const struct daemons_options *options,
                        struct cop_error *error)
{
    const struct targets *targets = daemons->targets;
    uint32_t *hosts = calloc((size_t)targets->host_count + 1, sizeof(*hosts));
    char *copy = strdup(options->ssh ? options->ssh : "");
    char *argv[SSH_WORDS_MAX + 1];
    char *text = NULL;
    uint32_t count;
    int r = -ENOMEM;

    if (!hosts || !copy)
        goto out;
    count = used_hosts(targets, hosts);
    r = write_topology(&text, targets, hosts, count);
    if (r == 0 && options->ssh)
        r = split_ssh(argv, copy, error);
    if (r < 0)
        goto out;
    launch->topology_text = text;
    launch->launcher = "ssh";
    launch->ssh_argv = options->ssh ? argv : NULL;
    if (targets->slurm_job && !options->ssh) {
        launch->launcher = "slurm";
        r = setenv("SLURM_JOB_ID", targets->slurm_job, 1) < 0 ? -ENOMEM : 0;
        if (r < 0)
            goto out;
    }
    launch->missing = COP_MISSING_SKIP;
    r = cop_network_launch(&daemons->network, launch, error);
    if (r == 0)
        r = note_hosts(daemons, hosts, count);
out:
    free(hosts);
    free(copy);
    free(text);
    return r;
}

/* Note the ranks of all daemons. A lost daemon leaves the communicator, but its
 * tasks remain assigned to it. */
static int note_leaves(struct daemons *daemons)
{
    const struct cop_communicator *all = cop_network_everyone(daemons->network);
    size_t count = cop_communicator_size(all), i;

    daemons->leaves = calloc(count + 1, sizeof(*daemons->leaves));
    if (!daemons->leaves)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        daemons->leaves[i] = cop_communicator_rank(all, i);
    daemons->leaf_count = count;
    return 0;
}

uint32_t daemons_silence_ms(uint32_t timeout_ms)
{
    uint32_t silence_ms = timeout_ms / SILENCE_PART;

    if (silence_ms < SILENCE_MIN_MS)
        return SILENCE_MIN_MS;
    return silence_ms < SILENCE_MAX_MS ? silence_ms : SILENCE_MAX_MS;
}

/* Set all times in proportion to the defaults. Only orphans, and back-ends
 * before they are given up, get less time: five times the silence after which
 * they were suspected, in all. */
static void set_times(struct cop_times *times,
                      uint32_t timeout_ms,
                      bool open_ended)
{
    uint32_t silence_ms = daemons_silence_ms(timeout_ms);

    times->heartbeat_ms = silence_ms / 6;
    times->failure_timeout_ms = silence_ms;
    times->connect_timeout_ms = silence_ms / 3;
    times->probe_timeout_ms = silence_ms * 2 / 3;
    if (!open_ended)
        times->orphan_timeout_ms = 3 * silence_ms;
    times->launch_timeout_ms = timeout_ms;
    times->open_timeout_ms = timeout_ms; /* daemons load their filters */
}

int daemons_launch(struct daemons **out,
                   const struct targets *targets,
                   const struct daemons_options *options,
                   uint32_t timeout_ms,
                   struct cop_error *error)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char path[PATH_MAX + sizeof(DAEMON) + 1];
    char *argv[] = {path, NULL};
    struct daemons *daemons;
    bool here = targets->host_count <= 1;
    int r;

    if (!here && (options->topology_path || options->shape))
        return cop_error_set(error, -EINVAL,
                             "%s is for processes of this host: leave it out, "
                             "then each host has a daemon",
                             options->shape ? "--shape" : "--topology");
    r = find_daemon(path, sizeof(path), error);
    if (r < 0)
        return r;
    daemons = calloc(1, sizeof(*daemons));
    if (!daemons)
        return -ENOMEM;
    daemons->targets = targets;
    launch.backend_argv = argv;
    set_times(&launch.times, timeout_ms, options->open_ended);
    if (here) {
        launch.topology_path = options->topology_path;
        if (!options->topology_path)
            launch.topology_shape = options->shape ? options->shape : "flat:1";
        /* A look cannot continue without its only daemon. */
        if (options->topology_path || options->shape)
            launch.missing = COP_MISSING_SKIP;
        r = cop_network_launch(&daemons->network, &launch, error);
        if (r == 0)
            r = note_leaves(daemons);
    } else {
        r = launch_hosts(daemons, &launch, options, error);
    }
    if (r < 0) {
        daemons_free(daemons, 0);
        return r;
    }
    *out = daemons;
    return 0;
}

void daemons_free(struct daemons *daemons, int timeout_ms)
{
    struct loss *loss;

    if (!daemons)
        return;
    while ((loss = daemons->losses) != NULL) {
        daemons->losses = loss->next;
        free(loss->why);
        free(loss);
    }
    if (daemons->network)
        cop_network_shutdown(daemons->network, timeout_ms);
    cop_network_free(daemons->network);
    free(daemons->ranks);
    free(daemons->reasons);
    free(daemons->leaves);
    free(daemons);
}

struct cop_network *daemons_network(const struct daemons *daemons)
{
    return daemons->network;
}

uint32_t daemons_of_host(const struct daemons *daemons, uint32_t host)
{
    if (daemons->ranks)
        return daemons->ranks[host];
    /* All daemons of a tree on this host see the same processes. */
    return host == 0 && daemons->leaf_count > 0 ? daemons->leaves[0]
                                                : COP_RANK_NONE;
}

const char *daemons_reason(const struct daemons *daemons, uint32_t host)
{
    const char *reason = daemons->reasons ? daemons->reasons[host] : NULL;

    return reason ? reason : "";
}

int daemons_note_loss(struct daemons *daemons, uint32_t rank, const char *why)
{
    struct loss *loss = calloc(1, sizeof(*loss));

    if (loss)
        loss->why = strdup(why);
    if (!loss || !loss->why) {
        free(loss);
        return -ENOMEM;
    }
    loss->rank = rank;
    loss->next = daemons->losses;
    daemons->losses = loss;
    return 0;
}

bool daemons_any_loss(const struct daemons *daemons)
{
    return daemons->losses != NULL;
}

const char *daemons_loss(const struct daemons *daemons, uint32_t rank)
{
    const struct loss *loss = daemons->losses;

    while (loss && loss->rank != rank)
        loss = loss->next;
    return loss ? loss->why : NULL;
}

uint32_t daemons_of_target(const struct daemons *daemons, uint32_t index)
{
    uint64_t count = daemons->leaf_count;

    if (daemons->ranks)
        return daemons->ranks[daemons->targets->hosts[index]];
    return count == 0
               ? COP_RANK_NONE
               : daemons->leaves[index * count / daemons->targets->count];
}
