/* node.h - the machine: one node of the tree, whatever its role.
 *
 *          events                              actions
 *   link up, link down, frame   +-------+   send, close, spawn
 *   tick, loaded, filtered ---->| node  |-> load, filter
 *   what the application asks   +-------+   deliver, tell, exit
 *
 * Sans-I/O: no descriptor, clock, random number, log or thread in here. Time
 * comes in with each event, in milliseconds of one monotonic clock. Actions
 * come out as values; nothing calls back, so nothing re-enters.
 *
 * A front-end is a node without a parent, a back-end one without children. */
#pragma once

#include <coppice/coppice.h>

#include "wire/frame.h"
#include "wire/ranks.h"

struct node; /* opaque */
struct topology;

enum node_role {
    NODE_FRONTEND,
    NODE_COMMNODE,
    NODE_BACKEND,
    NODE_OBSERVER, /* asks the front-end; not in the tree (PROTOCOL 15.1) */
};

/* A node to start: by this node, or by a node below it. */
struct node_child {
    uint32_t rank;
    const char *host;
    enum node_role role;
    uint32_t parent; /* the rank of the node that starts it */
};

/* The configuration of a node; borrowed for node_new(). */
struct node_config {
    enum node_role role;
    uint32_t rank;  /* RANK_NONE: a node that joins, without a rank */
    uint32_t depth; /* 0 at the front-end */
    const char *host;
    const char *label;   /* of a back-end (12.3); NULL: none */
    const char *address; /* to listen at: "ADDRESS PORT ADDRESS ..." or "" */
    const struct node_child *children;
    size_t child_count;
    enum cop_missing missing;       /* whether nodes may be missing (12.2) */
    const struct node_child *below; /* COP_MISSING_SKIP: all nodes below, a
                                       parent before its children */
    size_t below_count;
    uint32_t height;           /* links from this node to the deepest of them */
    uint32_t next_rank;        /* front-end: the first rank for joiners */
    bool attach;               /* front-end: ready without any back-end */
    bool allow_injection;      /* failures may be injected (PROTOCOL 15.6) */
    bool allow_administration; /* front-end: observers may drain hosts (20.4) */
    bool views;                /* front-end: send views (21) */
    uint32_t replace; /* front-end: tries to replace a lost commnode (20) */
    bool keep_shape;  /* front-end: move commnodes to where they were (20.3) */
    const char *const *spares; /* hosts for that; kept */
    size_t spare_count;
    uint32_t
        place; /* the commnode of the launch that this one replaces; 0: none */
    const struct topology
        *tree; /* front-end: the launched tree; kept; or NULL */
    struct cop_times times;
    uint32_t algorithm; /* of topology/adopter.h; 0: NHI-WM */
    uint32_t budget; /* bytes of all windows of a stream; 0: as in limits.h */
    uint32_t survive_ms; /* how long nodes wait for another front-end after this
                            one has crashed (23); 0: they end */
    bool resumes;        /* front-end: it takes the network over (23.5). It has
                            no children yet; EVENT_RECORDs come first */
};

/* ---- streams as the shells see them ---- */

/* What a stream guarantees when nodes fail. */
enum stream_guarantee {
    STREAM_PLAIN,
    STREAM_WAVES, /* a wave has each member exactly once */
    STREAM_TOTAL, /* a total has all that each member sent, once (17) */
};

/* A stream's definition, as it travels in OPEN. Strings are "" for none. */
struct stream_definition {
    uint32_t id;
    enum stream_guarantee kind;
    uint64_t keep; /* whole waves: bytes that a back-end keeps (16.6) */
    uint32_t
        redo_limit; /* whole waves: redos begun for one wave (16.13); not in
                            OPEN */
    enum cop_sync sync;
    uint32_t wave_timeout_ms;
    bool grow;
    bool compensates; /* promised: each upstream filter is recoverable (9.4) */
    bool waves_only;  /* the front-end's application gets one answer for each
                         wave, and no other packets (4.3b); not in OPEN */
    struct ranks members;
    char *up_filter; /* by role: front-end, commnode, back-end */
    char *up_filter_frontend;
    char *up_filter_backend;
    char *down_filter;
    struct payload *parameters; /* or NULL */
};

