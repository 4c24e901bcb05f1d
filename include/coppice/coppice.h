/* coppice.h - the tool API: front-end and back-end.
 *
 * A network is one tree of nodes: the front-end at the root, back-ends at the
 * leaves, commnodes between them. Calls step the network in the caller's
 * thread; a background thread takes over while no thread calls. Several threads
 * may use one network. In a forked child every call returns -EPERM, and freeing
 * only closes descriptors.
 *
 * Every struct that a user fills begins with `size`, set by its _INIT.
 * Time-outs are in milliseconds: 0 does not wait, COP_FOREVER has no end. */
#ifndef COPPICE_COPPICE_H
#define COPPICE_COPPICE_H

#include <coppice/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COP_FOREVER (-1)

struct cop_network;      /* one tree, as seen from this node */
struct cop_stream;       /* a channel between front-end and a communicator */
struct cop_communicator; /* a set of back-ends */

/* Times, in milliseconds; 0 means the default (PROTOCOL 13). A back-end that no
 * node can reach is given up after `orphan_timeout`, `failure_timeout`,
 * `connect_timeout` and `probe_timeout` together. `failure_timeout` (default
 * 3,000) must be at least twice `heartbeat` (default 500); otherwise the launch
 * returns -EINVAL.
 *
 * Under COP_MISSING_SKIP a node must be started and must connect within
 * `start_timeout`. Once connected it may be silent for the same time until the
 * launch is complete. `start_timeout` is at most `launch_timeout`, under
 * COP_MISSING_SKIP divided by twice the height of the tree. */
struct cop_times {
    uint32_t heartbeat_ms;
    uint32_t failure_timeout_ms;
    uint32_t connect_timeout_ms;
    uint32_t probe_timeout_ms;
    uint32_t handshake_timeout_ms;
    uint32_t orphan_timeout_ms;
    uint32_t open_timeout_ms;
    uint32_t launch_timeout_ms;
    uint32_t filter_timeout_ms;
    uint32_t start_timeout_ms;
};

/* What a launch does if some nodes cannot be started. */
enum cop_missing {
    COP_MISSING_FAIL, /* it fails and names them */
    COP_MISSING_SKIP, /* it continues without them if at least one back-end
                         is left: see cop_network_missing() */
};

/* The options of cop_network_launch(). Exactly one of `topology_path`,
 * `topology_text` and `topology_shape` must be set. Everything is borrowed for
 * the call. */
struct cop_launch {
    size_t size;
    const char *topology_path;  /* a topology file */
    const char *topology_text;  /* or such a file's text */
    const char *topology_shape; /* or a shape over `hosts`, such as "8x8", or
                                   "each:16": one back-end on each host */
    const char *hosts;          /* host list of the shape; NULL: this host */
    char *const *backend_argv;  /* the back-end and its arguments, ending in
                                   NULL; a NULL pointer: back-ends attach by
                                   themselves with a session file, and the
                                   leaves of the topology are commnodes, too */
    const char *commnode_path;  /* NULL: $COPPICE_COMMNODE, else installed */
    const char *filter_path;    /* directories, colon-separated; NULL:
                                   $COPPICE_FILTER_PATH. The installed one is
                                   always searched last */
    const char *launcher;       /* "local": all nodes run on this machine,
                                   whatever hosts the topology names; "ssh",
                                   "slurm" or "command": see `start_argv`. NULL:
                                   "command" with `start_argv`, else "local", and
                                   a topology with other hosts is -EINVAL */
    char *const *start_argv;    /* one command that starts a program on all
                                   hosts at once, such as mpirun; in its words
                                   {hosts} becomes "a1,a2", {hostlist} "a[1-2]"
                                   (one of them is needed) and {count} 2. NULL
                                   with "slurm": srun in the allocation that
                                   SLURM_JOB_ID names */
    char *const *ssh_argv;      /* the ssh command; NULL: ssh, in batch mode */
    const char *networks;       /* CIDRs, comma-separated; NULL: all */
    const char *ports;          /* "LOW-HIGH": nodes listen on these only, as a
                                   firewall lets them; NULL: any port, but with
                                   `start_argv`, "slurm" or `survive_ms`
                                   20000-31999 */
    const char *session_path;   /* write a session file here, mode 0600; it
                                   stays until the tool removes it */
    enum cop_missing missing;   /* COP_MISSING_FAIL unless set */
    struct cop_times times;
    const char *reconfiguration; /* how orphans choose a parent: a name such as
                                    "GP+-WM", see coppice-study(1); NULL:
                                    "NHI-WM" */
    bool allow_injection; /* programs with the session file may inject faults:
                             see coppice-inject(1) */
    const char *commnode_hosts; /* host list for the commnodes of the shape
                                   "each:F", in turn; NULL: the first host of
                                   those below each */
    bool views;                 /* number the sets of nodes that are in: see
                   cop_network_view(). One packet more goes down for each change
                   of the set */
    uint32_t replace;    /* how often the front-end may start a commnode in the
                           place of one that is lost: see
                           COP_EVENT_REPLACE_FAILED. Not with "slurm" and
                           "command". 0: never */
    const char *spares;  /* host list: where, in turn, if the host of the lost
                           commnode does not answer or cannot start another one.
                           NULL: on that host only */
    bool keep_shape;     /* move nodes back to where they were at launch, below
                           the commnode that has the place of their parent. That
                           undoes calls of cop_network_move() */
    uint32_t survive_ms; /* how long the nodes wait for another front-end
                                 when this one crashes: see cop_network_resume().
                                 At most a day; with `journal_path` and launcher
                                 "local" only. 0: they end with it */
    const char *journal_path; /* a file, mode 0600, that does not exist yet:
                                 what another front-end needs is kept there. It
                                 is removed when this one ends in order */
    bool
        allow_administration; /* programs with the session file may drain hosts:
                                  see cop_session_drain() */
};
#define COP_LAUNCH_INIT COP_INIT(cop_launch)

