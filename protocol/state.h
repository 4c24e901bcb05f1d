/* state.h - what a node knows: private to the machine's own files.
 *
 * node.c      events in; time
 * permit.c    which peer may send which frame
 * intake.c    frames in
 * request.c   what the application asks
 * launch.c    readiness, joining, ending
 * missing.c   launching around what does not start
 * orphan.c    the child's side of an adoption
 * adoption.c  the candidate's side
 * record.c    who has failed, who was adopted
 * fan_out.c   how many back-ends each node has
 * recovery.c  how long that took
 * cover.c     back-ends that no branch covers
 * member.c    claims, stability, who is a member
 * downward.c  packets and control on their way down
 * snapshot.c  what the control that is gone amounts to
 * upward.c    packets on their way up, waves, filter calls
 * suspect.h   internal nodes without a path to the front-end: suspect.c
 * status.h    observers and what they may ask: status.c, observer.c, inject.c
 *
 * Running out of memory is noted in `failed` and ends the node with the step:
 * so the functions here return nothing where that is all that can go wrong. */
#ifndef PROTOCOL_STATE_H
#define PROTOCOL_STATE_H

#include "protocol/heal/recovery.h"
#include "protocol/heal/suspect.h"
#include "protocol/launch/roster.h"
#include "protocol/link.h"
#include "protocol/members/control.h"
#include "protocol/node.h"
#include "protocol/stream/claim.h"
#include "protocol/stream/credit.h"
#include "protocol/stream/feed.h"
#include "protocol/stream/wave.h"
#include "protocol/watch/status.h"
#include "topology/adopter.h"
#include "topology/table.h"
#include "wire/limits.h"

/* The other end of one link. A new link is a new peer, whatever its rank; a
 * closed one is not read again, and takes only itself along (PROTOCOL 1.3). */
struct peer {
    uint32_t link;
    uint32_t slot;        /* our index in node->peers */
    uint32_t rank;        /* RANK_NONE while it joins */
    uint32_t incarnation; /* a parent: of the last attempt that it told */
    uint32_t height;      /* an orphan: of its subtree */
    enum node_role role;
    bool is_parent;
    bool ready;   /* a child: its READY has come, or it has its rank */
    bool left;    /* it said goodbye */
    bool asking;  /* an orphan that has sent ADOPT */
    bool greeted; /* it was sent our first heartbeat */
    bool gave_up; /* it closes the link, as it has not heard us; it lives */
    bool asked;   /* a child: it owes us an answer to STATUS ... */
    uint64_t asked_us; /* ... which was sent then */
    uint32_t round_us; /* round trip, as last measured; or ROW_UNKNOWN */
    struct link life;
    uint32_t grant;     /* window that we grant it, on each stream */
    uint32_t granted;   /* and that it grants us */
    struct ranks below; /* a child: the back-ends on its branch */
    /* what the last heartbeat said (6.1): 0 where nothing was */
    uint32_t told_ordinal; /* a child: 1 + its ordinal (7.2) */
    uint64_t told_version; /* our table's */
    /* and the last from there, if it had another version than our table */
    uint64_t odd_version;
    uint64_t odd_own;
    uint64_t exchanged_ms; /* when that was last made good */
    bool has_accused; /* a back-end: it has reported its lost parent (6.1d) */
};

/* One child on one stream. */
struct branch {
    struct ranks members; /* of the stream, on this branch */
    struct claim claim;   /* what it claimed last */
    bool claimed;
    bool compensated; /* its filter state has come: one on each link (9.1) */
    uint8_t asked;    /* a back-end: how often for a FEED on this link (10.4) */
    bool fed;         /* it is to be sent what follows the cursor */
    uint64_t cursor;  /* the last packet that it was sent (10.4) */
    struct credit down;
    struct debit up;
    struct debit late; /* the same for what came LATE (3.4) */
    struct fifo aside; /* against the direction: in no order (5.6) */
};

/* Something that takes effect behind a packet (3.1b). */
struct pending {
    enum control_type type; /* CLOSE or PARAMETERS */
    uint64_t after;
    struct payload *parameters;
};

struct stream {
    struct stream_definition definition;
    struct stream_filters filters;
    bool active; /* we take part: internal, or a member */
    bool loaded;
    bool closing; /* CLOSE has taken effect */
    bool queued;  /* has work that waits for the filter call that is out */
    char *error;  /* why our filter could not be loaded */
    uint64_t opened_at;      /* number of its OPEN on stream 0 */
    struct branch *branches; /* by slot of the child */
    uint32_t branch_count;
    struct pending *pending; /* in order: those that have taken effect ... */
    size_t pending_count;
    size_t applied; /* ... are so many: kept for packets that come again */

