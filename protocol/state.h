/* state.h - the state of a node; private to the machine. The state of each part
 * is in the header of its folder.
 *
 * Out of memory: `failed` is set, and the node ends with the step. Functions
 * that can fail in no other way return nothing. */
#pragma once

#include "protocol/heal/heal.h"
#include "protocol/heal/resume.h"
#include "protocol/journal.h"
#include "protocol/launch/launch.h"
#include "protocol/link.h"
#include "protocol/members/members.h"
#include "protocol/node.h"
#include "protocol/stream/stream.h"
#include "protocol/stream/waves.h"
#include "protocol/watch/status.h"
#include "wire/messages.h"

/* The other end of one link. A new link is a new peer, whatever its rank; the
 * end of a link removes its own peer only (PROTOCOL 1.3). */
struct peer {
    uint32_t link;
    uint32_t slot;        /* index in node->peers */
    uint32_t rank;        /* RANK_NONE while it joins */
    uint32_t incarnation; /* a parent: the latest that it has told */
    uint32_t height; /* an orphan: of its subtree; a candidate: its depth */
    enum node_role role;
    bool is_parent;
    bool ready;        /* a child: READY has arrived, or it has its rank */
    bool left;         /* it sent GOODBYE */
    bool asking;       /* an orphan that has sent ADOPT */
    bool greeted;      /* the first heartbeat was sent to it */
    bool gave_up;      /* it sent SILENCE: it heard nothing, and lives */
    bool moving;       /* a child that has another parent yet (18.3) */
    bool going;        /* a child that has another one now (18.6) */
    bool asked;        /* a child: it has not answered STATUS ... */
    uint64_t asked_us; /* ... which was sent then */
    uint32_t round_us; /* round trip, as last measured; or ROW_UNKNOWN */
    struct link life;
    uint32_t grant;     /* window granted to it, on each stream */
    uint32_t granted;   /* window granted by it */
    struct ranks below; /* a child: the back-ends on its branch ... */
    uint32_t claims;    /* ... after so many claims on stream 0 (10.7) */
    /* the values in the last heartbeat sent to it (6.1) */
    uint32_t told_ordinal; /* a child: 1 + its ordinal (7.2) */
    uint64_t told_version; /* of this node's table */
    uint32_t told_round;   /* 6.9 */
    uint32_t round;        /* a child: in its last heartbeat (6.9) */
    /* versions in its last heartbeat and of the table here, if they differed */
    uint64_t odd_version;
    uint64_t odd_own;
    uint64_t exchanged_ms; /* when all records were last sent to it */
    bool has_accused; /* a back-end: it has reported its lost parent (6.1d) */
};

/* What a step leaves for its end, where node_step() does it in this order. So no
 * control packet, marker or total is begun inside the application of another.
 *
 * A stream that fails needs nothing else. A redo comes before the marker that
 * names joiners: they are in none of the waves that are sent again. A total is
 * packed when the markers have passed, as it says what is settled. The states
 * that recovery waits for may be such totals; so may what the end waits for.
 * Suspicions read what all these have changed. A view has what they find. The
 * probes of a mover are answered when all else has been said to its parent. The next
 * move begins when all that the last one has changed is known; one for a drain goes
 * first. */
enum due {
    DUE_FAILURE = 1,    /* streams: too many redos (16.13) */
    DUE_REDO = 2,       /* streams: a wave cannot become whole (16.7) */
    DUE_MARKER = 4,     /* streams: joiners have claimed them (12.3) */
    DUE_TOTAL = 8,      /* streams: a total is to be packed (17.4) */
    DUE_RECOVERY = 16,  /* an orphan's states may have gone up (6.7) */
    DUE_END = 32,       /* this node may end now (11.4, 11.6) */
    DUE_SUSPICION = 64, /* front-end: paths may have changed (6.8) */
    DUE_VIEW = 128,     /* front-end: a view may be due, or stable (21) */
    DUE_PROBES = 256,   /* a mover that has another parent has probes (18.5) */
    DUE_SHAPE = 512,    /* front-end: a move has ended (20.3, 20.4) */
};

struct node {
    enum node_role role;
    uint32_t rank;
    uint32_t depth;
    char *address;
    struct cop_times times;
    uint64_t now_ms;
    uint64_t now_us;
    uint64_t next_beat_ms;
    uint64_t silence_ms; /* no link can be silent before this */
    struct actions *out;
    /* Read in every step, and mostly 0: side by side in one cache line. */
    bool failed;
    uint16_t due; /* of enum due */
    enum recovery_phase recovering;
    size_t uncovered_count;
    size_t doubt_count;
    struct status status; /* observers, and what they may ask (15) */