/* How a front-end takes a network over. */
struct cop_resume {
    size_t size;
    const char *journal_path; /* as at the launch */
    const char *session_path; /* write a session file here; NULL: none */
    uint32_t timeout_ms;      /* how long to wait for the tree; 0: 10 s */
};
#define COP_RESUME_INIT COP_INIT(cop_resume)

/* How a back-end joins. */
struct cop_join {
    size_t size;
    const char *session_path; /* NULL: the network that started us */
    uint32_t timeout_ms;      /* 0: the default of `launch_timeout_ms` */
    const char *label; /* what people call this back-end, such as its MPI rank:
                          up to 63 bytes without control characters. Several
                          back-ends may have the same one. NULL: none */
};
#define COP_JOIN_INIT COP_INIT(cop_join)

/* Which waves a stream makes (PROTOCOL 4). */
enum cop_sync {
    COP_WAIT_FOR_ALL, /* one packet from each child */
    COP_DO_NOT_WAIT,  /* each packet alone, at once */
    COP_TIME_OUT,     /* at most one from each child: those that are there when
                         each has one, or `wave_timeout_ms` after the first */
};

/* How packets of members are kept exact when commnodes die. `guarantee` of the
 * options requests a way; cop_stream_guarantee() returns the one chosen, which
 * is never COP_GUARANTEE_EXACT.
 *
 * All but COP_GUARANTEE_NONE promise: when cop_stream_sync() returns 0, the
 * front-end has every packet that a member sent before, exactly once, whichever
 * commnodes have died, except packets on which a filter failed
 * (COP_EVENT_FILTER_ERROR). They differ in what they require of the upstream
 * filter, and in how the front-end gets the result. */
enum cop_guarantee {
    COP_GUARANTEE_NONE,         /* packets may be lost with a commnode; then the
                                   next cop_stream_sync() returns 1. With
                                   COP_WAIT_FOR_ALL a packet that comes after
                                   its wave is lost, too, unless the tool asks
                                   for `stragglers`: the n-th packet received
                                   belongs to the n-th wave. In the other modes,
                                   and with `stragglers`, a filter that allows
                                   compensation has it nevertheless: it costs
                                   nothing before a commnode dies */
    COP_GUARANTEE_EXACT,        /* the first of those below that the filter and
                                   the other options allow. With `sum` or
                                   `count` that is a total, so nothing is
                                   received: to receive each wave, request
                                   COP_GUARANTEE_WAVES */
    COP_GUARANTEE_COMPENSATION, /* children of a commnode that died send their
                                   filter states to the new parent (PROTOCOL 9).
                                   The filter is COP_IDEMPOTENT, not
                                   COP_STATELESS, and has `get_state` or `pack`.
                                   Results are received, and are in
                                   cop_stream_state() */
    COP_GUARANTEE_TOTAL, /* the front-end keeps a total of everything that
                            members have sent (PROTOCOL 17), which
                            cop_stream_state() returns; nothing is received.
                            With COP_WAIT_FOR_ALL a packet is in the total when
                            each member has sent one, or at the next sync: if
                            some members send more often than others, use
                            COP_TIME_OUT or COP_DO_NOT_WAIT. The filter has
                            `join` and `pack`, is COP_ASSOCIATIVE and
                            COP_COMMUTATIVE, and is `up_filter` of all nodes */
    COP_GUARANTEE_WAVES, /* each received packet has each member that had sent
                            exactly once, in order; lost parts are sent again
                            (PROTOCOL 16). COP_WAIT_FOR_ALL only. The filter of
                            commnodes is COP_STATELESS, or there is none; those
                            of front-end and back-ends may have state. With
                            `grow` the downstream filter is one-to-one. While a
                            member is unreachable the stream waits for it, until
                            it is found or given up */
};

/* The options of a stream. A filter with the name NULL or "none" passes
 * everything through. If the name for one role is set, it overrides the name for
 * all: "none" leaves that role out. */
struct cop_stream_options {
    size_t size;
    enum cop_sync sync;
    uint32_t wave_timeout_ms;
    const char *up_filter;
    const char *up_filter_frontend;
    const char *up_filter_backend;
    const char *down_filter;
    const struct cop_packet *parameters; /* for the filters; or NULL */
    bool grow; /* back-ends that join later become members: they get each packet
                  that follows COP_EVENT_BACKEND_JOINED, and a sync that begins
                  after it waits for them. Their packets are in the waves after
                  that sync; before it they are late, which is no loss, but not
                  under COP_GUARANTEE_WAVES. If the stream allows no sync, with
                  COP_WAIT_FOR_ALL all their packets are late: receive them by
                  `stragglers`. While there is no member, calls return
                  -ENODEV */
    enum cop_guarantee guarantee; /* COP_GUARANTEE_NONE unless set. The filters
                                     must also be found by the front-end, which
                                     reads their laws */
    size_t keep;         /* whole waves: bytes that a back-end may keep until
                            the front-end accepts them; beyond it, its send
                            blocks. One packet may exceed it. 0: 4 MiB */
    uint32_t redo_limit; /* whole waves: the stream fails if one wave is sent
                            again more often than this without success. 0: 8 */
    bool stragglers; /* COP_WAIT_FOR_ALL without a guarantee: receive packets
                        that come after their wave, and those of compensations,
                        too: see cop_packet_is_late() and
                        cop_packet_is_compensation(). Then the n-th packet
                        received may belong to another wave than the n-th */
};
#define COP_STREAM_OPTIONS_INIT COP_INIT(cop_stream_options)

/* What happened to the network. Events are for the front-end, except those of
 * streams and the end, which both ends get. */
