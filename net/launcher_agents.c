/* launcher_agents.c - start all nodes by one command (PROTOCOL 12.5).
 *
 * The command starts `coppice-commnode --agent` on each host, as srun does. The
 * agents assemble the tree: net/agents.h, commnode/agent.c.
 *
 *   standard input   the front-end's bootstrap; each agent gets a copy
 *   standard output  of all agents: lines of net/agents.h
 *   standard error   the reason of a failure; once the first node is met, also
 *                    the output of the programs */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/agents.h"
#include "net/remote.h"
#include "topology/topology.h"

/* Start in the allocation of SLURM_JOB_ID. `--overlap`: share the resources of
 * the job's own step. Without `--mem=0` the job's step may take all memory. */
static const char *const slurm_argv[] = {"srun",
                                         "--overlap",
                                         "--nodelist={hostlist}",
                                         "--nodes={count}",
                                         "--ntasks={count}",
                                         "--ntasks-per-node=1",
                                         "--mem=0",
                                         "--mpi=none",
                                         "--input=all",
                                         "--output=all",
                                         "--error=all",
                                         "--kill-on-bad-exit=0",
                                         "--wait=0",
                                         "--no-kill",
                                         "--quiet",
                                         "--unbuffered",
                                         NULL};

/* Whether to hide this variable from srun. A job's variables are options of
 * srun for the job's own steps: processors and GPUs of a task, a prolog. Some
 * have no option that overrides them: in a step, SLURM_JOB_NODELIST names only
 * the step's hosts. The variables that name the job and the cluster stay. */
static bool slurm_hides(const char *variable)
{
    static const char *const kept[] = {
        "SLURM_JOB_ID=", "SLURM_JOBID=",       "SLURM_CLUSTERS=",
        "SLURM_CONF=",   "SLURM_CONF_SERVER=", "SLURM_JWT="};

    if (strncmp(variable, "SLURM_", 6) != 0 &&
        strncmp(variable, "SRUN_", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return false;
    return true;
}

/* A node on its parent's host needs no agent. */
static bool agents_reach(const struct bootstrap *bootstrap, const char *host)
{
    return strcmp(bootstrap->host, host) != 0;
}

static void agents_take_line(struct child *command, char *line)
{
    size_t label = strspn(line, " 0123456789");
    uint32_t rank;
    int at = 0;

    if (strncmp(line + label, ": ", 2) == 0) /* srun's, under SLURM_LABELIO */
        line += label + 2;
    if (strncmp(line, AGENTS_HERE " ", sizeof(AGENTS_HERE)) == 0)
        child_here(command, line + sizeof(AGENTS_HERE));
    else if (sscanf(line, AGENTS_ENDED " %" SCNu32 " %n", &rank, &at) == 1 &&
             at > 0)
        child_ended(command, rank, line + at);
    else if (strncmp(line, AGENTS_LOST " ", sizeof(AGENTS_LOST)) == 0)
        child_none_comes(command, line + sizeof(AGENTS_LOST));
}

/* The command has ended: nodes that were not met yet will not come. */
static void agents_ended(struct child *command, const char *how)
{
    const char *words;
    char text[QUOTE_LEN + 160];

    remote_read_rest(command);
    words = remote_words(command);
    snprintf(text, sizeof(text), "could not be started: %s %s%s%s",
             child_bootstrap(command)->launcher_argv[0], how,
             *words ? ": " : "", words);
    child_none_comes(command, text);
}

static int agents_start(struct child *command,
                        const char *host,
                        char *const *program,
                        int bootstrap)
{
    struct remote *remote;
    char **words;
    int r;

    (void)host;
    (void)program;
    r = agents_command(&words, child_bootstrap(command));
    if (r < 0)
        return r;
    remote = calloc(1, sizeof(*remote));
    command->state = remote;
    r = remote ? remote_start(command, words, bootstrap, agents_take_line)
               : -ENOMEM;
    words_free(words);
    return r;
}

const struct launcher launcher_slurm = {
    .name = "slurm",
    .argv = slurm_argv,
    .hides = slurm_hides,
    .is_assembling = true,
    .reaches = agents_reach,
    .start = agents_start,
    .ended = agents_ended,
    .words = remote_words,
    .close = remote_close,
};

const struct launcher launcher_command = {
    .name = "command",
    .is_assembling = true,
    .reaches = agents_reach,
    .start = agents_start,
    .ended = agents_ended,
    .words = remote_words,
    .close = remote_close,
};
