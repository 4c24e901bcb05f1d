/* bootstrap.h - the settings that a node receives when it is started.
 *
 * The front-end makes its own bootstrap; each node makes its children's from
 * its own. A bootstrap travels on a descriptor, never on a command line or in
 * the environment (PROTOCOL 12.1): 4 bytes of magic, a length, the key, and one
 * packet. A back-end that attaches reads a session file instead
 * (net/session.h). */
#pragma once

#include <coppice/coppice.h>
#include <sys/types.h>

#include "net/ports.h"
#include "protocol/node.h"

struct topology;

#define BOOTSTRAP_KEY_LEN     32
#define BOOTSTRAP_SESSION_LEN 16

/* Longest bootstrap: 64 MiB, including a subtree of LIMIT_NODES. */
#define BOOTSTRAP_LEN_MAX (UINT32_C(64) << 20)

/* The length of the header that states a bootstrap's length. */
#define BOOTSTRAP_START_LEN 8

/* The environment variable that holds the descriptor's number. */
#define BOOTSTRAP_VARIABLE "COPPICE_BOOTSTRAP_FD"

struct bootstrap {
    unsigned char *key; /* BOOTSTRAP_KEY_LEN bytes, excluded from core dumps */
    unsigned char session[BOOTSTRAP_SESSION_LEN];
    enum node_role role;
    uint32_t rank; /* RANK_NONE: attaches, gets its rank then */
    uint32_t depth;
    uint32_t next_rank; /* front-end: first rank for nodes that join */
    uint32_t place;     /* of a commnode that replaces another one, its rank at
                             the launch; else 0 */
    uint32_t replace;   /* front-end: tries to replace a lost commnode */
    bool keep_shape;    /* front-end: it moves commnodes back */
    char **spares;      /* front-end: hosts for that, up to NULL; or NULL */
    bool attach;        /* back-ends attach; none is started */
    bool allow_injection; /* faults may be injected */
    bool
        allow_administration; /* front-end: hosts may be drained from outside */
    bool views;               /* front-end: it sends views */
    uint32_t survive_ms; /* how long nodes wait for another front-end; 0: they
                             end with it (PROTOCOL 23) */
    bool resumes;        /* front-end: it takes the network over; never sent */
    enum cop_missing missing;
    bool loopback;        /* all hosts are local */
    bool assembled;       /* agents start the nodes (PROTOCOL 12.5) */
    bool awaits_parent;   /* an agent has started this node: the parent may not
                             listen yet, or on another of its ports */
    struct ports ports;   /* where nodes listen */
    uint32_t parent_rank; /* RANK_NONE at the front-end */
    char *parent_address; /* "ADDRESS PORT ADDRESS PORT ..." */
    char *host;           /* name of this node's host in the topology */
    char *launcher;       /* as in net/launcher.h */
    char **launcher_argv; /* its command, up to NULL */
    char *networks;       /* CIDRs, or "" for all */
    char *absent; /* hosts without an agent, with commas, a space and the
                     reason; or "" */
    char *filter_path;
    char *commnode_path;
    char **backend_argv; /* up to NULL; NULL: none */
    struct cop_times times;
    uint32_t algorithm;       /* for orphans: see topology/adopter.h */
    struct topology *subtree; /* with this node as root; NULL: no children */
    uint32_t node_count;      /* from a session file: possible parents */
    char *label;              /* of this back-end, never sent; NULL: none */
    int fd; /* to the starting process, until accepted; else -1 */
};

/* Free a vector of strings that ends in NULL, or count them. NULL is fine. */
void words_free(char **words);
size_t words_count(char *const *words);

/* Make an empty one, with room for the key, which is locked in memory as far as
 * the system allows, and in no core dump (decision 0005). Returns 0, -ENOMEM,
 * or -ENOSYS if libsodium cannot be used. */
int bootstrap_new(struct bootstrap **out);

/* Make the front-end's bootstrap, with a new key and session, from the tool's
 * options and its topology. Fills in defaults: times, $COPPICE_COMMNODE,
 * $COPPICE_FILTER_PATH.
 *
 * launch    borrowed; its topology_* and hosts members are ignored
 * topology  taken on success
 *
 * Returns 0, -EINVAL for an unknown launcher, unknown reconfiguration or bad
 * networks, or -ENOMEM. */
int bootstrap_launch(struct bootstrap **out,
                     const struct cop_launch *launch,
                     struct topology *topology,
                     struct cop_error *error);

/* Fill in the bootstrap of child `rank` of `parent`, which the child reaches at
 * `parent_address`. `out` borrows everything from these two, including the key,
 * except its subtree, which topology_free() frees. Returns 0, -EINVAL if `rank`
 * is no child, or -ENOMEM. */
int bootstrap_child(struct bootstrap *out,
                    const struct bootstrap *parent,
                    uint32_t rank,
                    const char *parent_address);

/* Fill in the bootstrap of a commnode that joins the network of `frontend`, which
 * it reaches at `address`, in the place `place`, on `host`. Borrows everything. */
void bootstrap_replacement(struct bootstrap *out,
                           const struct bootstrap *frontend,
                           uint32_t place,
                           const char *host,
                           const char *address);

/* Read this program's bootstrap from the descriptor that the environment names,
 * and unset the variable.
 *
 * Returns 0, or with a sentence in `error`:
 *   -ENOTCONN   the variable is unset: this program was started by hand
 *   -EPIPE      the process that started us has already ended
 *   -ETIMEDOUT  no bootstrap arrived within `timeout_ms`
 *   -EBADMSG    it is damaged
 *   -ENOMEM */
int bootstrap_inherit(struct bootstrap **out,
                      uint32_t timeout_ms,
                      struct cop_error *error);

/* Encode in the wire form; free() the bytes. Returns 0 or -ENOMEM. */
int bootstrap_encode(const struct bootstrap *bootstrap,
                     unsigned char **out,
                     size_t *len);

/* Decode a bootstrap from untrusted bytes. Returns 0, -EBADMSG or -ENOMEM. */
int bootstrap_decode(struct bootstrap **out,
                     const unsigned char *bytes,
                     size_t len);

/* The length of a bootstrap, from its first BOOTSTRAP_START_LEN bytes; -EBADMSG
 * if these do not begin a bootstrap. */
ssize_t bootstrap_announced_len(const unsigned char *bytes);

/* Read the bytes of one bootstrap from `fd`, undecoded; free() them. Returns 0,
 * -EPIPE at end-of-file, -ETIMEDOUT, -EBADMSG or -ENOMEM. */
int bootstrap_receive(int fd,
                      uint32_t timeout_ms,
                      unsigned char **out,
                      size_t *len);

/* Report over `bootstrap->fd` that the parent has accepted us, and close it. */
void bootstrap_accepted(struct bootstrap *bootstrap);

/* Wipe the key, close the descriptor and free `bootstrap`. NULL is fine. */
void bootstrap_free(struct bootstrap *bootstrap);