enum cop_event_type {
    COP_EVENT_NODE_SUSPECTED, /* `rank`, a commnode or a back-end, may be lost:
                                 a link to it has failed, or no node has reached
                                 it for `failure_timeout`. It is not lost yet.
                                 Exactly one of the next four events follows */
    COP_EVENT_NODE_BACK,      /* `rank` was suspected, and is alive */
    COP_EVENT_NODE_ADOPTED,   /* `rank`, a commnode or a back-end, has found
                                 another parent and has recovered: see `parent`,
                                 `lost_parent` and `recovery`. It may have been
                                 suspected, or not */
    COP_EVENT_NODE_LOST,      /* `rank`, a commnode, is dead or given up for
                                 good; it may have been suspected, or not */
    COP_EVENT_BACKEND_LOST,   /* `rank`, a back-end, is no longer a member, for
                                 the same reasons */
    COP_EVENT_BACKEND_JOINED, /* `rank` has joined, and is a member of each
                                 stream that was opened with `grow`; `text` says
                                 of how many, and below which node it is */
    COP_EVENT_FILTER_ERROR,   /* a filter failed at `rank` on `stream_id` */
    COP_EVENT_STREAM_LOSSY,   /* a sync of `stream_id` has returned 1: `text`
                                 names the links with which its packets may have
                                 been lost since the previous sync, as "7-3,
                                 8-3", child and parent; the parent is "?" until
                                 the child has reported it, which a dead one
                                 never does. `withheld`: how many
                                 packets came after their wave, and were not
                                 received */
    COP_EVENT_STREAM_OPENED,  /* at a back-end: `stream_id` has begun */
    COP_EVENT_STREAM_CLOSED,  /* `stream_id` has ended */
    COP_EVENT_ENDED,          /* the network has ended; `text` says why, and at
                                 the front-end which ranks are not known to have
                                 ended: see cop_network_shutdown() */
    COP_EVENT_NODE_REFUSED,   /* `rank` sent something forbidden, as `text`
                                 says. The link to it was closed; it may return
                                 on another one */
    COP_EVENT_STREAM_FAILED,  /* `stream_id` has ended with an error, in the
                                 whole tree: one of its filters has crashed the
                                 commnode `rank`, or has hung in two, of which
                                 `rank` is the second; or it has
                                 COP_GUARANTEE_WAVES, and one wave was sent
                                 again `redo_limit` times without success.
                                 `text` says why. Other streams continue */
    COP_EVENT_REDO, /* COP_GUARANTEE_WAVES: a part of a wave of `stream_id` was
                       lost with a node, and its back-ends send again what the
                       front-end has not accepted. `epoch` and `wave`: the first
                       wave of that; `generation`: how often so far; `members`:
                       how many members are expected in it */
    COP_EVENT_NODE_JOINED, /* `rank`, a commnode, has joined the tree: it adopts
                              like the launched ones. `text` says below which
                              node it is; `place`, in whose place */
    COP_EVENT_VIEW,        /* every back-end has view number `view`: see
                       cop_network_view() */
    COP_EVENT_REPLACE_FAILED, /* the place of `rank`, a commnode of the launch
                                 that was lost, is empty: `text` says which try
                                 has failed and why, and when the next one
                                 begins, or that there is no further one */
    COP_EVENT_NODE_MOVED, /* `rank` has moved from `lost_parent` below `parent`,
                                 for cop_network_move() or `keep_shape` of
                                 cop_launch; `recovery` says how long its streams
                                 took to change over */
    COP_EVENT_MOVE_FAILED, /* `rank` has not moved below `parent`: `text` says
                                 why. It keeps the parent that it had, or, if it
                                 has lost that, finds another one */
    COP_EVENT_JOURNAL_FAILED, /* the journal cannot be written and is removed:
                                 cop_network_resume() cannot take this network
                                 over any more. `text` says why */
    COP_EVENT_NODE_LEFT, /* `rank`, a commnode, has ended, because its host is
                               drained: see cop_network_drain() */
    COP_EVENT_DRAINED,   /* the host that `text` names is drained: it has no
                               commnode any more */
    COP_EVENT_DRAIN_FAILED, /* no other node has adopted `rank`, whose parent is on
                               a host that is being drained; `text` says when the
                               next try is. COP_EVENT_MOVE_FAILED has said of each
                               node why not */
};

/* The duration of an orphan's recovery, in microseconds of its own clock: the
 * breakdown of the dissertation's chapter 8 (8.2.3), l(new_parent) + l(connect)
 * + l(compensate) + l(cleanup). The four do not overlap, so together they are
 * at most `overall_us`; the rest are the pauses between two rounds of
 * candidates (PROTOCOL 7.4). */
struct cop_recovery {
    uint64_t choose_us;     /* list the candidates (PROTOCOL 7.3), from the
                               detection of the loss to the call of the first;
                               again after each pause */
    uint64_t connect_us;    /* all attempts, including those that failed:
                               connect, prove the key (PROTOCOL 1.2), ask, wait
                               for the probe of the path to the root (8.3) and
                               for the answer */
    uint64_t compensate_us; /* have filters pack their states, and pass the last
                               state to the connection (9.1); includes waiting
                               for a filter that computes. 0 without
                               COP_GUARANTEE_COMPENSATION and _TOTAL */
    uint64_t cleanup_us;    /* with the new parent: table and records (6.4),
                               claims and routes (10.1), feeds (10.4) */
    uint64_t overall_us;    /* from the detection of the loss (the connection
                               ended, or `failure_timeout` ran out) until all of
                               the above was done */
    uint32_t attempts;      /* candidates that were called; 1 if the first
                               accepted */
};