/* What a shell found when it loaded a stream's filters. */
struct stream_filters {
    bool up;              /* an upstream filter is called here */
    bool up_single;       /* it is called for a wave of one packet too */
    bool down;            /* a downstream filter is called here */
    bool down_one_to_one; /* else the stream is not replayable (5.5) */
    bool recoverable;     /* PROTOCOL 9.4 */
    bool inits;           /* one of them has `init` (3.2) */
};

/* What a call does with the slots of a stream of totals. A slot is a filter
 * state that has a number, its key. */
enum call_slots {
    CALL_WITHOUT_SLOTS,
    CALL_JOIN, /* join each input into its slot, and all of them into one packet
                  that goes up; none at the front-end */
    CALL_PACK, /* each input replaces its slot, FRAME_EMPTY by an empty one; an
                  input for SLOT_OWN is joined to it. Slots that are not among
                  `kept` are freed. `state`: then pack the join of the slots */
};

/* The slot of inputs without a link: a back-end's own packets; at the
 * front-end, the totals of back-ends that have left. */
#define SLOT_OWN UINT32_C(0)

/* One call of a filter. The machine owns it until EVENT_FILTERED. */
struct node_call {
    uint32_t stream;
    bool upward;
    uint64_t sequence;     /* as in packets (PROTOCOL 4.1) */
    uint32_t contributors; /* back-ends in this wave */
    uint32_t child_count;
    bool init;  /* no wave: have `init` make the filters' states, or prove new
                   parameters (3.2) */
    bool state; /* no wave: pack the filter's state into `up` (9.1) */
    const struct payload *parameters;
    struct frame *inputs;
    uint32_t *inlets; /* the rank that sent each input */
    size_t input_count;
    enum call_slots slots;
    const uint32_t *keys; /* CALL_JOIN, CALL_PACK: the slot of each input */
    const uint32_t *kept; /* CALL_PACK: the slots to keep, besides SLOT_OWN */
    size_t kept_count;
};

/* ---- events ---- */

enum event_type {
    EVENT_RECORD,      /* front-end that resumes: frame (taken): the next record
                          of the one before it. Only before EVENT_START */
    EVENT_START,       /* begin: children are spawned; first event of all, or
                          behind the records */
    EVENT_LINK_UP,     /* link, rank, incarnation, role, is_parent: proved */
    EVENT_LINK_DOWN,   /* link, silent, text: it broke, no frame follows */
    EVENT_UNREACHABLE, /* rank, refused: ACTION_DIAL failed; or the answer to
                          ACTION_KNOCK */
    EVENT_FRAME,       /* link, frame (taken) */
    EVENT_BYTES,       /* link: bytes that complete no frame have arrived */
    EVENT_TICK,        /* only time has passed */
    EVENT_CLOCK,       /* only time has passed: the answer to ACTION_CLOCK */
    EVENT_CHILD_BEGUN, /* rank: its start has begun, and its limit counts */
    EVENT_CHILD_GONE,  /* rank, text: could not be started, or has exited */
    EVENT_AGENT_GONE,  /* rank, text: the same for another node's child, as an
                          agent has told the front-end (12.5) */
    EVENT_LOADED,      /* stream, filters, text: NULL, or why it failed */
    EVENT_FILTERED,    /* up, down (frames taken), text: NULL, or an error */
    /* what the application asks */
    EVENT_OPEN,       /* definition (copied); result: the stream's number */
    EVENT_CLOSE,      /* stream */
    EVENT_SEND,       /* stream, frame: tag, payload (taken, also on error) */
    EVENT_RECEIVE,    /* it has called receive: on `stream`, or 0 for any */
    EVENT_TAKEN,      /* stream, frame (borrowed): it took this packet */
    EVENT_SETTLE,     /* stream: it has processed what it took */
    EVENT_PARAMETERS, /* stream, frame: payload (taken, also on error) */
    EVENT_SYNC,       /* stream; result: the marker's sequence */
    EVENT_STATE,      /* stream; result: the least sequence of TELL_STATE */
    EVENT_ENDING,     /* front-end: EVENT_SHUTDOWN will follow (11.4) */
    EVENT_SHUTDOWN,   /* front-end: end the network; back-end: leave it, when
                         all that it has sent is accepted (11.6). Asked again:
                         at once */
    EVENT_MOVE,       /* rank, parent: have that commnode move below that node
                         (18.1). A commnode moves itself: for searches */
    EVENT_DRAIN,      /* front-end: text: this host is to have no commnode any
                         more (20.4); result: how many it has */
    EVENT_DETACH,     /* front-end: leave the tree, which waits for another
                         front-end (23.2) */
};

