/* commnode.h - the commnode's shell, inside the library for its program. */
#pragma once

#include <coppice/error.h>

/* Be a commnode of the network that started this process, until it ends.
 * Returns an exit status: 0 after an orderly end, 1 with a sentence on
 * standard error otherwise. */
COP_API int cop_commnode_main(void);

/* Be the far end of an ssh launch (PROTOCOL 12.1): hand the bootstrap from
 * standard input on to `argv`, stay for its life, write `accepted` and
 * `exited STATUS` to standard output. Returns an exit status. */
COP_API int cop_commnode_start(char *const *argv);

/* Start the nodes of this host, as one of the agents that assemble a tree
 * (PROTOCOL 12.5), and stay for their life. The front-end's bootstrap comes on
 * standard input. Returns an exit status. */
COP_API int cop_commnode_agent(void);