/* One event; `rank` and `stream_id` are 0 unless the type uses them. */
struct cop_event {
    size_t size;
    enum cop_event_type type;
    uint32_t rank;
    uint32_t stream_id;
    char text[256]; /* a sentence, which begins with rank, host and label, as
                       "7 (n3, MPI rank 12) was lost: it was silent"; or as the
                       type says. Long ones are cut */
    /* of COP_EVENT_NODE_ADOPTED and COP_EVENT_NODE_MOVED: */
    uint32_t parent;      /* the new one; of COP_EVENT_MOVE_FAILED: the one that
                             was asked for */
    uint32_t lost_parent; /* the lost one: the same rank if only the link to it
                             was lost */
    struct cop_recovery recovery;
    /* of COP_EVENT_REDO: */
    uint32_t generation;
    uint32_t epoch;
    uint64_t wave;
    uint32_t members;
    /* of COP_EVENT_STREAM_LOSSY: */
    uint32_t withheld;
    /* of COP_EVENT_VIEW: */
    uint64_t view;
    uint64_t view_us; /* since the front-end has learnt of the first change in
                         it */
    /* of COP_EVENT_NODE_JOINED: */
    uint32_t place; /* the commnode of the launch that it replaces (`replace` of
                       cop_launch); 0: none */
};
#define COP_EVENT_INIT COP_INIT(cop_event)

/* Which nodes are in: a set of ranks with a number. */
struct cop_view {
    size_t size;
    uint64_t number; /* of the last view that this node knows; 1: the launch */
    uint64_t stable; /* of the last one of which this node knows that every
                        back-end has it */
    uint32_t *ranks; /* front-end: those in view `number`, ascending; free() it.
                        NULL elsewhere */
    size_t rank_count;
};
#define COP_VIEW_INIT COP_INIT(cop_view)

/* A node left out of the launch. */
struct cop_absentee {
    size_t size;
    uint32_t rank;
    const char *host;   /* as the topology names it */
    const char *reason; /* why, with the last output of ssh, if any */
};
#define COP_ABSENTEE_INIT COP_INIT(cop_absentee)

/* ---- start, join, use and end a network --------------------------------
 *
 * Example: doc/examples/attach.c
 * See also: cop_communicator_new(3), cop_stream_open(3), cop_status_read(3),
 * coppice(7), coppice-topology(5) */

/* Start a network: read the topology, start every node, wait until all have
 * reported. On failure nothing is left running.
 *
 * Under COP_MISSING_SKIP a node that cannot be started, or dies, or does not
 * answer within `start_timeout`, is left out: the children of a commnode are
 * then started by the node that should have started it. The launch fails only
 * if no back-end is left.
 *
 * Returns 0, or a negative errno with a sentence in `error`:
 *   -EINVAL     the topology or an option is wrong
 *   -E2BIG      the topology, the shape or the host list is above a limit
 *   -ENOENT     a program was not found
 *   -ETIMEDOUT  `launch_timeout` has passed; the text names what is missing
 *   -EHOSTUNREACH  a host could not be reached; the text quotes the launcher
 *   -ENOMEM, -EMFILE and others from the system */
COP_API int cop_network_launch(struct cop_network **out,
                               const struct cop_launch *launch,
                               struct cop_error *error);

/* Node number `index`, in order of rank, of those that a launch under
 * COP_MISSING_SKIP left out. They are in no communicator and never come back.
 * Front-end only. The strings are borrowed until the network is freed.
 *
 * Returns 0; -ENOENT past the last; -EINVAL if `out` is not initialised with
 * COP_ABSENTEE_INIT; or -EPERM. */
COP_API int cop_network_missing(struct cop_network *network,
                                size_t index,
                                struct cop_absentee *out);

/* Write a session file, mode 0600, with which back-ends may attach. It contains
 * the session's key and the live nodes. The last file written is updated when a
 * node dies, until the file is removed. Returns 0 or a negative errno with a
 * sentence. */
COP_API int cop_network_write_session(struct cop_network *network,
                                      const char *path,
                                      struct cop_error *error);

/* Join the network that started this program, or the one of a session file: its
 * commnodes on this host are asked first. The session file must belong to this process's effective user, root included, and
 * be closed to others: it names directories whose filters are run.
 *
 * Returns 0, or a negative errno with a sentence in `error`:
 *   -EINVAL     an option is wrong, as the text says
 *   -ENOTCONN   not started by a network, and no session file was given
 *   -EACCES     the other side has another key; or the session file belongs to
 *               another user or is open to others
 *   -EMFILE     this process may have fewer than 64 descriptors
 *   -ECONNREFUSED  no node accepted this back-end: none listens, the launch has
 *                  left it out, or the node is an orphan itself. Every node of
 *                  a session file was tried in turn, for two seconds
 *   -ETIMEDOUT  no answer in time */
COP_API int cop_network_join(struct cop_network **out,
                             const struct cop_join *join,
                             struct cop_error *error);

/* The rank of this node: 0 at the front-end. */
COP_API uint32_t cop_network_rank(const struct cop_network *network);

/* A descriptor for poll(): readable exactly while a receive or an event would
 * not block. Borrowed; do not read it. At a back-end, receive until -EAGAIN
 * before you poll: a sync waits for that (cop_stream_sync()).
 * An application that has never called cop_network_event() is woken once for
 * each event: a receive that returns -EAGAIN ends that readiness, unless it is
 * on a stream that has a descriptor of its own (cop_stream_fd()).
 * Returns the descriptor, -EMFILE and others from the system, or -EPERM. */
COP_API int cop_network_fd(const struct cop_network *network);

/* Receive the next packet of any stream that has no descriptor of its own
 * (cop_stream_fd()). A back-end gets its streams from this call. `stream` may be
 * NULL. The packet is the caller's.
 *
 * Returns 0, or:
 *   -EAGAIN     nothing arrived within `timeout_ms`
 *   -ENOTCONN   the network has ended and nothing is left */
