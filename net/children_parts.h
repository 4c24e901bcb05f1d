/* children_parts.h - the children of one node; only for children.c and child.c. */
#pragma once

#include "net/agents.h"
#include "net/child.h"
#include "net/relay.h"

struct children {
    struct ev_loop *loop;
    const struct bootstrap *bootstrap;
    const struct launcher *launcher; /* NULL: there are no children */
    const char *address;
    sigset_t mask;
    sigset_t reset; /* signals not ignored when the network was made */
    children_begun_fn *begun;
    children_gone_fn *gone;
    void *arg;
    struct child **list;   /* by their index in the subtree, or NULL; at 0 the
                              command that starts all nodes, if any */
    uint32_t room;         /* of `list` */
    struct child *waiting; /* queue of children to start */
    struct child **waiting_end;
    struct relay *relay; /* to our standard error, or NULL */
    struct agents_roll roll;
    size_t alive;   /* processes */
    bool asked;     /* the command that starts all nodes got SIGTERM */
    bool abandoned; /* this process is a fork: it owns nothing here */
};

/* Wait at most `wait_ms` for the process to end. Another part of the application
 * may have reaped it, or ignore SIGCHLD (PROTOCOL 14.4). Returns whether it has
 * ended, and its status in `how`. */
bool child_reap(struct child *child, int wait_ms, char *how, size_t room);

/* Send `signal` to its process, if that runs. */
void child_kill(const struct child *child, int signal);