    /* down */
    struct feed feed;
    struct fifo down_in; /* for our downstream filter */
    uint64_t last;       /* the last number taken from the parent, or sent */
    uint64_t passed;     /* every child was sent this; a back-end has it */
    uint64_t unreturned; /* a back-end: bytes whose credit is not returned */
    uint64_t unclaimed;  /* a back-end: bytes since its last claim */
    struct debit down;

    /* up */
    struct wave *wave;
    struct fifo up_out;
    struct fifo late_out; /* LATE packets go ahead, under their own credit */
    struct credit up;
    struct credit late;
    bool compensating; /* output waits until our state has gone up (9.1) */
    uint32_t resumes;  /* RESUME frames in up_out: claims wait for them */
    uint32_t epoch;    /* of the next send */
    uint64_t count;    /* waves sent in it */
    uint64_t level;    /* the last wave told to the parent */
    bool counted;      /* the parent counts us */

    /* claims (10.1) */
    struct claim sent; /* what we claimed last */
    bool has_sent;
    bool claim_due;
    bool stable_due;
    bool refeeding; /* FEED was sent: numbers that are not next are old */
    bool sourced;   /* the parent feeds us: it had members here, or FEED */
    uint32_t synced_epoch; /* front-end: of the last sync that returned */
    uint32_t given_up;     /* and of the last that returned 1 (10.6a) */
    uint32_t put;          /* 1 + the last epoch of a packet that went up */
    uint32_t lossy;        /* 1 + the last epoch that may have lost something */
    uint64_t hurried;      /* the highest marker that any child has settled */
    uint64_t settled;      /* queued upwards, or, at the front-end, reached */
    uint32_t settled_epoch;
    uint64_t settled_sent; /* has gone up */
    uint32_t settled_sent_epoch;

    /* the application */
    uint64_t untaken; /* packets delivered and not taken */
    uint64_t untaken_bytes;
    uint64_t taken_at;  /* node->takes when it last took one */
    uint64_t settle_at; /* node->takes when it last said settle */
    uint64_t marker;    /* waits to be settled; 0: none */
    uint32_t marker_epoch;
    uint64_t sync; /* front-end: the marker waited for; 0: none */
    uint32_t sync_epoch;
    uint64_t state_asked;  /* front-end: how often for its filter state */
    uint64_t state_called; /* and as of which of them it was packed */
    bool opening;          /* front-end */
    bool faulted;          /* front-end: told that a filter was not loaded */
    uint64_t sync_last;    /* front-end: the last marker sent */
    struct ranks entering; /* front-end: joiners that have not claimed yet */
    uint64_t open_deadline_ms;
    uint64_t close_at; /* closed behind this number */
};

/* One child that is to start. */
struct expected {
    uint32_t rank;
    enum node_role role;
    char *host;
    bool decided; /* ready or missing */
    bool missing;
    bool begun;    /* its start is on its way, since `begun_ms` */
    bool linked;   /* it has called us */
    bool stopping; /* ACTION_STOP was asked for */
    uint64_t begun_ms;
};

/* A join on its way: where the answer goes. */
struct joining {
    uint32_t origin; /* the node that has the new link */
    int32_t tag;     /* its number for it */
    uint32_t link;   /* ours, to where the question came from */
};

/* A probe on its way: where the answer goes (8.3). */
struct probe {
    uint32_t orphan;
    uint32_t incarnation;
    uint32_t link;
    bool last_resort; /* it asked us: the height does not matter */
    bool asked;       /* we are the candidate */
};

/* An internal node that looks for a parent, or has died of it (6.1a). */
struct doubt {
    uint32_t rank;
    uint32_t incarnation;
    uint64_t since_ms;
};

/* A back-end whose end is certain, as we have told that upwards (11.1). */
struct certain_end {
    uint32_t rank;
    struct frame frame;
    uint64_t until_ms; /* the front-end knows it, one way or another */
};

/* Back-ends that no branch covers, since when (11.1). */
struct uncovered {
    struct ranks ranks;
    uint64_t since_ms;
    bool limbo; /* that is failure_timeout ago */
};