COP_API int cop_network_receive(struct cop_network *network,
                                struct cop_stream **stream,
                                struct cop_packet **packet,
                                int timeout_ms);

/* Take the oldest event. Returns 0, -EAGAIN or -ENOTCONN as above, or -EINVAL
 * at once if `event` is not initialised with COP_EVENT_INIT. */
COP_API int cop_network_event(struct cop_network *network,
                              struct cop_event *event,
                              int timeout_ms);

/* Tell the view that this node knows, without a message (PROTOCOL 21). A view
 * has the front-end, the commnodes that are not lost, and the back-ends that have
 * entered and are neither lost nor have left. When the set changes, the front-end
 * numbers a new one, which reaches each node in the same order as everything that
 * opens streams and adds and removes members. Changes that come before the last
 * view is stable, and within a heartbeat of it, make one view together.
 *
 * A back-end learns that a view is stable with a later one only; the front-end
 * gets COP_EVENT_VIEW. Without `views` of cop_launch the number stays 1.
 *
 * Returns 0, -EOPNOTSUPP at a front-end that was launched without `views`,
 * -EINVAL if `view` is not initialised with COP_VIEW_INIT, -ENOMEM, or -EPERM in
 * a forked child. */
COP_API int cop_network_view(struct cop_network *network,
                             struct cop_view *view);

/* Have `rank` move below `parent`, a commnode or the front-end, with all that is
 * below it (PROTOCOL 18). Front-end only. The call sends a command and
 * returns. COP_EVENT_NODE_MOVED or COP_EVENT_MOVE_FAILED follows, unless the
 * network ends. One node of a network moves at a time. A move fails if it would make
 * the tree higher than at launch, or if `parent` has just joined
 * (COP_EVENT_NODE_JOINED) and does not know its rank yet: then ask again.
 *
 * The node asks its next parent first, and leaves the old one when that waits for
 * its next wave, so neither a move nor one that fails costs a packet: nothing is
 * lost, late or sent twice, and syncs return 0. Where the waves of a stream below
 * the next parent are ahead of those below the mover, the mover has three seconds
 * to catch up. If its members send nothing for so long, what they send later may
 * come late: the next sync may return 1, and with COP_GUARANTEE_WAVES waves are
 * sent again, which counts for `redo_limit`.
 *
 * Returns 0, or:
 *   -EINVAL        `rank` is the front-end, or is `parent`; or `parent` is a
 *                  back-end
 *   -ENOENT        there is no such node
 *   -EHOSTUNREACH  one of the two has failed, or is lost
 *   -EHOSTDOWN     the host of `parent` is drained: cop_network_drain()
 *   -ELOOP         `parent` is below `rank`
 *   -EALREADY      `parent` is the parent of `rank` already
 *   -EBUSY         another move is under way: wait for its event
 *   -EAGAIN        a node is suspected or looks for a parent: wait until it is
 *                  back, adopted or lost
 *   -ENOTCONN      the network has ended, or ends
 *   -EPERM         this is a back-end, or a forked child */
COP_API int cop_network_move(struct cop_network *network,
                             uint32_t rank,
                             uint32_t parent);

/* Have the commnodes of `host` end, one after the other, so that the host may be
 * taken away (PROTOCOL 20.4). Front-end only. The call returns at once. The children
 * of each commnode move to nodes on other hosts, one at a time, the front-end among
 * them; each is a COP_EVENT_NODE_MOVED, and costs what cop_network_move() says. A
 * commnode without children sends what it still has, and ends:
 * COP_EVENT_NODE_LEFT. When the last one has ended, COP_EVENT_DRAINED follows.
 * COP_EVENT_DRAIN_FAILED tells of a child that no node has adopted; the drain goes
 * on. Back-ends of the host stay until the tool ends them.
 *
 * From the call on no node is adopted on that host, moved to it, or started there by
 * `replace`, and the places of its commnodes stay empty, until a commnode joins that
 * was started there by hand (coppice-commnode --session) when the host was
 * drained.
 *
 * host  as the topology, `spares`, or a node that has joined names it
 *
 * Returns how many commnodes the host has, if 0 the event follows at once, or:
 *   -EINVAL    `host` is NULL, or has the front-end only
 *   -ENOENT    no node is on such a host, and it is no spare
 *   -EALREADY  it is drained, or being drained
 *   -EOPNOTSUPP  this tool has taken its network over (cop_network_resume()): it
 *              does not know where commnodes run that had joined before
 *   -ENOTCONN  the network has ended, or ends
 *   -ENOMEM    out of memory: nothing has changed
 *   -EPERM     this is a back-end, or a forked child */
COP_API int cop_network_drain(struct cop_network *network, const char *host);

/* Take over the network of a front-end that has crashed, on the same host
 * (PROTOCOL 23). Its nodes wait for `survive_ms`. The streams that were open are
 * open again: cop_network_next_stream() lists them.
 *
 * A packet for which a send had returned 0 comes to every member once; if the
 * tool crashed within a millisecond of that, it may be missing. On streams of
 * totals nothing is lost; with COP_GUARANTEE_COMPENSATION, nothing that living
 * members have sent. With COP_GUARANTEE_WAVES each wave comes once, whole and in
 * order; those that were given to the dead tool, taken or not, do not come again. On
 * other streams what was on its way up is lost, and the next sync returns 1. A
 * stream whose downstream filter is not one to one fails
 * (COP_EVENT_STREAM_FAILED).
 *
 * Returns 0 when all back-ends have a path, or after `timeout_ms`: others may come
 * later, or are given up. With a sentence in `error`: -EBUSY if the front-end of
 * the journal still runs, -ENOENT if there is no network to take over: launch one
 * (there is no journal; or the front-end died in its launch, then the journal is
 * removed), -EBADMSG if it is damaged, -ESHUTDOWN if its network was ended, -EPERM
 * if the file is not a regular one of this user alone, -EADDRINUSE if another
 * process has the port, -EINVAL, -ENOMEM. The journal stays after any error but
 * -ENOENT. */
