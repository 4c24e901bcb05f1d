/* agents.h - which agents assemble a tree, and what each starts (PROTOCOL 12.5).
 *
 * An agent runs on each host that has a node whose parent is on another host.
 * It starts these nodes; they start their own children on the same host. All
 * agents have the front-end's bootstrap, so each finds its host in the topology
 * by itself, and the parents' ports by their ranks (net/ports.h). */
#pragma once

#include <coppice/error.h>

#include "net/bootstrap.h"
#include "wire/limits.h"

/* The lines that an agent writes to its standard output, and so to that of the
 * command: an agent runs on this host, "here NAME", which may come before the
 * command has brought the bootstrap; a node has ended, "ended RANK how"; a node
 * cannot come, "lost why". */
#define AGENTS_HERE  "here"
#define AGENTS_ENDED "ended"
#define AGENTS_LOST  "lost"

/* The line that the front-end writes behind the bootstrap, for all agents, when a
 * node is missing and that is allowed: "missing RANK". What would be its child
 * is started below the next node above. */
#define AGENTS_MISSING "missing"

/* Make the command of the front-end with this bootstrap: the words of its
 * launcher, with the hosts filled in (`cop_launch.start_argv`), and then the
 * agent's own. Free it by words_free(). Returns 0 or -ENOMEM. */
int agents_command(char ***out, const struct bootstrap *bootstrap);

/* The names of this machine, as $SLURMD_NODENAME and the system have them, each
 * NULL if there is none. `room` holds what the second borrows. */
void agents_own_names(const char *names[2], char room[LIMIT_HOST_NAME + 1]);

/* Whether `host` of a topology is this machine: one of its names
 * ($SLURMD_NODENAME, the system's) is the same, in any case, and with or without
 * a domain. */
bool agents_is_own(const char *host);

/* Why `host` is left out (`bootstrap.absent`), or NULL: it is not. */
const char *agents_absence(const struct bootstrap *bootstrap, const char *host);

/* The index of the next node above `index` whose host is not left out. */
uint32_t agents_parent(const struct bootstrap *bootstrap, uint32_t index);

/* The index of the next node, after `index` (0 at first), that this machine's
 * agent starts, as `is_own` knows its hosts; TOPOLOGY_NONE if there is none. */
uint32_t agents_next(const struct bootstrap *bootstrap,
                     uint32_t index,
                     bool (*is_own)(const char *host));

/* The hosts that need an agent, and which of them have one. */
struct agents_roll {
    const char **hosts; /* in order; borrowed from the topology */
    bool *here;
    size_t count;
    size_t here_count;
};

/* What is known of the agents under COP_MISSING_SKIP. */
enum agents_presence {
    AGENTS_COMPLETE, /* all have answered; or none has, which proves nothing */
    AGENTS_PARTIAL,
    AGENTS_SILENT, /* some have, and the command has ended */
};

/* Make the roll of the front-end with this bootstrap; agents_roll_free() frees
 * it. Returns 0 or -ENOMEM. */
int agents_roll(struct agents_roll *out, const struct bootstrap *bootstrap);
void agents_roll_free(struct agents_roll *roll);

/* There is an agent on the host of this name. */
void agents_answer(struct agents_roll *roll, const char *name);

/* `bootstrap.absent` for another launch: the hosts that are left out already, and
 * those that have not answered, because of `why`. Free it. NULL: out of memory. */
char *agents_absent(const struct agents_roll *roll,
                    const struct bootstrap *bootstrap,
                    const char *why);

/* Fill in the bootstrap of the node at `index`, as the node at index `parent`
 * would (bootstrap_child()): its parent or, where that is missing, a node above.
 * The resolver, which may block, finds the address, which is written to
 * `address` and borrowed from there. Returns 0, -ENOMEM, or -EHOSTUNREACH with a
 * sentence. */
int agents_bootstrap(struct bootstrap *out,
                     const struct bootstrap *frontend,
                     uint32_t index,
                     uint32_t parent,
                     char address[LIMIT_ADDRESS + 1],
                     struct cop_error *error);
