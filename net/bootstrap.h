/* bootstrap.h - what a node is told when it is started.
 *
 * The front-end makes its own; each node makes those of its children from its
 * own. A bootstrap travels on a descriptor, never on a command line or in the
 * environment (PROTOCOL 12.1): 4 bytes of magic, a length, the key, and one
 * packet. An attaching back-end gets its own from a session file
 * (net/session.h). */
#pragma once

#include <coppice/coppice.h>
#include <sys/types.h>

#include "net/ports.h"
#include "protocol/node.h"

struct topology;

#define BOOTSTRAP_KEY_LEN     32
#define BOOTSTRAP_SESSION_LEN 16

/* Most bytes of one bootstrap: 64 MiB, a subtree of LIMIT_NODES included. */
#define BOOTSTRAP_LEN_MAX (UINT32_C(64) << 20)

/* The bytes that say how long it is. */
#define BOOTSTRAP_START_LEN 8

/* The environment variable that holds the descriptor's number. */
#define BOOTSTRAP_VARIABLE "COPPICE_BOOTSTRAP_FD"

struct bootstrap {
    unsigned char *key; /* BOOTSTRAP_KEY_LEN bytes, in no core dump */
    unsigned char session[BOOTSTRAP_SESSION_LEN];
    enum node_role role;
    uint32_t rank; /* RANK_NONE: attaches, and is to be numbered */
    uint32_t depth;
    uint32_t next_rank;   /* front-end: the first rank for those that join */
    bool attach;          /* no back-ends are started */
    bool allow_injection; /* nodes may be broken on purpose */
    enum cop_missing missing;
    bool loopback;        /* a tree of local hosts only */
    bool assembled;       /* agents start the nodes (PROTOCOL 12.5) */
    bool awaits_parent;   /* it may not be listening yet, or on another of its
                             ports: an agent has started us */
    struct ports ports;   /* where nodes listen */
    uint32_t parent_rank; /* RANK_NONE at the front-end */
    char *parent_address; /* "ADDRESS PORT ADDRESS PORT ..." */
    char *host;           /* our own name in the topology */
    char *launcher;       /* as in net/launcher.h */
    char **launcher_argv; /* its command; ends in NULL */
    char *networks;       /* CIDRs, or "" for all */
    char *absent; /* hosts that agents leave out, with commas, a space and
                             the reason; or "" */
    char *filter_path;
    char *commnode_path;
    char **backend_argv; /* ends in NULL; NULL: none */
    struct cop_times times;
    uint32_t algorithm;       /* how orphans choose: topology/adopter.h */
    struct topology *subtree; /* our own at its root; NULL: no children */
    uint32_t node_count;      /* of a session file: nodes that may be called */
    int fd; /* to the process that started us, until we are accepted; else -1 */
};

/* Free a vector of strings that ends in NULL, or count them. NULL is fine. */
void words_free(char **words);
size_t words_count(char *const *words);

/* Make an empty one, with room for the key, which is locked in memory as far as
 * the system allows, and in no core dump (decision 0005). Returns 0, -ENOMEM,
 * or -ENOSYS if libsodium cannot be used. */
int bootstrap_new(struct bootstrap **out);

/* Make the front-end's, with a new key and session, from the tool's options
 * and its topology. Defaults are filled in: times, $COPPICE_COMMNODE,
 * $COPPICE_FILTER_PATH.
 *
 * launch    borrowed; its topology_* and hosts members are not looked at
 * topology  taken on success
 *
 * Returns 0, -EINVAL for an unknown launcher, reconfiguration or bad networks,
 * or -ENOMEM. */
int bootstrap_launch(struct bootstrap **out,
                     const struct cop_launch *launch,
                     struct topology *topology,
                     struct cop_error *error);

/* Fill in the one of child `rank`, whose parent is `parent`, reached at
 * `parent_address`. It borrows all from these two, the key as well, except its
 * subtree, which topology_free() frees. Returns 0, -EINVAL if it is no child, or
 * -ENOMEM. */
int bootstrap_child(struct bootstrap *out,
                    const struct bootstrap *parent,
                    uint32_t rank,
                    const char *parent_address);

/* Read the bootstrap that this program was started with from the descriptor
 * that is named in the environment, and unset the variable.
 *
 * Returns 0, or with a sentence in `error`:
 *   -ENOTCONN   there is no such variable: this program was started by hand
 *   -EPIPE      the process that started us is gone already
 *   -ETIMEDOUT  it did not come within `timeout_ms`
 *   -EBADMSG    it is damaged
 *   -ENOMEM */
int bootstrap_inherit(struct bootstrap **out,
                      uint32_t timeout_ms,
                      struct cop_error *error);

/* The bytes for the descriptor; free() them. Returns 0 or -ENOMEM. */
int bootstrap_encode(const struct bootstrap *bootstrap,
                     unsigned char **out,
                     size_t *len);

/* Read such bytes, from a stranger. Returns 0, -EBADMSG or -ENOMEM. */
int bootstrap_decode(struct bootstrap **out,
                     const unsigned char *bytes,
                     size_t len);

/* How long the bytes are of which the first BOOTSTRAP_START_LEN are given. Returns
 * -EBADMSG if they are no bootstrap. */
ssize_t bootstrap_announced_len(const unsigned char *bytes);

/* Read the bytes of one bootstrap from `fd`, undecoded; free() them. Returns 0,
 * -EPIPE at end-of-file, -ETIMEDOUT, -EBADMSG if they are none, or -ENOMEM. */
int bootstrap_receive(int fd,
                      uint32_t timeout_ms,
                      unsigned char **out,
                      size_t *len);

/* Say that our parent has accepted us, and close the descriptor. */
void bootstrap_accepted(struct bootstrap *bootstrap);

/* Free it, and wipe the key; closes its descriptor. NULL is fine. */
void bootstrap_free(struct bootstrap *bootstrap);
