/* tree.h - the processes of one round and the connections between them, from
 * /proc. */
#pragma once

#include <sys/types.h>

#include "test/storm/round.h"

#define SOCKETS_MAX 1024

struct node {
    pid_t pid;
    uint32_t parent;   /* as last reported */
    bool has_joined;   /* a late joiner that has joined */
    bool is_killed;    /* killed by the driver, or told to leave */
    bool is_harmed;    /* killed, stopped, or an end of a reset link */
    bool is_suspected; /* by an event; no later event has ended it */
    bool is_lost;      /* by an event */
};

/* What events have reported about a link. */
enum {
    LINK_LEFT = 1,  /* the child was adopted, perhaps by the same parent */
    LINK_LOSSY = 2, /* packets may have been lost with it */
};

struct tree {
    const struct shape *shape;
    uint32_t count;      /* of ranks, the late joiners included */
    uint32_t first_leaf; /* ranks from here on are back-ends */
    uint32_t launched;   /* ranks from here on are late joiners */
    uint32_t joined;     /* late joiners; some ranks may be unused: a process
                            that asks twice to join gets two */
    struct node nodes[RANKS_MAX];
    unsigned char links[RANKS_MAX][RANKS_MAX]; /* child, parent */
};

/* A TCP socket of a node. */
struct socket {
    uint32_t rank;
    int fd;
    unsigned long inode;
    bool listens;   /* it listens; else it is connected */
    uint32_t peer;  /* the rank at the other end; UINT32_MAX: none */
    char local[48]; /* address and port, as in /proc */
    char remote[48];
};

/* Set up the ranks of a tree of `shape`, level by level. */
void tree_init(struct tree *tree, const struct shape *shape);

/* Find the processes: back-ends by their tallies, other nodes by their
 * children. Returns false and reports why if the processes do not form the
 * tree. */
bool tree_census(struct tree *tree, const char *folder, pid_t front_end);

/* List the TCP sockets of all live nodes. Returns their number. */
size_t tree_sockets(const struct tree *tree, struct socket out[SOCKETS_MAX]);

/* The parent of process `pid` and its state, a letter; -1 if it is gone. */
pid_t process_parent(pid_t pid, char *state);

/* Whether a socket with that inode still listens. */
bool socket_listens(unsigned long inode);