/* What ADOPTED says (8.2, 8.4), and what ADOPT may add. */
enum adoption_answer {
    ADOPTION_OK = 1,
    ADOPTION_ORPHAN,
    ADOPTION_CLOSING,
    ADOPTION_FULL,
    ADOPTION_STALE,
    ADOPTION_TOO_HIGH,
    ADOPTION_LAST_RESORT,
    ADOPTION_EXPELLED, /* the front-end has given it up */
};

/* What PROBED says (8.3). */
enum probe_answer {
    PROBE_FAIL,
    PROBE_OK,
    PROBE_EXPEL, /* the front-end has given the orphan up (6.8) */
};

enum orphan_phase {
    ORPHAN_NOT,
    ORPHAN_PAUSE,
    ORPHAN_DIAL,
    ORPHAN_ASK
};

/* A parent that a back-end has lost (6.1d). */
struct accusation {
    uint32_t rank;
    uint32_t incarnation;
    uint64_t until_ms; /* the front-end knows it, one way or another */
};

/* What an orphan knows of its search for a parent (7, 8). */
struct orphan {
    enum orphan_phase phase;
    uint64_t since_ms;
    uint64_t deadline_ms; /* of the attempt, or of the pause */
    uint32_t pause_ms;
    uint32_t ordinal; /* among the children of the parent that was lost */
    uint32_t lost;    /* that parent */
    uint32_t target;
    bool front_end_lost; /* the link to the front-end ended, not in silence */
    bool last_resort;
    bool answered; /* somebody in this round: not all hosts have refused */
    uint32_t refused_rounds;   /* running, in which all have */
    struct adopter_orphan who; /* as of the last survey */
    struct adopter_survey *survey;
    uint32_t turn;
    struct accusation accusations[LIMIT_ACCUSATIONS]; /* the oldest first */
    uint32_t accusation_count;
};

/* A fan-out to be passed on with the next heartbeat (6.6). */
struct fan_out_change {
    uint32_t rank;
    uint32_t link; /* that it came over */
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
    /* What each step and each turn asks after, though mostly there is none:
     * side by side, so that it costs a line of the cache and not five. */
    bool failed;
    enum recovery_phase recovering;
    size_t uncovered_count;
    size_t doubt_count;
    struct status status; /* observers, and what they may ask (15) */

    const char *refusal; /* why the frame that has come is refused; static */

    struct action spare; /* written to, and forgotten, without memory */

    struct peer **peers; /* by slot; NULL where free */
    uint32_t peer_count;
    struct peer **links; /* by link number; NULL where free */
    uint32_t link_count;
    struct peer *parent; /* NULL: none yet, or the front-end */

    /* launch and end */
    bool started;
    bool launched;
    bool reported; /* READY has gone up, or the application was told */
    bool attach;
    bool outside;  /* a joiner that has not had its ENTER (12.3) */
    bool shifted;  /* who is below us is not who was at launch */
    bool attached; /* a back-end that has joined by itself */
    bool closing;  /* SHUTDOWN was seen */
    bool leaving;  /* a back-end that wants to go */
    bool ended;
    uint64_t launch_begin_ms;
    struct expected *expected;
    size_t expected_count;
    enum cop_missing missing;
    struct node_child *below; /* COP_MISSING_SKIP: all that may be left to us */
    size_t below_count;
    uint32_t start_limit_ms; /* and how long each start may take */
    uint32_t patience_ms;    /* silence of a link before the table (12.2b) */
    struct roster roster;    /* what is ready below us; then the whole table */
    uint32_t next_rank;
    struct joining *joining;
    size_t joining_count;

    /* recovery */
    uint32_t incarnation;
    struct table *table;
    uint32_t height_limit; /* the tree's height at launch */
    struct fan_out_change *fan_outs;
    size_t fan_out_count;
    uint32_t algorithm; /* of topology/adopter.h */
    uint32_t budget;    /* of the windows that we grant on a stream (3.4) */
    struct orphan orphan;
    struct recovery recovery;
    struct suspicion suspicion; /* front-end */
    struct probe *probes;
    size_t probe_count;
    struct uncovered *uncovered; /* front-end: uncovered_count */
    struct doubt *doubts;        /* doubt_count, the oldest first */
    struct certain_end *ends;    /* end_count, the oldest first */
    size_t end_count;

