/* launcher.h - the ways to start the children of a node: a table for each.
 *
 * To add one: a file launcher_NAME.c with its table, and a line in the list of
 * launcher.c. The life of a child after its start is in net/children.c. */
#pragma once

#include <coppice/error.h>
#include <stdbool.h>

struct bootstrap;
struct child;

struct launcher {
    const char *name; /* as in `cop_launch.launcher` */

    /* The launcher's command, unless the tool names another one; ends in NULL.
     * NULL: the launcher has none. */
    const char *const *argv;

    /* Whether this variable, "NAME=VALUE", of the environment must be hidden
     * from its command. NULL: none is hidden. */
    bool (*hides)(const char *variable);

    /* Every node runs on this machine, whatever the hosts are called. */
    bool is_local;

    /* One command of the front-end starts an agent on each host, and the agents
     * start the nodes (PROTOCOL 12.5). start() is called for that command only,
     * with `host` and `program` NULL. */
    bool is_assembling;

    /* Whether it starts the nodes on `host` for the node with this bootstrap;
     * launcher_local starts the others. */
    bool (*reaches)(const struct bootstrap *bootstrap, const char *host);

    /* Start `program` on `host` for `child`. The program's end of the bootstrap
     * is the descriptor `bootstrap` (borrowed). Returns 0 or a negative errno.
     */
    int (*start)(struct child *child,
                 const char *host,
                 char *const *program,
                 int bootstrap);

    /* The process that start() made has ended; `how` completes "PROGRAM ...".
     * Calls child_over() if that is a certain end of the node. */
    void (*ended)(struct child *child, const char *how);

    /* The output before the child was accepted, as one line; "" if there is
     * none. NULL: the launcher has no output. */
    const char *(*words)(struct child *child);

    /* Close what start() has opened, by child_unwatch(). May be NULL. */
    void (*close)(struct child *child);
};

extern const struct launcher launcher_local, launcher_ssh, launcher_slurm,
    launcher_command;

/* The launcher called `name`, "local" if NULL; or NULL with a sentence. */
const struct launcher *launcher_find(const char *name, struct cop_error *error);