    const char *refusal; /* why the received frame is refused; static */

    struct action
        spare; /* written to when there is no memory; not carried out */

    struct peer **peers; /* by slot; NULL where free */
    uint32_t peer_count;
    struct peer **links; /* by link number; NULL where free */
    uint32_t link_count;
    struct peer *parent; /* NULL: none yet, or the front-end */
    bool skips;          /* numbers were skipped here once (10.7) */
    uint32_t claims;     /* on stream 0, sent to it ... */
    uint32_t gained_at;  /* ... the last with new members among them (10.7) */

    /* launch and end */
    bool started;
    bool launched;
    bool reported; /* READY was sent, or the application was told */
    bool attach;
    uint32_t place; /* that this node is to have (20); 0: none */
    bool outside;   /* a joiner that has not had its ENTER (12.3) */
    bool shifted;   /* a child was lost or adopted since the launch */
    bool attached; /* a back-end that has joined by itself; a commnode, until it
                      has the state of stream 0 */
    bool ending;   /* ENDING was seen ... */
    bool closing;  /* ... and SHUTDOWN */
    bool unfinished; /* packets of a snapshot have come, and SNAPSHOT has not */
    bool over;       /* the network has ended, not this node alone */
    bool leaving;    /* a back-end whose application leaves ... */
    struct farewell *farewell; /* ... and its last totals; or NULL */
    bool parted;               /* the front-end keeps them: LEFT was read */
    uint64_t
        retire_until_ms; /* a commnode that was asked to leave (20.4) ... */
    bool retired;        /* ... and does */
    bool ended;
    uint32_t next_rank;
    uint32_t first_joiner;       /* lower ranks were given at launch (19.4) */
    uint64_t begin_ms;           /* when it started */
    size_t planned_count;        /* children that the launch starts here */
    struct launching *launching; /* NULL: the tree is complete */
    struct roster roster;  /* the ready subtree; empty after TABLE, except at
                              the front-end, where it is the whole tree */
    struct payload *table; /* of TABLE; NULL: not received yet */
    struct joins joins;

    /* recovery */
    uint32_t incarnation;
    struct healing heal;
    /* PROTOCOL 23.1: how long this node waits for another front-end; 0: the
     * network ends with its front-end */
    uint32_t survive_ms;
    struct resuming resuming;
    uint32_t budget;             /* of the windows granted on a stream (3.4) */
    struct uncovered *uncovered; /* front-end: uncovered_count */
    struct ended *ended_list;    /* front-end: ended_count */
    size_t ended_count;

    /* streams, in order of number; [0] is control */
    struct stream **streams;
    size_t stream_count;
    uint32_t next_stream;
    uint32_t last_stream;  /* the highest number seen: lower ones are closed */
    uint32_t last_seen;    /* the same, including streams without OPEN here */
    struct ranks backends; /* front-end: all that live; others: own branch */
    struct ranks lost;     /* given up, for good (11.2) */
    struct ranks astray; /* front-end: given up, or without a path at SHUTDOWN,
                              and not known to have ended (11.4) */
    struct views views;
    uint64_t takes;
    uint64_t receive_at; /* takes at the last receive from any stream */
    uint32_t markers;    /* streams with a marker that waits */

    struct filter_call filter;
};

/* ---- actions (actions.c) ---- */

/* Append an action; the pointer is valid until the next one. */
struct action *node_act(struct node *node, enum action_type type);

/* Send `frame` to `peer`; its payload reference is taken. */
void node_send(struct node *node, struct peer *peer, struct frame frame);

/* Send a frame that has only its type and the rank of the sender. */
void node_send_bare(struct node *node, struct peer *peer, enum frame_type type);

/* Free the contents of `spare`. */
void node_free_spare(struct node *node);

/* Tell the application; `text` may be NULL. The action is returned. */
struct action *node_tell(struct node *node,
                         enum tell_type tell,
                         uint32_t rank,
                         uint32_t stream,
                         const char *text);

/* ---- peers (peers.c) ---- */

/* Make the record of a new link from its EVENT_LINK_UP; NULL: no memory. */
struct peer *node_add_peer(struct node *node, const struct event *event);

/* The child through which `rank` is reached now (PROTOCOL 6.6); or NULL. */
struct peer *node_next_hop(const struct node *node, uint32_t rank);