    /* streams, in order of number; [0] is control */
    struct stream **streams;
    size_t stream_count;
    uint32_t next_stream;
    uint32_t last_stream;  /* the highest number seen: lower ones are closed */
    uint32_t last_seen;    /* the same, also of those of which we had no OPEN */
    struct ranks backends; /* front-end: all that live; others: own branch */
    struct ranks lost;     /* given up, for good (11.2) */
    uint64_t takes;
    uint64_t receive_at; /* takes at the last receive from any stream */
    uint32_t markers;    /* streams with a marker that waits */

    /* the one call that is out (5.1) */
    bool calling;
    bool call_late; /* its wave had gone */
    bool call_compensating;
    bool call_expired;
    bool call_lent; /* nobody is owed the credit of its input any more */
    uint64_t call_since_ms;
    uint64_t call_deadline_ms;
    struct node_call call;
    struct payload *call_parameters; /* as they were when it began */
    struct frame call_down;          /* a downward call's input ... */
    uint32_t call_inlet;             /* ... and whence it came */
};

/* ---- actions (node.c) ---- */

/* Append an action; the pointer is valid until the next one. */
struct action *node_act(struct node *node, enum action_type type);

/* Send `frame` to `peer`; its payload reference is taken. */
void node_send(struct node *node, struct peer *peer, struct frame frame);

/* Send a frame that is a header only. */
void node_send_header(struct node *node,
                      struct peer *peer,
                      enum frame_type type,
                      uint32_t stream,
                      uint64_t sequence,
                      uint32_t count);

/* A filter call begins: the caller sets `call`. */
void node_begin_call(struct node *node);

/* Tell the application; `text` may be NULL. The action is returned. */
struct action *node_tell(struct node *node,
                         enum tell_type tell,
                         uint32_t rank,
                         uint32_t stream,
                         const char *text);

/* Close the link: the peer broke the protocol, or is done with. What hung on
 * it is dealt with as for a lost link. `text` says why. */
void node_drop(struct node *node, struct peer *peer, const char *text);

/* The same, as the peer broke the protocol. */
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

/* Whether records go over this link: to the parent, or a child that is ready.
 */
bool node_is_attached(const struct node *node, const struct peer *peer);

/* How many children are ready. */
uint32_t node_ready_count(const struct node *node);

/* Stream `id`, or NULL. */
struct stream *node_stream(const struct node *node, uint32_t id);

/* Make the stream of `definition` (copied); NULL: out of memory. */
struct stream *node_add_stream(struct node *node,
                               const struct stream_definition *definition);

/* Remove and free it. */
void node_remove_stream(struct node *node, struct stream *stream);

/* Its branch to the child in `slot`, made if need be; NULL: out of memory. */
struct branch *stream_branch(struct stream *stream, uint32_t slot);

/* Whether a downward packet has a number that can be replayed (5.5). */
bool stream_is_replayable(const struct stream *stream);

/* Make the record of a new link from its EVENT_LINK_UP; NULL: no memory. */
struct peer *node_add_peer(struct node *node, const struct event *event);

/* The parameters for a call that begins: it may outlast a change of them.
 * `number`: of the packet that goes down; 0: those in force now. */
const struct payload *node_call_parameters(struct node *node,
                                           const struct stream *stream,
                                           uint64_t number);

/* Forget a link, and free its record. */
void node_remove_peer(struct node *node, struct peer *peer);

/* ---- permit.c ---- */

/* Why `peer` may not send `frame`, by what the peer is to us and by the type
 * (PROTOCOL 2.5): a static text; NULL: it may. */
const char *permit_refusal(const struct node *node,
                           const struct peer *peer,
                           const struct frame *frame);

/* ---- intake.c: these return 0, or an error that costs the peer its link ----
 */

/* A link is up: greet, and let launch.c decide what the peer may be. */
void intake_link_up(struct node *node, const struct event *event);

/* A frame has come; its payload reference is taken. */
void intake_frame(struct node *node, const struct event *event);

/* A part of a frame has come on `link`: the other end lives (PROTOCOL 6.1). */
void intake_bytes(struct node *node, uint32_t link);

/* ---- request.c ---- */

/* One event that comes from the application; results as for node_step(). */
int request_step(struct node *node, const struct event *event);

/* The opening of `stream` has lasted for open_timeout. */
void request_expire(struct node *node, struct stream *stream);

/* ---- launch.c ---- */

/* Begin: ask for every child to be spawned. */
void launch_start(struct node *node);

/* Declare missing what is not ready by now. */
void launch_tick(struct node *node);

/* When launch_tick() has something to do; UINT64_MAX: never. */
uint64_t launch_deadline_ms(const struct node *node);

