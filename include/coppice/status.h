/* status.h - watching a network from outside, and breaking it on purpose.
 *
 * Whoever has a network's session file (see `session_path` in coppice.h) may
 * ask its front-end how the nodes are, and, where the network was launched with
 * `allow_injection`, have one of them broken. He is no member of the network:
 * each call connects to the front-end, proves that it knows the session's key,
 * asks one thing, and closes. The network goes on as if nobody had asked. */
#ifndef COPPICE_STATUS_H
#define COPPICE_STATUS_H

#include <coppice/coppice.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cop_status; /* all nodes of a network, as they were at one moment */

/* How a node is. */
enum cop_state {
    COP_STATE_UP,       /* it answers, and all that is below it is up */
    COP_STATE_DEGRADED, /* it answers, and something below it is not up */
    COP_STATE_SILENT,   /* it is linked, but has not answered in time */
    COP_STATE_ORPHAN,   /* it has lost its parent, or the link to it, and has no
                           other one yet; it may be dead */
    COP_STATE_MISSING,  /* it could not be started */
    COP_STATE_LOST,     /* it is dead, or was given up */
};

/* What a node is. */
enum cop_role {
    COP_FRONTEND,
    COP_COMMNODE,
    COP_BACKEND,
};

/* In the place of a rank, or of a time: none, or not known. */
#define COP_RANK_NONE    UINT32_MAX
#define COP_TIME_UNKNOWN UINT32_MAX

/* One node. */
struct cop_status_node {
    size_t size;
    uint32_t rank;
    uint32_t parent; /* COP_RANK_NONE at the front-end. Of one that is lost: the
                        last that is known */
    enum cop_role role;
    enum cop_state state;
    uint32_t state_ms;      /* so long in this state; COP_TIME_UNKNOWN */
    uint32_t round_trip_us; /* of the link to its parent, measured for this
                               answer; COP_TIME_UNKNOWN */
    uint32_t adoptions;     /* so often it has lost a parent, and found one:
                               another, or the same again */
    uint32_t adopted_from;  /* the parent that it lost last; COP_RANK_NONE: it
                               has its first one */
    const char *host;       /* "" where not known; borrowed from the status */
    const char *reason;     /* why it could not be started, with what ssh said
                               last; why it is lost, as whoever noticed it
                               first has said: how its link or its process
                               ended, that it was silent, given up, or killed
                               by cop_network_inject(). "" in other states, and
                               where it is not known; borrowed */
};
#define COP_STATUS_NODE_INIT COP_INIT(cop_status_node)

/* Ask how all nodes are. Blocks until the answer is here; a node that does not
 * answer costs three quarters of `timeout_ms`, and is told as silent.
 *
 * out         the caller's: cop_status_free() it
 * timeout_ms  from 1 to 60,000
 *
 * Returns 0, or a negative errno with a sentence in `error`:
 *   -EINVAL        `timeout_ms` is none
 *   -ENOENT        there is no such session file; and others from opening it
 *   -EACCES        it is another user's, or open to others
 *   -EBADMSG       it is damaged
 *   -ECONNREFUSED  nobody listens there: the network has ended
 *   -ENOTCONN      the front-end has ended the network, or hung up
 *   -ENOKEY        somebody else listens there: it is another network
 *   -EKEYREJECTED  the same
 *   -EHOSTUNREACH  the front-end cannot be reached
 *   -ETIMEDOUT     it does not answer in time
 *   -EBUSY         too many ask just now
 *   -EAGAIN        the network is just starting or ending
 *   -ENOMEM, -EMFILE and others from the system */
COP_API int cop_status_read(struct cop_status **out,
                            const char *session_path,
                            int timeout_ms,
                            struct cop_error *error);

/* Free `status`. NULL is fine. */
COP_API void cop_status_free(struct cop_status *status);

/* How many nodes it has: 1 or more, at most 65,536. */
COP_API size_t cop_status_count(const struct cop_status *status);

/* How many more the network has. */
COP_API size_t cop_status_left_off(const struct cop_status *status);

/* Node `index`, below cop_status_count(), in order of rank: the front-end is
 * first. `node->size` is set before. Returns 0 or -EINVAL. */
COP_API int cop_status_node(const struct cop_status *status,
                            size_t index,
                            struct cop_status_node *node);

/* Write `count` host names short, as coppice-topology(5) reads them: node[1-3].
 * They keep their order. `*text` is the caller's to free(). Returns 0, -EINVAL
 * if a name could not be read back, or -ENOMEM. */
COP_API int cop_hosts_text(char **text, const char *const *hosts, size_t count);

/* ---- breaking it ------------------------------------------------------- */

/* What is done to a node. */
enum cop_injection {
    COP_INJECT_KILL = 1, /* it kills itself, with SIGKILL */
    COP_INJECT_FREEZE,   /* it stops itself, and goes on after a time */
    COP_INJECT_CUT,      /* it resets the connection to its parent */
};

/* Have node `rank` broken on purpose, to see how the network takes it. Returns
 * when the front-end has sent the command on its way; whether it came there,
 * cop_status_read() tells.
 *
 * rank       a commnode or a back-end; never the front-end
 * freeze_ms  for COP_INJECT_FREEZE, from 1 to 3,600,000; else 0
 *
 * Returns 0, -EPERM if the network was launched without `allow_injection`,
 * -ENOENT if there is no such node, -EHOSTUNREACH if it is lost or has no
 * parent just now, -EINVAL, or as cop_status_read(). */
COP_API int cop_network_inject(const char *session_path,
                               uint32_t rank,
                               enum cop_injection injection,
                               uint32_t freeze_ms,
                               int timeout_ms,
                               struct cop_error *error);

/* One orphan that has found another parent, as it reported it. */
struct cop_recovered {
    uint32_t rank;
    uint32_t parent;      /* the new one */
    uint32_t lost_parent; /* the one that was lost: the same rank if only the
                             link to it was */
    uint64_t age_ms;      /* so long ago the report came */
    struct cop_recovery recovery; /* `attempts` is 0 for a commnode that was
                                     taken for dead, and lives */
};

/* Ask for the recoveries of a network, oldest first: the front-end keeps the
 * last 4,096.
 *
 * next  the number of the first one wanted: 0 for all that are kept, UINT64_MAX
 *       for none; it is set to the number of the one after those in `list`
 * list  room for `room` of them; may be NULL where that is 0
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