/* Free the record of a link that is in no list, or NULL. */
void node_free_peer(struct peer *peer);

/* Forget a link, and free its record. */
void node_remove_peer(struct node *node, struct peer *peer);

/* The link has ended: update all that depended on it. `silent`: nothing was
 * heard for too long. */
void node_lose(struct node *node,
               struct peer *peer,
               const char *text,
               bool silent);

/* Close the link, and treat it as lost. `text` says why. */
void node_drop(struct node *node, struct peer *peer, const char *text);

/* The same, because the peer broke the protocol. */
void node_breach(struct node *node, struct peer *peer, const char *text);

/* A frame is refused, for the reason `why`, which is kept. Returns -EPROTO. */
int node_refuse(struct node *node, const char *why);

/* The peer of `slot` if it is a child; else NULL. */
static inline struct peer *node_child(const struct node *node, uint32_t slot)
{
    struct peer *peer = slot < node->peer_count ? node->peers[slot] : NULL;

    return peer && !peer->is_parent ? peer : NULL;
}

/* How many children are linked. */
uint32_t node_child_count(const struct node *node);

/* Whether records go over this link: to the parent or a ready child. */
bool node_is_attached(const struct node *node, const struct peer *peer);

/* How many children are ready. */
uint32_t node_ready_count(const struct node *node);

/* ---- streams (stream/streams.c) ---- */

/* Stream `id`, or NULL. */
struct stream *node_stream(const struct node *node, uint32_t id);

/* Make the stream of `definition` (copied); NULL: out of memory. */
struct stream *node_add_stream(struct node *node,
                               const struct stream_definition *definition);

/* Free a stream that is in no list, or NULL. */
void node_free_stream(struct stream *stream);

/* Remove and free `stream`. */
void node_remove_stream(struct node *node, struct stream *stream);

/* `what` is due for `stream` at the end of the step. */
static inline void node_due(struct node *node,
                            struct stream *stream,
                            enum due what)
{
    node->due |= (uint8_t)what;
    stream->due |= (uint8_t)what;
}

/* The branch to the child in `slot`, created if necessary; NULL: no memory. */
struct branch *stream_branch(struct stream *stream, uint32_t slot);

/* Whether a downward packet has a number that can be replayed (5.5). */
bool stream_is_replayable(const struct stream *stream);

/* ---- filter calls (node.c, stream/upward.c) ---- */

/* A filter call begins: the caller sets `call`. */
void node_begin_call(struct node *node);

/* Call the `init` of the stream's filters if that is due, or when the running
 * call has ended (3.2). */
void node_init_filters(struct node *node, struct stream *stream);

/* That call has ended, or exceeds filter_timeout. `text`: the error, or NULL. */
void node_filters_inited(struct node *node,
                         struct stream *stream,
                         const char *text);

/* Keep the parameters of a filter call that begins; they may change during it.
 * `number`: of the packet that is sent down; 0: those in force now. */
const struct payload *node_call_parameters(struct node *node,
                                           const struct stream *stream,
                                           uint64_t number);

/* ---- permit.c ---- */

/* Why `peer` may not send `frame`, by the peer's role and the frame's type
 * (PROTOCOL 2.5): a static text; NULL: it may. */
const char *permit_refusal(const struct node *node,
                           const struct peer *peer,
                           const struct frame *frame);

/* ---- intake.c: these return 0, or an error that costs the peer its link ----
 */

/* A link is up: greet, and let launch.c decide what the peer may be. */
void intake_link_up(struct node *node, const struct event *event);

/* A frame has arrived; its payload reference is taken. */
void intake_frame(struct node *node, const struct event *event);

/* A part of a frame has arrived: the other end lives (PROTOCOL 6.1). */
void intake_bytes(struct node *node, const struct event *event);

/* ---- request.c ---- */

/* One event that comes from the application; results as for node_step(). */
int request_step(struct node *node, const struct event *event);

/* The opening of `stream` has lasted for open_timeout. */
void request_expire(struct node *node, struct stream *stream);

/* ---- heartbeat.c (6.1, 7.2) ---- */

/* Send heartbeats on idle links, and on those whose values have changed. */
void heartbeat_beat(struct node *node);

/* Send the first heartbeat on a link, unless it was sent. */
void heartbeat_greet(struct node *node, struct peer *peer);

/* Tell the children the incarnation of an attempt at adoption (6.1c). */
void heartbeat_attempt(struct node *node);

/* Handle HEARTBEAT. `frame` is borrowed. */
int heartbeat_take(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);