/* A child's link is up. 0, or a negative errno: it may not be ours. */
int launch_child_up(struct node *node, struct peer *peer);

/* A child will not come any more, for the reason `text`. */
void launch_child_gone(struct node *node, uint32_t rank, const char *text);

/* The child that we are to start as `rank`, or NULL. */
struct expected *launch_expected(struct node *node, uint32_t rank);

/* One more child is to start: `child` is copied. Returns 0 or -ENOMEM. */
int launch_expect(struct node *node, const struct node_child *child);

/* `rank`, somewhere below, is lost before all were ready. */
void launch_lost(struct node *node, uint32_t rank, const char *text);

/* ---- missing.c: launching around what does not start (12.2) ---- */

/* Whether it is to be so. */
bool missing_is_skipped(const struct node *node);

/* Copy what `config` says of it. Returns 0 or -ENOMEM. */
int missing_init(struct node *node, const struct node_config *config);
void missing_fini(struct node *node);

/* A child's start is on its way; it has come to nothing, for that reason. */
void missing_begun(struct node *node, uint32_t rank);
void missing_gone(struct node *node, uint32_t rank, const char *text);

/* The link of a child is gone, before the table has come. */
void missing_unlinked(struct node *node, struct peer *peer, const char *text);

/* `ranks`, somewhere below, are lost before the table has come. */
void missing_lost(struct node *node,
                  const struct ranks *ranks,
                  const char *text);

/* Nothing more is waited for: what is not ready is missing, with all below. */
void missing_close(struct node *node, const char *text);

/* Stop the starts that take too long; and when one does. */
void missing_tick(struct node *node);
uint64_t missing_deadline_ms(const struct node *node);

/* ---- launch.c again ---- */

/* READY, TABLE, JOIN and JOINED came. `frame` is borrowed. */
int launch_ready(struct node *node, struct peer *peer, struct frame *frame);
int launch_table(struct node *node, struct frame *frame);
int launch_join(struct node *node, struct peer *peer, struct frame *frame);
int launch_joined(struct node *node, struct peer *peer, struct frame *frame);

/* Send READY, or tell the application, if all is known or something is
 * missing, and it was not done before. */
void launch_report(struct node *node);

/* A new parent: the joins that were on their way are asked for again. */
void launch_ask_again(struct node *node);

/* The answers to joins that came over this link go nowhere now. */
void launch_forget(struct node *node, const struct peer *peer);

/* End this node: END goes down, all links close, the shell is told. */
void launch_end(struct node *node, const char *text);

/* A filter call of this commnode does not return: end without a word to the
 * children, which find other parents (5.1). */
void launch_break(struct node *node, const char *text);

/* End it if that is due: closing without children, or leaving and drained. */
void launch_try_end(struct node *node);

/* ---- orphan.c: the child's side of an adoption (7, 8) ---- */

/* The parent is lost: look for another. `lives`: it has said that it only could
 * not hear us (6.1a). `silent`: by silence, which is no death of the front-end
 * (11.3). */
void orphan_begin(struct node *node,
                  uint32_t lost,
                  uint32_t incarnation,
                  bool lives,
                  bool silent);

/* A candidate's link is up, could not be had, or has ended. */
void orphan_link_up(struct node *node, struct peer *peer);
void orphan_unreachable(struct node *node, uint32_t rank, bool refused);
void orphan_link_down(struct node *node, struct peer *peer);

/* ADOPTED came. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int orphan_adopted(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);

/* What is due by now; and when something is. */
void orphan_tick(struct node *node);
uint64_t orphan_deadline_ms(const struct node *node);

/* Free what the search holds. */
void orphan_fini(struct node *node);

/* ---- adoption.c: the candidate's side, and probes (8) ---- */

/* ADOPT, PROBE and PROBED came. `frame` is borrowed. */
int adoption_ask(struct node *node, struct peer *peer, struct frame *frame);
int adoption_probe(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);
int adoption_probed(struct node *node, const struct frame *frame);

/* The network ends: an orphan that asks us is told. */
void adoption_refuse(struct node *node, struct peer *peer);

/* We have no parent any more: every probe that waits here fails. */
void adoption_orphaned(struct node *node);

/* Probes that came over this link need no answer now. */
void adoption_forget(struct node *node, const struct peer *peer);

/* ---- record.c: what became of whom (6) ---- */

/* Make the table of the roster: the launch is complete. */
void record_begin(struct node *node);

