/* tree.h - the processes of one round and the connections between them, as the
 * system shows them. */
#pragma once

#include <sys/types.h>

#include "test/storm/round.h"

#define SOCKETS_MAX 1024

struct node {
    pid_t pid;
    uint32_t parent;   /* as last reported */
    bool has_joined;   /* late */
    bool is_killed;    /* by us, or told to leave */
    bool is_harmed;    /* killed, stopped, or at an end of a reset link */
    bool is_suspected; /* an event says so, and no other has ended it */
    bool is_lost;      /* an event says so */
};

/* What events have said of a link. */
enum {
    LINK_LEFT = 1,  /* the child has found another parent, or this one again */
    LINK_LOSSY = 2, /* something may have been lost with it */
};

struct tree {
    const struct shape *shape;
    uint32_t count;      /* of ranks, the late joiners included */
    uint32_t first_leaf; /* ranks from here on are back-ends */
    uint32_t launched;   /* ranks from here on are late joiners */
    uint32_t joined;     /* late joiners; a rank that nobody has is possible:
                            who asks twice to join gets two */
    struct node nodes[RANKS_MAX];
    unsigned char links[RANKS_MAX][RANKS_MAX]; /* child, parent */
};

/* A TCP socket of a node. */
struct socket {
    uint32_t rank;
    int fd;
    unsigned long inode;
    bool listens;   /* else it is connected */
    uint32_t peer;  /* the rank at the other end; UINT32_MAX: none */
    char local[48]; /* address and port, as in /proc */
    char remote[48];
};

/* The ranks of a tree of that shape, level by level. */
void tree_init(struct tree *tree, const struct shape *shape);

/* Find the processes: those of the back-ends by their tallies, the others by
 * their children. Returns false and says why if the processes do not form the
 * tree. */
bool tree_census(struct tree *tree, const char *folder, pid_t front_end);

/* The TCP sockets of all nodes that live. Returns how many. */
size_t tree_sockets(const struct tree *tree, struct socket out[SOCKETS_MAX]);

/* The parent of process `pid` and its state, a letter; -1: there is none. */
pid_t process_parent(pid_t pid, char *state);

/* Whether a socket with that inode still listens. */
bool socket_listens(unsigned long inode);
