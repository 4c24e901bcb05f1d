/* agents.h - which agents assemble a tree, and what each starts (PROTOCOL 12.5).
 *
 * An agent runs on each host that has a node whose parent is on another host.
 * It starts these nodes; they start their own children on the same host. All
 * agents have the front-end's bootstrap, so each finds its host in the topology
 * by itself, and the parents' ports by their ranks (net/ports.h). */
#ifndef NET_AGENTS_H
#define NET_AGENTS_H

#include <coppice/error.h>

#include "net/bootstrap.h"
#include "wire/limits.h"

/* The lines that an agent writes to its standard output, and so to that of the
 * command: a node has ended, "ended RANK how"; a node cannot come, "lost why". */
#define AGENTS_ENDED "ended"
#define AGENTS_LOST  "lost"

/* The line that the front-end writes behind the bootstrap, for all agents, when a
 * node is missing and that is allowed: "missing RANK". What would be its child
 * is started below the next node above. */
#define AGENTS_MISSING "missing"

/* Make the command of the front-end with this bootstrap: the words of its
 * launcher, with the hosts filled in (`cop_launch.start_argv`), and then the
 * agent's own. Free it by agents_free_command(). Returns 0
 * or -ENOMEM. */
int agents_command(char ***out, const struct bootstrap *bootstrap);
void agents_free_command(char **words);

/* Whether `host` of a topology is this machine: one of its names
 * ($SLURMD_NODENAME, the system's) is the same, in any case, and with or without
 * a domain. */
bool agents_is_own(const char *host);

/* The index in `tree` of the next node, after `index` (0 at first), that this
 * machine's agent starts, as `is_own` knows its hosts; TOPOLOGY_NONE if there is
 * none. */
uint32_t agents_next(const struct topology *tree,
                     uint32_t index,
                     bool (*is_own)(const char *host));

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

#endif