struct event {
    enum event_type type;
    uint64_t now_ms; /* never earlier than in the event before */
    uint64_t now_us; /* the same clock, read for this event. Needed after
                        actions with `exact`, and if event_is_timed(). 0: only
                        now_ms is known */
    uint32_t link;
    uint64_t heard_ms; /* EVENT_FRAME, EVENT_BYTES: arrival; 0: now */
    uint32_t rank;
    uint32_t incarnation;
    enum node_role role;
    bool is_parent;
    bool refused; /* by the host: nothing listens at that address */
    bool silent;  /* ended by a timeout, not by the other end */
    uint32_t stream;
    struct frame frame;
    uint32_t parent; /* EVENT_MOVE */
    const uint32_t
        *to; /* EVENT_SEND: to these members only; borrowed, or NULL */
    size_t to_count;
    const char *text;                           /* borrowed */
    const struct stream_filters *filters;       /* borrowed */
    const struct stream_definition *definition; /* borrowed */
    struct frame *up; /* EVENT_FILTERED: tag and payload of each */
    size_t up_count;
    struct frame *down;
    size_t down_count;
};

/* Whether a round trip may be measured with `event`, which then needs its time
 * in microseconds (PROTOCOL 15.4). */
static inline bool event_is_timed(const struct event *event)
{
    return event->type == EVENT_TICK ||
           (event->type == EVENT_FRAME && event->frame.type >= FRAME_STATUS &&
            event->frame.type <= FRAME_ROWS);
}

/* ---- actions ---- */

/* An orphan's report of its adoption. */
struct node_adoption {
    uint32_t parent;
    uint32_t lost_parent;
    struct cop_recovery recovery;
};

enum action_type {
    ACTION_SPAWN,   /* rank: start this child, answer EVENT_CHILD_BEGUN */
    ACTION_STOP,    /* rank, text: do not wait for it any longer; why. End its
                       start or its process, and answer EVENT_CHILD_GONE, with
                       more about the reason */
    ACTION_REPLACE, /* rank: start a commnode in its place, on host `text` or, if
                       NULL, on its own; it joins. EVENT_CHILD_GONE of that rank
                       follows if it cannot start, and when it has ended */
    ACTION_KILL,    /* rank: kill its process, if this node has started it.
                       EVENT_CHILD_GONE follows when it has ended */
    ACTION_SEND,    /* link, frame (the shell's to give back) */
    ACTION_CLOSE,   /* link: send the queued frames, then close; no event. code:
                       -ETIMEDOUT if that is for silence, -EPROTO if the other
                       end broke the protocol */
    ACTION_DIAL,    /* rank, incarnation (sequence), text: its addresses. Give
                       up what was dialled before. Answer EVENT_LINK_UP with
                       is_parent, or EVENT_UNREACHABLE */
    ACTION_KNOCK,   /* rank, text: its addresses. Connect and close, to see
                       whether a process listens there. Give up the previous
                       attempt. Answer EVENT_UNREACHABLE */
    ACTION_RECORD,  /* front-end: frame: keep this record for a front-end that
                       takes over, before the actions behind it are carried
                       out (23.3) */
    ACTION_CLOCK,   /* read the clock after all actions before this one: answer
                       EVENT_CLOCK */
    ACTION_RANK,    /* rank: a back-end that attached got its rank */
    ACTION_LOAD,    /* definition: load its filters, answer EVENT_LOADED */
    ACTION_UNLOAD,  /* stream: free its filters, once none is running */
    ACTION_FILTER,  /* call: run it, answer EVENT_FILTERED */
    ACTION_DELIVER, /* stream, frame (the shell's): to the application */
    ACTION_TELL,    /* tell, ...: news for the application */
    ACTION_INJECT,  /* code: enum cop_injection, on this node; sequence:
                       milliseconds; link: to the parent */
    ACTION_EXIT,    /* text: this node has ended; code -ETIMEDOUT: in a filter
                       call that may never return (5.1); sequence 1: the nodes
                       that it has started go on without it (20.4) */
};