COP_API int cop_network_resume(struct cop_network **out,
                               const struct cop_resume *resume,
                               struct cop_error *error);

/* Leave the tree as a crash would, and free `network`: its nodes wait for
 * cop_network_resume(), which another version of the tool may call. Returns 0; -EPERM
 * without `journal_path`, or in a forked child; -ENOTCONN if the network has ended or
 * is being ended. After an error `network` is still there. */
COP_API int cop_network_detach(struct cop_network *network);

/* Front-end: the open stream with the next number after that of `previous`, or
 * the first one if `previous` is NULL; NULL if there is none. */
COP_API struct cop_stream *cop_network_next_stream(
    struct cop_network *network, const struct cop_stream *previous);

/* The stream with number `id`, as in an event; NULL if there is none (any
 * more). Borrowed from the network. */
COP_API struct cop_stream *cop_network_stream(struct cop_network *network,
                                              uint32_t id);

/* End the network, from the front-end: sync all open streams, tell all nodes,
 * wait for them up to `timeout_ms`, then kill those that still run, which may
 * take some seconds more for each level of the tree. A node that is suspected
 * (COP_EVENT_NODE_SUSPECTED) when the call begins, or silent for
 * `failure_timeout` during it, is killed at once by the node that started it.
 * Packets delivered before can be received afterwards. At a back-end: as
 * cop_network_leave(), but leave after `timeout_ms` in any case.
 *
 * Returns 0, or -ETIMEDOUT if some nodes did not end in time, or are not known
 * to have ended: nodes without a path to the front-end, such as stopped ones,
 * whose starter is dead. The text of COP_EVENT_ENDED names these. At a back-end:
 * if the time was over, or the network ended, before everything was accepted. */
COP_API int cop_network_shutdown(struct cop_network *network, int timeout_ms);

/* Leave the network, from a back-end, when the front-end has accepted
 * everything that the back-end has sent on streams with COP_GUARANTEE_WAVES,
 * and keeps its part of each COP_GUARANTEE_TOTAL; at once without such streams.
 *
 * From this call on the back-end sends nothing more, and drops the packets that
 * it has not received: no sync, and no other back-end that leaves, waits for
 * its application.
 *
 * Returns 0: the back-end has left. Or:
 *   -ETIMEDOUT  not within `timeout_ms`: the back-end is still leaving, and
 *               `error` says what it waits for. Call it again to wait longer,
 *               or cop_network_shutdown() to leave without
 *   -ENOTCONN   the network has ended before, or the front-end has given the
 *               back-end up: `error` says why, and how much was not accepted.
 *               Whether its part of a total is kept is not known
 *   -EPERM      this is no back-end */
COP_API int cop_network_leave(struct cop_network *network,
                              int timeout_ms,
                              struct cop_error *error);

/* Free `network` and its streams. If it was not shut down, shut it down first,
 * with a time-out of 10 s. NULL is fine. */
COP_API void cop_network_free(struct cop_network *network);

/* ---- sets of back-ends -------------------------------------------------
 *
 * Example: doc/examples/first_fe.c
 * See also: cop_network_launch(3), cop_stream_open(3), coppice(7) */

/* Make a communicator of `count` back-end ranks; free it with
 * cop_communicator_free(). Returns 0, -EINVAL if a rank is no back-end,
 * or -ENOMEM. */
COP_API int cop_communicator_new(struct cop_communicator **out,
                                 struct cop_network *network,
                                 const uint32_t *ranks,
                                 size_t count);

/* Free `communicator`. NULL is fine. */
COP_API void cop_communicator_free(struct cop_communicator *communicator);

/* All back-ends. Borrowed: valid until the network is freed. Back-ends that
 * join later are added, lost ones removed. */
COP_API const struct cop_communicator *cop_network_everyone(
    struct cop_network *network);

/* How many members the communicator has now. */
COP_API size_t
cop_communicator_size(const struct cop_communicator *communicator);

/* Member `index`, in order of rank; UINT32_MAX past the last. */
COP_API uint32_t cop_communicator_rank(
    const struct cop_communicator *communicator, size_t index);

/* ---- channels between the front-end and its back-ends ------------------
 *
 * Example: doc/examples/int_max.h doc/examples/int_max.c
 * Example: doc/examples/int_max_be.c
 * See also: cop_packet_new(3), cop_network_receive(3), coppice(7),
 * coppice-filter(7) */

/* Open a stream to the members of `communicator`; returns when every member has
 * answered. Front-end only. The stream belongs to the network and is freed with
 * it, or by cop_stream_close().
 *
 * The call does not wait for a member that the front-end has not reached for
 * `failure_timeout`. If that member can be reached again, it gets the stream
 * and all packets sent on it; otherwise it is given up. If it cannot load a
 * filter, or a back-end that joins later (`grow`) cannot, the event is
 * COP_EVENT_FILTER_ERROR. Each node calls the `init` of its filters meanwhile.
 * The front-end may do that in the thread that opens: an `init` that does not
 * return there holds up this call.
 *
 * Returns 0, or a negative errno with a sentence in `error`:
 *   -EINVAL     an option is wrong, or the filters do not allow `guarantee`:
 *               the text says why
 *   -ELIBBAD    a filter could not be loaded, its `init` failed, for example
 *               because of the parameters, or another node's filter does not
 *               allow `guarantee`; the text names the node and quotes the
 *               loader or the filter
 *   -EIO        `init` of a filter has crashed a commnode, or did not return
 *               there within `filter_timeout`
 *   -ETIMEDOUT  no answer within `open_timeout`; the text names the members
 *               that have not answered. A filter call that is running, of any
 *               stream, holds up `init` in its node */
