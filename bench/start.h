/* start.h - launch a network of benchmark back-ends. */
#pragma once

#include <stddef.h>

struct cop_launch;
struct cop_network;

/* Launch a network on this machine. Every back-end runs `program`, in the
 * directory of the running program. Exactly one of `shape` and `text`, the text
 * of a topology file, is set. `session_path`, if set, gets a session file with
 * which faults can be injected. A build tree's own commnode and filters are
 * used, unless the environment names others. An installed library finds its
 * own.
 *
 * Returns 0, or a negative errno after a message. */
int start_network(struct cop_network **out,
                  const char *program,
                  const char *shape,
                  const char *text,
                  const char *session_path);

/* The same with further options: `launch` has a topology. */
int start_launch(struct cop_network **out,
                 const char *program,
                 struct cop_launch *launch);

/* Path of the program `name` that lies beside the running one, in `path`.
 * Returns 0, -ENAMETOOLONG or an error of the system, said. */
int start_path(char *path, size_t room, const char *name);

/* main() of a back-end: join, and `serve` until the network ends, for which it
 * returns 0 or -ENOTCONN; else a negative errno, which is said. Returns the exit
 * status. */
int start_back_end(int (*serve)(struct cop_network *network));