enum tell_type {
    TELL_LAUNCHED,       /* front-end: all are ready; others: TABLE came */
    TELL_LAUNCH_FAILED,  /* text: the missing nodes and why; code */
    TELL_OPENED,         /* stream; code 0, or an error with text */
    TELL_SYNCED,         /* stream, sequence; code 1 if lossy; rank: how many
                            packets were withheld since the last sync (4.3b) */
    TELL_LOSSY,          /* stream, rank: the lost parent or child, sequence:
                            the last epoch of which a packet may be lost */
    TELL_VIEW,           /* front-end: sequence: this view is stable; code: the
                            microseconds since the first change in it was learnt,
                            at most INT_MAX */
    TELL_REDO,           /* front-end: stream, sequence: the wave that is not
                            whole; rank: the generation that begins; code: the
                            members that are expected in it */
    TELL_STATE,          /* stream, sequence, frame: the front-end's state, none
                            without a payload; or code, with text */
    TELL_CLOSED,         /* stream */
    TELL_NODE_SUSPECTED, /* rank, a commnode or a back-end: ... */
    TELL_NODE_BACK,      /* ... it lives; or one of the next three */
    TELL_NODE_LOST,      /* rank */
    TELL_NODE_ADOPTED,   /* rank, sequence: its new parent; at the front-end
                            adoption */
    TELL_NODE_MOVED,     /* rank, sequence: its new parent; adoption */
    TELL_MOVE_FAILED,    /* rank, sequence: the parent that it should have had;
                            text: why not */
    TELL_NODE_LEFT,      /* rank: a commnode on a drained host has ended; text:
                            how */
    TELL_DRAINED,        /* text: a host that has no commnode any more */
    TELL_DRAIN_FAILED,   /* rank: a node whose parent is on a drained host;
                            text: why it keeps it */
    TELL_NODE_JOINED,    /* rank: a commnode that has come after the launch;
                            sequence: the place that it has, or 0 */
    TELL_REPLACE_FAILED, /* rank: a place, text: why it is empty */
    TELL_BACKEND_LOST,   /* rank */
    TELL_BACKEND_JOINED, /* rank */
    TELL_FILTER_ERROR,   /* rank, stream, text */
    TELL_STREAM_FAILED,  /* rank, stream, text: why it has ended (11.5) */
    TELL_NODE_REFUSED,   /* rank, text: it broke the protocol */
    TELL_JOURNAL_FAILED, /* front-end: text: records are lost. Of the driver, not
                            of the node */
    TELL_ENDED,          /* text: no more news follows. code 1: a back-end has
                            left, with everything accepted (11.6) */
};

struct action {
    enum action_type type;
    uint32_t link;
    uint32_t rank;
    uint32_t stream;
    struct frame frame;
    enum tell_type tell;
    int code; /* 0 or a negative errno */
    uint64_t sequence;
    char *text; /* owned by the array; NULL where there is none */
    struct node_adoption *adoption;             /* as `text` */
    const struct stream_definition *definition; /* borrowed from the node */
    const struct node_call *call;               /* borrowed from the node */
};

/* The output of one or more steps; caller's storage, all zero to begin. */
struct actions {
    struct action *list;
    size_t count;
    size_t room;
    uint64_t result; /* of EVENT_OPEN, _SYNC, _STATE and _DRAIN */
    bool failed;     /* out of memory: the node has ended itself */
    bool exact;      /* the next event needs an exact `now_us`: the node looks
                        for a parent, or has yet to report how it found one */
};