COP_API int cop_stream_open(struct cop_stream **out,
                            struct cop_network *network,
                            const struct cop_communicator *communicator,
                            const struct cop_stream_options *options,
                            struct cop_error *error);

/* Close `stream`: nothing more can be sent or received on it. At the front-end
 * this closes it everywhere, after all packets sent before. NULL is fine.
 *
 * A back-end must close each stream that it got from cop_network_receive() or
 * cop_network_stream(), even if the front-end has closed it before. Until then
 * the pointer is valid, and about 100 bytes are kept. */
COP_API void cop_stream_close(struct cop_stream *stream);

/* The stream's number, the same in every node. Never 0, never reused. */
COP_API uint32_t cop_stream_id(const struct cop_stream *stream);

/* Send one packet on `stream`: down from the front-end, up from a back-end.
 *
 * The values are copied before return. The packet is queued, and sent without
 * another call (PROTOCOL 14.3). Without credit the call drives the network
 * until there is some, up to the stream's send time-out. Credit returns when
 * the other end receives: a front-end and a back-end that both only send block
 * each other for ever. Set a send time-out, and receive on -EAGAIN.
 *
 * tag      COP_TAG_FIRST or more: the application's number for its kind
 * format   the types of the values, as in packet.h, such as "%d %s %alf"
 *
 * Returns 0, or:
 *   -EINVAL    `format` is malformed, or `tag` is reserved
 *   -EMSGSIZE  the packet is above COP_PACKET_MAX
 *   -EAGAIN    no credit within the send time-out; nothing was queued
 *   -ENODEV    at the front-end: the stream has no living member; nothing was
 *              queued. If a member joins (`grow`), sends work again
 *   -EIO       the stream has failed: COP_EVENT_STREAM_FAILED says why
 *   -EPIPE     the stream was closed
 *   -ENOTCONN  the network has ended, or this back-end leaves it
 *   -ENOMEM    out of memory; nothing was queued */
COP_API int cop_stream_send(struct cop_stream *stream,
                            int32_t tag,
                            const char *format,
                            ...);

/* As cop_stream_send(), with a packet; it stays the caller's. */
COP_API int cop_stream_send_packet(struct cop_stream *stream,
                                   const struct cop_packet *packet);

/* Send `packet` to the members `ranks` only, from the front-end. It stays the
 * caller's. A rank that is named twice gets it once.
 *
 * It is in order with all other packets of the stream, and like them it comes
 * once, whatever commnodes die, if cop_stream_replayable(). A sync waits for the
 * answers to it. Only the links on the way to these members carry it. A
 * downstream filter sees it in the nodes on that way.
 *
 * Not on a COP_WAIT_FOR_ALL stream: the answers of some would wait for a packet
 * of each of the others.
 *
 * Returns as cop_stream_send(), or:
 *   -EINVAL    no rank is given; or one is no member of the stream, such as
 *              the front-end's, a commnode's, or one that no node has; or the
 *              stream is COP_WAIT_FOR_ALL; nothing was queued
 *   -ENODEV    none of them is alive. Back-ends that were lost
 *              (COP_EVENT_BACKEND_LOST) are left out if others are
 *   -EPERM     this is no front-end */
COP_API int cop_stream_send_to(struct cop_stream *stream,
                               const uint32_t *ranks,
                               size_t count,
                               const struct cop_packet *packet);

/* Set how long a send may wait for credit. The default is COP_FOREVER. */
COP_API void cop_stream_set_send_timeout(struct cop_stream *stream,
                                         int timeout_ms);

/* Write queued packets to the network now. Rarely needed: they are sent within
 * 1 ms anyway. Returns 0, or -EIO, -EPIPE or -ENOTCONN as above. */
COP_API int cop_stream_flush(struct cop_stream *stream);

/* Receive the next packet of `stream`; the packet is the caller's.
 *
 * A front-end that receives from a COP_WAIT_FOR_ALL stream without a guarantee
 * and without `stragglers` gets what its filter made of each wave, in order,
 * and nothing else. If nothing of a wave is left because nodes died, the packet
 * has no values and 0 contributors. What came after its wave is not received:
 * the next cop_stream_sync() returns 1.
 *
 * Returns 0, or:
 *   -EAGAIN    nothing arrived within `timeout_ms`
 *   -ENODEV    at the front-end: the stream has no living member, and all
 *              packets of members were received. A call that waits returns this
 *              when the last member is lost (COP_EVENT_BACKEND_LOST). If a
 *              member joins (`grow`), packets can arrive again
 *   -EIO       the stream has failed, and nothing is left
 *   -EPIPE     the stream was closed, and nothing is left
 *   -ENOTCONN  the network has ended, and nothing is left */
COP_API int cop_stream_receive(struct cop_stream *stream,
                               struct cop_packet **packet,
                               int timeout_ms);

/* A descriptor for poll() of this stream alone: readable exactly while
 * cop_stream_receive() would not block, so also once there is nothing more to
 * receive. From the first call on, the stream's packets do not make
 * cop_network_fd() readable, and cop_network_receive() leaves them.
 *
 * Borrowed; do not read or close it. Each call returns the same one. It lives
 * until cop_stream_close() or cop_network_free(). At a back-end, receive until
 * -EAGAIN before you poll, as with cop_network_fd().
 * Returns the descriptor, -EMFILE and others from the system, or -EPERM. */
COP_API int cop_stream_fd(struct cop_stream *stream);