/* We know something of `rank` by ourselves: apply and pass on. */
void record_tell(struct node *node,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent,
                 const char *text);

/* Pass on that the end of all of `ranks` is certain. */
void record_gone_all(struct node *node,
                     const struct ranks *ranks,
                     const char *text);

/* The link to `peer` is gone, and it had no table: it ends, if it has not, and
 * so do all below it. Pass that on. */
void record_gone_below(struct node *node,
                       const struct peer *peer,
                       const char *text);

/* After the launch: the end of `rank` is certain: it said goodbye, or was
 * waited for. */
void record_gone(struct node *node, uint32_t rank, const char *text);

/* Child `rank` has given our link up, as it did not hear us. It lives, and will
 * be adopted, or it ends: where neither is heard of, it has failed (6.1a). */
void record_doubt(struct node *node, uint32_t rank, uint32_t incarnation);

/* See to those that nothing was heard of; when that is due. */
void record_tick(struct node *node);
uint64_t record_deadline_ms(const struct node *node);

/* The way up has changed: tell anew who has ended for certain (11.1). */
void record_repeat(struct node *node);

/* How long an orphan may take to be adopted, and that to be known (11.1). */
uint64_t record_patience_ms(const struct node *node);

/* A new link: send all that has changed since launch (6.4); a back-end only
 * says which parents it has lost (6.1d). */
void record_exchange(struct node *node, struct peer *peer);

/* RECORD came. `frame` is borrowed. */
int record_take(struct node *node, struct peer *peer, struct frame *frame);

/* Whether `rank` may have this incarnation, by what is known of it (2.6). */
bool record_is_near(const struct node *node,
                    uint32_t rank,
                    uint32_t incarnation);

/* A back-end has lost its parent, and will say so to the next one (6.1d). */
void record_accuse(struct node *node, uint32_t rank, uint32_t incarnation);

/* ---- fan_out.c: how many back-ends each node has (6.6) ---- */

/* See how many back-ends we have now, and note it if that has changed. */
void fan_out_count(struct node *node);

/* What goes to everybody once per heartbeat. */
void fan_out_beat(struct node *node);

/* A new link: send all that was said since launch. */
void fan_out_exchange(struct node *node, struct peer *peer);

/* FAN_OUT came. `frame` is borrowed. */
int fan_out_take(struct node *node,
                 const struct peer *peer,
                 const struct frame *frame);

/* ---- heartbeat.c (6.1, 7.2) ---- */

/* Send those that are due: on idle links, and where what one says has changed.
 */
void heartbeat_beat(struct node *node);

/* A link is up: say which window we grant, if that was not said. */
void heartbeat_greet(struct node *node, struct peer *peer);

/* Our next attempt at adoption: our children are to know which it is. */
void heartbeat_attempt(struct node *node);

/* HEARTBEAT came. `frame` is borrowed. */
int heartbeat_take(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);

/* ---- cover.c: front-end: back-ends that no branch covers (11.1) ---- */

/* What the branches cover has changed: note which back-ends they do not. */
void cover_update(struct node *node);

/* Take out of `ranks` the back-ends in limbo: those that have been uncovered
 * for failure_timeout. An opening does not wait for them (3.1a). */
void cover_exempt(struct node *node, struct ranks *ranks);

/* See which are in limbo now, and give up those whose time is over; and when
 * that is due. */
void cover_tick(struct node *node);
uint64_t cover_deadline_ms(const struct node *node);

/* ---- member.c ---- */

/* A child's branch has shrunk: trim every stream to what is below it. */
void member_trim(struct node *node, struct peer *peer);

/* Nothing is left of the branch to `peer`, on any stream. */
void member_forget(struct node *node, struct peer *peer);

/* A child's link is gone: its branch, a record upwards, its members. */
void member_lost_child(struct node *node, struct peer *peer, const char *text);

/* Front-end: give back-ends up, for good (11.1); `text` says why. */
void member_give_up(struct node *node,
                    const struct ranks *ranks,
                    const char *text);

/* LOST says so: they leave every set (11.2). */
void member_lost(struct node *node, const struct ranks *ranks);

/* ENTER says that back-ends become members (12.3). */
void member_enter(struct node *node, const struct control *control);

/* Front-end: say so, and number from where on. */
void member_admit(struct node *node, const struct ranks *joined);

/* CLAIM and EXPEL came. `frame` is borrowed. */
int member_claim(struct node *node, struct peer *peer, struct frame *frame);
int member_expel(struct node *node, struct frame *frame);