/* Drop the actions, and free what they still own. A driver that takes a frame
 * sets its payload to NULL. The storage is kept for reuse. */
void actions_clear(struct actions *actions);

/* Free the storage too. */
void actions_fini(struct actions *actions);

/* ---- the machine ---- */

/* Make a node. Returns 0, -EINVAL for an inconsistent config, or -ENOMEM. */
int node_new(struct node **out, const struct node_config *config);

/* Free `node`. NULL is fine. */
void node_free(struct node *node);

/* Tell `node` that `event` happened; append the actions to `out`.
 *
 * Link numbers are the shell's: small numbers, each used again only after its
 * EVENT_LINK_DOWN or ACTION_CLOSE. Bytes from the network never make a step
 * fail: a peer that breaks the protocol has its link closed.
 *
 * Returns 0, or for what the application asked:
 *   -EAGAIN      EVENT_SEND: no credit now; EVENT_SYNC: filters not loaded, or
 *                the queue is full and a sync, of marker `result`, is pending
 *   -ENOENT      there is no such stream, or it is closed
 *   -ENODEV      EVENT_SEND, EVENT_SYNC: the front-end's stream has no member
 *   -ENOTCONN    the node has ended
 *   -EPERM       not in this role
 *   -EINVAL      the definition makes no sense
 *   -EBADMSG     EVENT_RECORD: the record cannot follow those before it;
 *                EVENT_START: the launch is not among the records
 *   -ESHUTDOWN   EVENT_START: by the records the network was ended
 *   -EOPNOTSUPP  EVENT_SYNC: the stream is not replayable; EVENT_STATE: the
 *                filter is not recoverable; EVENT_OPEN: a stream of whole waves,
 *                in a network that waits for another front-end (23.8)
 *   and, of EVENT_MOVE and EVENT_DRAIN, those of cop_network_move() and
 *   cop_network_drain()
 *   -ENOMEM      out of memory: free the node */
int node_step(struct node *node,
              const struct event *event,
              struct actions *out);

/* When to step `node` with EVENT_TICK, in ms; UINT64_MAX: never. */
uint64_t node_deadline_ms(const struct node *node);

/* Whether EVENT_SEND on `stream` would be accepted now. */
bool node_can_send(const struct node *node, uint32_t stream);

/* The same for a frame of `len` bytes. */
bool node_has_room(const struct node *node, uint32_t stream, size_t len);

/* Whether an EVENT_RECEIVE could change anything now: a marker waits. */
bool node_is_marked(const struct node *node);

/* Back-ends now known to be in the network. Borrowed until the next step. */
const struct ranks *node_backends(const struct node *node);

/* What `stream` promises; STREAM_PLAIN if there is no such stream. */
enum stream_guarantee node_kind(const struct node *node, uint32_t stream);

/* Front-end: whether the application gets waves only (4.3b). */
bool node_delivers_waves_only(const struct node *node, uint32_t stream);

/* Live members of `stream`; NULL if there is no such stream. Borrowed. */
const struct ranks *node_members(const struct node *node, uint32_t stream);

/* The epoch (4.1) of what a back-end sends on `stream` now; at the front-end,
 * the epoch that its last marker began. 0 if there is no such stream. */
uint32_t node_epoch(const struct node *node, uint32_t stream);

/* Front-end: whether `stream` is open and has no live member. */
bool node_is_deserted(const struct node *node, uint32_t stream);

/* The same, and no packet that members had sent is still in flight. */
bool node_is_drained(const struct node *node, uint32_t stream);

/* Front-end: the nodes that may have lost packets of `stream` with the links to
 * their parents, as the last sync that was lossy found. NULL: no such stream. */
const struct ranks *node_losers(const struct node *node, uint32_t stream);

/* Front-end: whether the filters of all nodes are recoverable, as the opening
 * of `stream` has proved (9.4). Others: whether their own is. */
bool node_is_recoverable(const struct node *node, uint32_t stream);

/* The number of the last view that is known here, and of the last one that is
 * known to be stable (21). Front-end: the ranks in it, borrowed until the next
 * step; NULL: it sends no views. */
