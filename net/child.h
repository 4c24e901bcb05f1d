/* child.h - one child of a node, for children.c and the launchers alone. */
#pragma once

#include "net/children.h"
#include "net/launcher.h"
#include "net/spawn.h"

/* Written by children.c only, except `state`. */
struct child {
    struct children *children;
    struct child *next; /* in the queue of those to be started */
    const struct launcher *launcher;
    void *state; /* the launcher's; freed with the child */
    uint32_t rank;
    pid_t pid;      /* 0: no process of ours */
    uint32_t links; /* that are up */
    bool met;       /* one was up; of the command that starts all: of any, and
                       the agents are complete */
    bool over;      /* its end is certain: `text` says how */
    bool told;      /* and was told */
    char *text;     /* or NULL */
    ev_io process;  /* its pidfd */
    ev_io boot;     /* our end of the bootstrap's socket */
    unsigned char *bytes;
    size_t len;
    size_t sent;
};

/* What the node was told at its birth. Borrowed. */
const struct bootstrap *child_bootstrap(const struct child *child);

/* Start the process of `child` and watch it. Returns 0 or a negative errno. */
int child_spawn(struct child *child, struct spawn *spawn);

/* Call back when there is something to read from `fd` (taken); or not any more,
 * and close it: nothing happens if it is closed already. */
void child_watch(struct child *child,
                 ev_io *io,
                 int fd,
                 void (*readable)(struct ev_loop *loop, ev_io *io, int events));
void child_unwatch(struct child *child, ev_io *io);

/* The parent has accepted the node. */
void child_accepted(struct child *child);

/* The end of the node is certain. `how` completes "PROGRAM ...". */
void child_over(struct child *child, const char *how);

/* The command that starts all nodes says: an agent runs on the host `name`. */
void child_here(struct child *command, const char *name);

/* The command that starts all nodes says: node `rank`, of which another node may
 * be the parent, has ended; or no node comes that is not here yet. `how`
 * completes "PROGRAM ...". */
void child_ended(struct child *command, uint32_t rank, const char *how);
void child_none_comes(struct child *command, const char *how);

/* Write bytes to our standard error, which may not be read: never blocks. They
 * are lost if there is no memory or thread for it. */
void child_print(struct child *child, const char *bytes, size_t len);
