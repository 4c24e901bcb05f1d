/* commnode.h - the commnode's shell, inside the library for its program. */
#pragma once

#include <coppice/error.h>

/* Run a commnode of the network that started this process, until it ends.
 * Returns an exit status: 0 after an orderly end, otherwise 1 with a sentence
 * on standard error. */
COP_API int cop_commnode_main(void);

/* Join a running network as a commnode, by the session file at `path`, and run
 * until the network ends. Returns an exit status, with a sentence on standard
 * error unless it is 0. */
COP_API int cop_commnode_join(const char *path);

/* Be the remote end of an ssh launch (PROTOCOL 12.1): pass the bootstrap from
 * standard input to `argv`, run until it ends, write `accepted` and `exited
 * STATUS` to standard output. Returns an exit status. */
COP_API int cop_commnode_start(char *const *argv);

/* Be one of the agents that assemble a tree (PROTOCOL 12.5): start the nodes of
 * this host, and run until they end. The front-end's bootstrap comes on
 * standard input. Returns an exit status. */
COP_API int cop_commnode_agent(void);
