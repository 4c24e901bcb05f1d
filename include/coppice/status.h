/* status.h - watch a network from outside, and inject faults into it.
 *
 * A program that can read a network's session file (see `session_path` in
 * coppice.h) may ask the front-end for the state of all nodes. If the network
 * was launched with `allow_injection`, the program may also inject a fault into
 * a node. It does not become part of the network: each call connects to the
 * front-end, proves the session's key, sends one request, and closes. */
#ifndef COPPICE_STATUS_H
#define COPPICE_STATUS_H

#include <coppice/coppice.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cop_status; /* all nodes of a network, at one moment */

/* The state of a node. */
enum cop_state {
    COP_STATE_UP,       /* it answers, and all nodes below it are up */
    COP_STATE_DEGRADED, /* it answers, and a node below it is not up */
    COP_STATE_SILENT,   /* it is linked, but has not answered in time */
    COP_STATE_ORPHAN,   /* it has lost its parent, or the link to it, and has no
                           new one yet; it may be dead */
    COP_STATE_MISSING,  /* it could not be started */
    COP_STATE_LOST,     /* it is dead, or was given up */
};

/* The role of a node. */
enum cop_role {
    COP_FRONTEND,
    COP_COMMNODE,
    COP_BACKEND,
};

/* The value for no rank, and for an unknown time. */
#define COP_RANK_NONE    UINT32_MAX
#define COP_TIME_UNKNOWN UINT32_MAX

/* One node. */
struct cop_status_node {
    size_t size;
    uint32_t rank;
    uint32_t parent; /* COP_RANK_NONE at the front-end, or if not known; of a
                        lost node, the last one known */
    enum cop_role role;
    enum cop_state state;
    uint32_t state_ms;      /* time in this state, or COP_TIME_UNKNOWN */
    uint32_t round_trip_us; /* of the link to its parent, measured for this
                               answer; or COP_TIME_UNKNOWN */
    uint32_t adoptions;     /* how often it lost a parent and found one, another
                               or the same */
    uint32_t adopted_from;  /* the parent that it lost last; COP_RANK_NONE: none
                               lost, or it has moved since, or its parent has
                               the place of the one that it had at launch */
    const char *host;       /* "" if not known; borrowed from the status */
    const char *reason;     /* why it could not be started, with the last output
                               of ssh; or why it is lost, as first reported: how
                               its link or its process ended, that it was
                               silent, given up, or killed by
                               cop_network_inject(). "" in other states and if
                               not known; borrowed */
    const char *label;      /* `label` of its cop_join; "": none; borrowed */
    uint32_t place;         /* the commnode of the launch in whose place it was
                               started (`replace` of cop_launch); 0: none */
};
#define COP_STATUS_NODE_INIT COP_INIT(cop_status_node)

/* ---- watch a network from outside --------------------------------------
 *
 * See also: coppice-status(1), cop_network_launch(3), coppice(7) */

/* Read the state of all nodes. Blocks until the answer arrives. If a node does
 * not answer, that takes three quarters of `timeout_ms`, and the node is
 * reported as COP_STATE_SILENT.
 *
 * out         the caller's: cop_status_free() it
 * timeout_ms  from 1 to 60,000
 *
 * Returns 0, or a negative errno with a sentence in `error`:
 *   -EINVAL        `timeout_ms` is out of range
 *   -ENOENT        there is no such session file; and others from opening it
 *   -EACCES        the file belongs to another user or is open to others
 *   -EBADMSG       the file is damaged
 *   -ECONNREFUSED  no process listens there: the network has ended
 *   -ENOTCONN      the front-end has ended the network, or hung up
 *   -ENOKEY        the process that listens there belongs to another network
 *   -EKEYREJECTED  the same
 *   -EHOSTUNREACH  the front-end cannot be reached
 *   -ETIMEDOUT     it does not answer in time
 *   -EBUSY         too many programs are asking at this moment
 *   -EAGAIN        the network is starting or ending
 *   -ENOMEM, -EMFILE and others from the system */
COP_API int cop_status_read(struct cop_status **out,
                            const char *session_path,
                            int timeout_ms,
                            struct cop_error *error);

/* Free `status`. NULL is fine. */
COP_API void cop_status_free(struct cop_status *status);

/* How many nodes the status has: from 1 to 1,048,576. */
COP_API size_t cop_status_count(const struct cop_status *status);

