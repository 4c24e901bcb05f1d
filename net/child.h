/* child.h - one child of a node; only for children.c and the launchers. */
#pragma once

#include "net/children.h"
#include "net/handover.h"
#include "net/launcher.h"
#include "net/spawn.h"

/* Written by children.c only, except `state`. */
struct child {
    struct children *children;
    struct child *next; /* in the queue of children to start */
    const struct launcher *launcher;
    void *state; /* the launcher's; freed with the child */
    uint32_t rank;
    bool replaces;  /* it joins, in the place of `rank` */
    char *host;     /* another one than that of `rank`; or NULL */
    pid_t pid;      /* 0: no process of this node */
    uint32_t links; /* links that are up */
    bool met;       /* a link was up; for the command that starts all nodes: any
                       link, and all agents have answered */
    bool over;      /* its end is certain: `text` says how */
    bool told;      /* the end was reported */
    char *text;     /* or NULL */
    ev_io process;  /* process.h */
    struct handover handover; /* of its bootstrap */
};

/* The bootstrap of the node that starts `child`. Borrowed. */
const struct bootstrap *child_bootstrap(const struct child *child);

/* Start the process of `child` and watch it. Returns 0 or a negative errno. */
int child_spawn(struct child *child, struct spawn *spawn);

/* Watch `fd` (taken), and call `readable` when there is something to read.
 * child_unwatch() stops that and closes `fd`; does nothing if it is closed. */
void child_watch(struct child *child,
                 ev_io *io,
                 int fd,
                 void (*readable)(struct ev_loop *loop, ev_io *io, int events));
void child_unwatch(struct child *child, ev_io *io);

/* The child's parent has accepted it. */
void child_accepted(struct child *child);

/* The end of the node is certain. `how` completes "PROGRAM ...". */
void child_over(struct child *child, const char *how);

/* `command`, which starts all nodes, reports an agent on the host `name`. */
void child_here(struct child *command, const char *name);

/* `command`, which starts all nodes, reports that node `rank` has ended (its
 * parent may be any node); or that the nodes not met yet will not come. `how`
 * completes "PROGRAM ...". */
void child_ended(struct child *command, uint32_t rank, const char *how);
void child_none_comes(struct child *command, const char *how);

/* Write bytes to our standard error. Never blocks, even if nothing reads it:
 * the bytes are lost if there is no memory or thread for them. */
void child_print(struct child *child, const char *bytes, size_t len);
