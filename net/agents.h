/* agents.h - which agents assemble a tree, and what each starts (PROTOCOL
 * 12.5).
 *
 * An agent runs on each host that has a node whose parent is on another host.
 * It starts these nodes; they start their own children on the same host. All
 * agents have the front-end's bootstrap, so each finds its host in the topology
 * by itself, and the parents' ports by their ranks (net/ports.h). */
#pragma once

#include <coppice/error.h>

#include "net/bootstrap.h"
#include "wire/limits.h"

/* The lines that an agent writes to its standard output, which is that of the
 * command. "here NAME": an agent runs on this host; it may be written before
 * the bootstrap arrives. "ended RANK how": a node has ended. "lost why": an
 * agent cannot start its nodes. */
#define AGENTS_HERE  "here"
#define AGENTS_ENDED "ended"
#define AGENTS_LOST  "lost"

/* The line that the front-end writes after the bootstrap, for all agents, if a
 * node is missing under COP_MISSING_SKIP: "missing RANK". The children of the
 * missing node are started below the next node above it. */
#define AGENTS_MISSING "missing"

/* Make the command of the front-end with this bootstrap: the words of its
 * launcher, with the hosts filled in (`cop_launch.start_argv`), and then the
 * agent's own. Free it by words_free(). Returns 0 or -ENOMEM. */
int agents_command(char ***out, const struct bootstrap *bootstrap);

/* The names of this machine: $SLURMD_NODENAME and the host name, each NULL if
 * unset. `room` holds the second. */
void agents_own_names(const char *names[2], char room[LIMIT_HOST_NAME + 1]);

/* Whether `host` of a topology is this machine: it equals $SLURMD_NODENAME or
 * the host name, ignoring case, with or without a domain. */
bool agents_is_own(const char *host);

/* Why `host` is left out (`bootstrap.absent`), or NULL: it is not. */
const char *agents_absence(const struct bootstrap *bootstrap, const char *host);

/* The index of the nearest ancestor of `index` whose host is not left out. */
uint32_t agents_parent(const struct bootstrap *bootstrap, uint32_t index);

/* The index of the next node, after `index` (0 at first), that this machine's
 * agent starts (`is_own` finds its hosts); TOPOLOGY_NONE if there is none. */
uint32_t agents_next(const struct bootstrap *bootstrap,
                     uint32_t index,
                     bool (*is_own)(const char *host));

/* The hosts that need an agent, and whether each has one. */
struct agents_roll {
    const char **hosts; /* in order; borrowed from the topology */
    bool *here;
    size_t count;
    size_t here_count;
};

/* Which agents have answered, under COP_MISSING_SKIP. */
enum agents_presence {
    AGENTS_COMPLETE, /* all have answered, or none, which proves nothing */
    AGENTS_PARTIAL,
    AGENTS_SILENT, /* some have answered, and the command has ended */
};

/* Make the roll of the front-end with this bootstrap; free it by
 * agents_roll_free(). Returns 0 or -ENOMEM. */
int agents_roll(struct agents_roll *out, const struct bootstrap *bootstrap);
void agents_roll_free(struct agents_roll *roll);

/* Record that the agent on the host `name` has answered. */
void agents_answer(struct agents_roll *roll, const char *name);

/* Make `bootstrap.absent` for another launch: the hosts left out already, and
 * those without an answer, because of `why`. Free it. NULL: out of memory. */
char *agents_absent(const struct agents_roll *roll,
                    const struct bootstrap *bootstrap,
                    const char *why);

/* Fill in the bootstrap of the node at `index`, as bootstrap_child() would at
 * the node at `parent`: its parent or, if the parent is missing, a node above.
 * Asks the resolver, which may block, for the parent's address; writes it to
 * `address`, which `out` borrows. Returns 0, -ENOMEM, or -EHOSTUNREACH with a
 * sentence. */
int agents_bootstrap(struct bootstrap *out,
                     const struct bootstrap *frontend,
                     uint32_t index,
                     uint32_t parent,
                     char address[LIMIT_ADDRESS + 1],
                     struct cop_error *error);