/* How many more nodes the network has. */
COP_API size_t cop_status_left_off(const struct cop_status *status);

/* Node `index`, below cop_status_count(), in order of rank: the front-end is
 * first. The caller sets `node->size` before. Returns 0 or -EINVAL. */
COP_API int cop_status_at(const struct cop_status *status,
                          size_t index,
                          struct cop_status_node *node);

/* Write `count` host names in short form, as coppice-topology(5) reads them:
 * node[1-3]. They keep their order. `*text` is the caller's to free(). Returns
 * 0, -EINVAL if a name could not be read back, or -ENOMEM. */
COP_API int cop_hosts_text(char **text, const char *const *hosts, size_t count);

/* What this process's node knows of node `rank`, without a message: at the
 * front-end, of every node that there has been, so a loop from 0 to the first
 * -ENOENT lists the tree; at a back-end, of itself and of commnodes. The caller
 * sets `node->size` before; the texts are borrowed from `network`.
 *
 * The state is never COP_STATE_DEGRADED or COP_STATE_SILENT. A back-end that has
 * left is COP_STATE_LOST, without a reason. `round_trip_us` and `adoptions` are
 * not known. Neither are, at the front-end, the parents of back-ends after 4,096
 * recoveries; at a back-end, the hosts of other nodes, and its own parent while
 * it looks for one.
 *
 * Returns 0, -ENOENT if there is no such node, -EINVAL, or -EPERM in a forked
 * child. */
COP_API int cop_network_node(struct cop_network *network,
                             uint32_t rank,
                             struct cop_status_node *node);

/* The faults that can be injected. */
enum cop_injection {
    COP_INJECT_KILL = 1, /* it kills itself, with SIGKILL */
    COP_INJECT_FREEZE,   /* it stops itself and continues after a time */
    COP_INJECT_CUT,      /* it resets the connection to its parent */
};

/* ---- break nodes on purpose, and follow recoveries ---------------------
 *
 * See also: coppice-inject(1), cop_status_read(3), coppice(7) */

/* Inject a fault into node `rank`, to see how the network reacts. Returns once
 * the front-end has sent the command; see cop_status_read() for its arrival.
 *
 * rank       a commnode or a back-end; never the front-end
 * freeze_ms  for COP_INJECT_FREEZE, from 1 to 3,600,000; else 0
 *
 * Returns 0, -EPERM if the network was launched without `allow_injection`,
 * -ENOENT if there is no such node, -EHOSTUNREACH if it is lost or has no
 * parent at this moment, -EINVAL, or as cop_status_read(). */
COP_API int cop_network_inject(const char *session_path,
                               uint32_t rank,
                               enum cop_injection injection,
                               uint32_t freeze_ms,
                               int timeout_ms,
                               struct cop_error *error);

/* Drain `host`, as cop_network_drain() does. Returns when the front-end has begun:
 * cop_status_read() shows what is left.
 *
 * Returns 0, -EPERM if the network was launched without `allow_administration`,
 * -ENOENT if there is no such host, -EALREADY if it is drained or being drained,
 * -EINVAL if it has the front-end only or has no name, or as
 * cop_status_read(). */
COP_API int cop_session_drain(const char *session_path,
                              const char *host,
                              int timeout_ms,
                              struct cop_error *error);

/* The recovery of one orphan, as the orphan reported it. */
struct cop_recovered {
    uint32_t rank;
    uint32_t parent;      /* the new one */
    uint32_t lost_parent; /* the lost one: the same rank if only the link to it
                             was lost */
    uint64_t age_ms;      /* time since the report arrived */
    struct cop_recovery recovery; /* `attempts` is 0 for a commnode that was
                                     declared dead but lives */
};

/* Ask for the recoveries of a network, oldest first: the front-end keeps the
 * last 4,096.
 *
 * next  the number of the first recovery wanted: 0 for all that are kept,
 *       UINT64_MAX for none; set to the number after the last one in `list`
 * list  room for `room` recoveries; may be NULL if that is 0
 *
 * Returns how many there are in `list`, or as cop_status_read(). */
COP_API int cop_network_recoveries(const char *session_path,
                                   uint64_t *next,
                                   struct cop_recovered *list,
                                   size_t room,
                                   int timeout_ms,
                                   struct cop_error *error);

#ifdef __cplusplus
}
#endif

#endif