uint64_t node_view(const struct node *node,
                   uint64_t *stable,
                   const struct ranks **ranks);

/* Whether downward packets on `stream` can be replayed (5.5). */
bool node_is_replayable(const struct node *node, uint32_t stream);

/* Front-end: how many packets applications have sent on `stream`: this one, and
 * those before it whose packets are recorded (23.9). 0 if there is no such
 * stream. */
uint64_t node_sent(const struct node *node, uint32_t stream);

/* Back-end: the packets that it keeps on a stream of whole waves because they
 * are not final (PROTOCOL 16.5). Returns 0, or -ENOENT if there is no such
 * stream. */
int node_unfinal(const struct node *node,
                 uint32_t stream,
                 uint64_t *packets,
                 uint64_t *bytes);

/* Front-end: the members that may hold up a pending EVENT_SYNC: all members
 * below each child that has not settled. A child claims for all its members at
 * once (10.1), so it is late if one of them is. Returns 0 or -ENOMEM. */
int node_unsettled(const struct node *node, uint32_t stream, struct ranks *out);

/* Front-end: the members of `ranks` that no branch covers: they have no path.
 * Returns 0 or -ENOMEM. */
int node_unreached(const struct node *node,
                   const struct ranks *ranks,
                   struct ranks *out);

/* Front-end: write the first of `ranks` as "rank 7 on HOST, rank 9 and 3 more",
 * cut off at `len` bytes. */
void node_name_ranks(const struct node *node,
                     const struct ranks *ranks,
                     char *text,
                     size_t len);

/* Whether a filter call is in progress: of which stream, and since when. */
bool node_is_filtering(const struct node *node,
                       uint32_t *stream,
                       uint64_t *since_ms);

/* A filter call has crashed. Returns whether this node can still report it
 * (11.5): then send `frame`, which has no payload, on `link`. Allocates no
 * memory. `signal`: the signal that ends the process; 0: exit(). */
bool node_last_words(const struct node *node,
                     int signal,
                     uint32_t *link,
                     struct frame *frame);

/* Facts for a session file and for filters. */
uint32_t node_rank(const struct node *node);
uint32_t node_depth(const struct node *node);

/* The number of the link to the parent; UINT32_MAX: there is none. */
uint32_t node_parent_link(const struct node *node);

/* How long a link of `node` may be silent: failure_timeout; before the launch
 * is complete, the time that a start may take, if longer (PROTOCOL 12.2b). */
uint32_t node_patience_ms(const struct node *node);

/* The internal nodes at the front-end, once the tree is launched, with those
 * that have joined: rank and address of number `index`; false past the last.
 * Borrowed until the next step. */
bool node_internal(const struct node *node,
                   size_t index,
                   uint32_t *rank,
                   const char **address);

/* Front-end: whether every node that is not lost has a path to it. */
bool node_is_gathered(const struct node *node);

/* Front-end: the nodes that are not known to have ended, or to end because of
 * SHUTDOWN. Borrowed until the next step. */
const struct ranks *node_astray(const struct node *node);

/* Whether internal node `rank` has failed, as far as this node knows. */
bool node_has_failed(const struct node *node, uint32_t rank);

struct row; /* protocol/watch/rows.h */

/* What this node knows of node `rank`, without asking: the front-end of all
 * nodes that there have been, another node of itself and of commnodes. The texts
 * are borrowed from the node. Returns false if it knows nothing. */
bool node_row(const struct node *node, uint32_t rank, struct row *out);

/* Front-end: missing node number `index`, by rank; false past the last.
 * Borrowed until the network is launched, then for good. */
bool node_missing(const struct node *node,
                  size_t index,
                  uint32_t *rank,
                  const char **host,
                  const char **reason);

/* A hash of all that the node knows of internal nodes since the launch, for
 * oracles; 0: nothing. */
uint64_t node_table_version(const struct node *node);

/* How many bytes the node holds on `stream`, for oracles and status. */
uint64_t node_held_bytes(const struct node *node, uint32_t stream);