/* Whether a child may say that `members` are below it: a back-end only itself;
 * at the front-end only ranks that were given. */
bool member_may_claim(const struct node *node,
                      const struct peer *peer,
                      const struct ranks *members);

/* Take out of `claimed` those that were given up; `peer`, whose claim it is,
 * is told, each time (PROTOCOL 11.2). */
void member_expel_lost(struct node *node,
                       struct peer *peer,
                       struct ranks *claimed);

/* What may be claimed has changed: send it now, or with the next beat. */
void member_update(struct node *node, struct stream *stream);

/* Send a claim that speaks of `settled` at most. */
void member_send_claim(struct node *node,
                       struct stream *stream,
                       uint64_t settled,
                       uint32_t epoch);

/* Settle if all children have and nothing of it is left here (10.6). */
void member_try_settle(struct node *node, struct stream *stream);

/* Packets up to `number` are stable: drop them, tell with the next beat. */
void member_stable(struct node *node, struct stream *stream, uint64_t number);

/* What goes up and down once per heartbeat. */
void member_beat(struct node *node);

/* Add to `out` all that the children claim. */
void member_claimed(struct node *node,
                    const struct stream *stream,
                    struct ranks *out);

/* Whether any child has members of the stream. */
bool member_has_members(const struct node *node, const struct stream *stream);

/* Whether no child has members, and nothing that former members have sent waits
 * here or below (10.1b). */
bool member_is_drained(const struct node *node, const struct stream *stream);

/* ---- downward.c ---- */

/* Front-end: give control to all below, and to ourselves. */
void downward_control(struct node *node, const struct control *control);

/* A packet from the parent; its payload reference is taken, also on error.
 * The stream may be gone afterwards. Returns 0 or an error as in intake.c. */
int downward_take(struct node *node,
                  struct stream *stream,
                  struct frame *frame);

/* Front-end: what the application sends. The payload is taken on success.
 * Returns 0, -ENOENT, -ENODEV or -EAGAIN. */
int downward_send(struct node *node,
                  struct stream *stream,
                  struct frame *frame);

/* Front-end: send a marker, and return its number. */
uint64_t downward_marker(struct node *node, struct stream *stream);

/* Filter and pass on what waits. The stream may be gone afterwards. */
void downward_run(struct node *node, struct stream *stream);

/* The downward call that was out has ended. */
void downward_filtered(struct node *node, const struct event *event);

/* Send to all children, or to the one in `slot`, what is next for them. */
void downward_pump(struct node *node, struct stream *stream);
void downward_pump_child(struct node *node,
                         struct stream *stream,
                         uint32_t slot);

/* Cursors have moved or gone: return credit, and drop what is done with. */
void downward_passed(struct node *node, struct stream *stream);

/* The child in `peer` asks for what follows (10.4). Returns 0 or an error. */
int downward_feed(struct node *node,
                  struct peer *peer,
                  const struct frame *frame);

/* Ask the parent for what follows the last packet that is here. */
void downward_ask(struct node *node, struct stream *stream);

/* OPEN number `number`, 0 in a snapshot, takes effect here. Returns 0 or
 * -EPROTO. */
int downward_open(struct node *node,
                  const struct stream_definition *definition,
                  uint64_t number);

/* Send against the stream's direction to all children; `frame` is taken. */
void downward_aside(struct node *node,
                    struct stream *stream,
                    struct frame frame);

/* Let parameters and closing take effect that are due. The stream may be gone
 * afterwards. */
void downward_pending(struct node *node, struct stream *stream);

/* Our parent says that every member has all up to `number`. */
void downward_stable(struct node *node, struct stream *stream, uint64_t number);

/* The parameters for packet `number`, wherever it comes again (3.1b); 0: those
 * in force now. */
struct payload *downward_parameters(const struct stream *stream,
                                    uint64_t number);

/* A back-end's application took `len` bytes: return their credit. */
void downward_taken(struct node *node, struct stream *stream, size_t len);

/* The parent is lost, and with it the credit that was to be returned to it: a
 * new one has sent nothing yet. */
void downward_orphaned(struct node *node, struct stream *stream);

/* Begin again behind `number`: what is here is not needed any more. */
void downward_restart(struct node *node,
                      struct stream *stream,
                      uint64_t number);

/* ---- snapshot.c (3.1) ---- */

/* Bring a child up to date: one that has just joined, or stands further back
 * than what is still here. */