/* Wait until everything that members have sent in answer to packets from before
 * this call is in the front-end's state and can be received. Front-end only. A
 * member has answered when its application has received every earlier packet
 * and calls receive again, or cop_stream_settle() (PROTOCOL 10.6).
 *
 * Returns 0; or 1 if something may have been lost with a link since the last
 * sync, or came after its wave and was not received. This happens only if
 * cop_stream_guarantee() is COP_GUARANTEE_NONE. COP_EVENT_STREAM_LOSSY names the
 * links, and says how many packets came too late. They do not arrive later. If
 * several threads are in this call for one stream, each of them returns 1. Or:
 *   -ETIMEDOUT   not within `timeout_ms`; `error` names the members without a
 *                path to the front-end, or, if there are none, the members of
 *                each branch below the front-end in which some have not
 *                settled, or, if there are none, what the call waits for
 *   -ENODEV      no member is alive, or the last one died during the call: as
 *                in cop_stream_receive()
 *   -EOPNOTSUPP  the stream has a downstream filter that is not one-to-one
 *   -EIO         the stream has failed: COP_EVENT_STREAM_FAILED says why
 *   -EPIPE       the stream was closed
 *   -ENOTCONN    the network has ended */
COP_API int cop_stream_sync(struct cop_stream *stream,
                            int timeout_ms,
                            struct cop_error *error);

/* Declare every packet received so far as processed: for a back-end that
 * receives a command and then only sends. Returns 0; -EPIPE if the stream was
 * closed or has failed; or -ENOTCONN if the network has ended. */
COP_API int cop_stream_settle(struct cop_stream *stream);

/* The state of the front-end's filter, as its get_state or pack gives it:
 * everything that has arrived since the stream began, compensation included.
 * After cop_stream_sync() it contains everything sent before. Front-end only;
 * the packet is the caller's.
 *
 * Under COP_GUARANTEE_TOTAL: the total of everything sent by the members, and
 * by former members that have left, each packet once. It does not contain the
 * part of a back-end that died or was given up. Packets that wait for those of
 * other members, according to options.sync, are not in it yet; a sync adds
 * them. While nodes look for a parent the total may lack members, or contain
 * one twice: then the call returns 1.
 *
 * Returns 0; 1 if such a total is not exact now (NULL: it lacks all); or:
 *   -EAGAIN      not within `timeout_ms`
 *   -ENODATA     the filter has no state yet: nothing was sent
 *   -EOPNOTSUPP  the stream has COP_GUARANTEE_WAVES; or it has no guarantee,
 *                and its filter does not allow COP_GUARANTEE_COMPENSATION
 *   -EIO         the filter could not pack it, or the stream has failed
 *   -ETIMEDOUT   packing it took longer than `filter_timeout`
 *   -EPIPE       the stream was closed
 *   -ENOTCONN    the network has ended
 *   -EPERM       this is no front-end */
COP_API int cop_stream_state(struct cop_stream *stream,
                             struct cop_packet **packet,
                             int timeout_ms);

/* Give the stream's filters new parameters, in order with the packets sent.
 * Front-end only. If a filter's `init` fails with them in a node, the event is
 * COP_EVENT_FILTER_ERROR, and the filters of that node keep the parameters that
 * they had: set some that all take. Results as cop_stream_send(), but without
 * -ENODEV: a member that joins later gets the parameters. */
COP_API int cop_stream_set_parameters(struct cop_stream *stream,
                                      const char *format,
                                      ...);

/* As cop_stream_set_parameters(), with the values of `packet`, which is
 * borrowed; its tag does not matter. */
COP_API int cop_stream_set_parameters_packet(struct cop_stream *stream,
                                             const struct cop_packet *packet);

/* The guarantee that `stream` keeps: COP_GUARANTEE_COMPENSATION, _TOTAL, _WAVES
 * or _NONE. `reason`, if not NULL, is set to a static sentence if the result is
 * COP_GUARANTEE_NONE, otherwise to NULL; "it" in this sentence is the upstream
 * filter. At the front-end the result is fixed when the stream is opened;
 * COP_GUARANTEE_COMPENSATION ends only if a back-end joins later (`grow`) whose
 * filter cannot keep it. A back-end's result is only about its own filter. */
COP_API enum cop_guarantee cop_stream_guarantee(const struct cop_stream *stream,
                                                const char **reason);

/* How many packets and bytes this back-end has sent on a stream of whole waves
 * (COP_GUARANTEE_WAVES) that the front-end has not accepted yet. The pointers
 * may be NULL. Returns 0, -EPERM at a front-end, -EOPNOTSUPP without
 * COP_GUARANTEE_WAVES, or -EIO, -EPIPE or -ENOTCONN as cop_stream_send(). */
COP_API int cop_stream_unfinal(const struct cop_stream *stream,
                               size_t *packets,
                               size_t *bytes);

/* Front-end: how many packets have been sent on `stream`. After
 * cop_network_resume() that includes those of the tools that have crashed, as far as
 * they come to the members: a tool that sends numbered work goes on behind them.
 * Returns 0, -EPERM at a back-end, or -EIO, -EPIPE or -ENOTCONN as
 * cop_stream_send(). */
COP_API int cop_stream_sent(const struct cop_stream *stream, uint64_t *packets);

/* Whether members get each packet downwards exactly once when commnodes die:
 * the stream has no downstream filter, or one that is stateless and one-to-one.
 * Otherwise packets on their way down may be lost with a node, and
 * cop_stream_sync() returns -EOPNOTSUPP. `reason` as above. */
COP_API bool cop_stream_replayable(const struct cop_stream *stream,
                                   const char **reason);

/* How many members the stream has now. A suspected member counts until it is
 * lost (COP_EVENT_NODE_SUSPECTED). */
COP_API size_t cop_stream_size(const struct cop_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