void snapshot_send(struct node *node, struct peer *peer);

/* PROTOCOL 11.4: the end, as a snapshot has it, goes down as it came. */
void snapshot_pass_end(struct node *node);

/* What a snapshot says of a stream that is known here: who has joined it, and
 * the parameters that are in force. */
void snapshot_refresh(struct node *node,
                      struct stream *stream,
                      const struct stream_definition *definition);

/* SNAPSHOT came: we have been brought up to date, and do not hold the packets
 * before that; those below us that lack them are brought up to date, too.
 * `frame` is borrowed. Returns 0 or an error as in intake.c. */
int snapshot_take(struct node *node, const struct frame *frame);

/* ---- upward.c ---- */

/* A packet from a child; its payload reference is taken. Returns 0. */
int upward_take(struct node *node,
                struct stream *stream,
                struct peer *peer,
                struct frame *frame);

/* The same where the stream is closed: nobody will take it, and its sender is
 * to have its credit back, as CLOSE may wait behind what that does not take
 * while it sends (3.1b). Returns 0 or an error as in intake.c. */
int upward_discard(struct node *node,
                   struct stream *stream,
                   struct peer *peer,
                   struct frame *frame);

/* CLOSE has taken effect: what waits for its wave holds no credit any more. */
void upward_close(struct node *node, struct stream *stream);

/* A back-end: what the application sends. The payload is taken on success.
 * Returns 0, -ENOENT or -EAGAIN. */
int upward_send(struct node *node, struct stream *stream, struct frame *frame);

/* Queue a frame for the parent, or deliver it; its payload is taken. */
void upward_emit(struct node *node, struct stream *stream, struct frame frame);

/* Send what is queued, as far as credit goes. */
void upward_pump(struct node *node, struct stream *stream);

/* The child counts from the wave after `level`, if it has members. Returns 0
 * or -ENOMEM. */
int upward_count(struct stream *stream,
                 const struct peer *peer,
                 uint64_t level);

/* COMPENSATION came: it goes to our filter alone (9.2). */
int upward_compensate(struct node *node,
                      struct peer *peer,
                      struct frame *frame);

/* A new parent: what goes up first, on every stream (9.1, 10.1). */
void upward_adopted(struct node *node, struct stream *stream);

/* A stream whose filters are not loaded yet, and a parent that may have had it
 * before it had us: it is to be told that we count. */
void upward_count_anew(struct node *node, struct stream *stream);

/* The parent is lost: what was on its way is dropped, or kept (9.3). */
void upward_orphaned(struct node *node, struct stream *stream);

/* Queue RESUME: the parent counts us from the wave after `level`. */
void upward_resume(struct node *node, struct stream *stream, uint64_t level);

/* Whether nothing waits to go up. */
bool upward_is_drained(const struct stream *stream);

/* The parent grants `window` bytes, in both lanes (3.4). */
void upward_grant(struct stream *stream, uint32_t window);

/* Release and filter the waves that are due, and settle if that is. */
void upward_run(struct node *node, struct stream *stream);

/* The child in `slot` has no members any more: it leaves the waves. What it had
 * delivered stays (PROTOCOL 4.4), but not at the expense of its credit (3.4).
 */
void upward_leave(struct node *node, struct stream *stream, uint32_t slot);

/* The link of the child in `slot` has ended: what came on it has its place, and
 * owes nothing to whoever comes to that slot. */
void upward_unlink(struct node *node, struct stream *stream, uint32_t slot);

/* When upward_run() is to be called again; UINT64_MAX: when something came. */
uint64_t upward_deadline_ms(const struct node *node,
                            const struct stream *stream);

/* Front-end: have the filter's state packed, for the application (9.2). */
void upward_ask_state(struct node *node, struct stream *stream);

/* The upward call that was out has ended, or lasts too long. */
void upward_filtered(struct node *node, const struct event *event);
void upward_expire(struct node *node);

/* A filter failed: tell the front-end. */
void upward_fault(struct node *node, uint32_t stream, const char *text);

/* A back-end settles the marker that waits. */
void upward_settle(struct node *node, struct stream *stream);

/* Whether no call for this stream is out. */
bool upward_is_idle(const struct node *node, const struct stream *stream);

/* Whether a back-end's packet of `len` bytes may be sent now. */
bool upward_accepts(const struct node *node,
                    const struct stream *stream,
                    size_t len);

/* Run what waited for the call that has ended. */
void upward_run_queued(struct node *node);

#endif
