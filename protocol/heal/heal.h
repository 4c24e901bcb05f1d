/* heal.h - records, orphans, adoption, fan-outs. Private to the machine. */
#pragma once

#include "protocol/heal/drain.h"
#include "protocol/heal/plan.h"
#include "protocol/heal/recovery.h"
#include "protocol/heal/replace.h"
#include "protocol/heal/shape.h"
#include "protocol/heal/suspect.h"
#include "topology/adopter.h"
#include "topology/array.h"
#include "topology/table.h"
#include "wire/limits.h"
#include "wire/messages.h"

struct peer;
struct stream;
struct msg_adopted;
struct columns;

/* A probe sent to this node's parent, and where its answer goes (8.3). */
struct probe {
    uint32_t orphan;
    uint32_t incarnation;
    uint32_t link;
    uint32_t hops;
    bool last_resort;       /* set in ADOPT: the tree may become higher */
    bool asked;             /* asked by the orphan; else forwarded by a child */
    bool held;              /* it goes up behind RESUME of this node (18.4) */
    enum probe_align align; /* of a mover */
    struct payload *streams; /* of ALIGN; or NULL */
};

/* An internal node that closed its link to this node. It is looking for
 * another parent, or has failed (6.1a). */
struct doubt {
    uint32_t rank;
    uint32_t incarnation;
    uint64_t since_ms;
};

/* A back-end that has ended for certain, and its RECORD (11.1). */
struct certain_end {
    uint32_t rank;
    struct frame frame;
    uint64_t until_ms; /* the front-end has noticed the end by then */
};

/* Answers in ADOPTED (8.2, 8.4). ADOPT carries ADOPTION_LAST_RESORT,
 * ADOPTION_MOVE or 0. */
enum adoption_answer {
    ADOPTION_OK = 1,
    ADOPTION_ORPHAN,
    ADOPTION_CLOSING,
    ADOPTION_FULL,
    ADOPTION_STALE,
    ADOPTION_TOO_HIGH,
    ADOPTION_LAST_RESORT,
    ADOPTION_EXPELLED, /* the front-end has given the orphan up */
    ADOPTION_MOVE,     /* the sender has a parent (18.1) */
};

/* Answers in PROBED (8.3). */
enum probe_answer {
    PROBE_FAIL,
    PROBE_OK,
    PROBE_EXPEL, /* the front-end has given the orphan up (6.8) */
};

enum orphan_phase {
    ORPHAN_NOT,
    ORPHAN_PAUSE,
    ORPHAN_KNOCK, /* it tries whether a front-end listens again (23.2) */
    ORPHAN_DIAL,
    ORPHAN_ASK,
    ORPHAN_ALIGN, /* a mover: adopted, but its parent is the old one (18.4) */
    ORPHAN_SWITCH /* the answer has come: up to it packets go the old way (18.6) */
};

/* A parent that a back-end has lost (6.1d). */
struct accusation {
    uint32_t rank;
    uint32_t incarnation;
    uint64_t until_ms; /* the front-end has noticed the loss by then */
};

/* A search for a parent, of an orphan (7, 8) or a mover (18). */
struct orphan {
    enum orphan_phase phase;
    uint64_t since_ms;
    uint64_t deadline_ms; /* of the attempt or the pause */
    uint32_t pause_ms;    /* the next pause; it doubles */
    uint32_t ordinal;     /* among the children of the lost parent (7.2) */
    uint32_t lost;        /* rank of the lost parent */
    uint32_t target;      /* rank of the candidate being tried */
    bool front_end_lost;  /* the link to the front-end was closed, not silent */
    bool last_resort;     /* the candidate is the front-end, as the last */
    bool absent;          /* the front-end's host refused (23.2) */
    bool answered;        /* in this round at least one host did not refuse */
    uint32_t refused_rounds;   /* consecutive rounds where every host refused */
    struct adopter_orphan who; /* this node, as of the last survey; a mover:
                                  its ordinal below the next parent */
    struct adopter_survey *survey;
    struct ranks asked; /* a mover's back-ends in its last ADOPT */
    struct peer *left; /* the parent that a mover has left: its link stays until
                           all nodes above it know (18.6); else NULL */
    uint64_t left_ms;  /* ... but at most until then */
    uint32_t turn;     /* candidates of `survey` that were tried */
    uint64_t known;    /* the last packet of stream 0 that was read before the
                       question (18.4) */
    uint64_t move; /* the number of the last move that it was told; 0: none */
    uint32_t kept; /* enum move_reason: why that was not made; 0: it was, or is
                      under way */
    struct accusation accusations[LIMIT_ACCUSATIONS]; /* oldest first */
    uint32_t accusation_count;
};

/* A fan-out to forward with the next heartbeat (6.6). */
struct fan_out_change {
    uint32_t rank;
    uint32_t link; /* on which it arrived */
};

/* Failed nodes, adoptions in progress, and this node's own search. */
struct healing {
    struct table *table;
    uint32_t height_limit; /* the tree's height at launch */
    struct fan_out_change *fan_outs;
    size_t fan_out_count;
    uint32_t algorithm; /* a number of topology/adopter.h */
    struct orphan orphan;
    struct recovery recovery;
    struct suspicion suspicion; /* the front-end's */
    struct replacing replacing; /* the front-end's */
    struct plan plan;           /* the front-end's */
    struct draining draining;   /* the front-end's */
    struct shape shape;         /* the front-end's */
    uint32_t round;             /* the latest one begun or seen here (6.9) */
    struct probe *probes;
    size_t probe_count;
    struct doubt *doubts;     /* `doubt_count` in struct node; oldest first */
    struct certain_end *ends; /* oldest first */
    size_t end_count;
};

/* ---- orphan.c: the child's side of an adoption (7, 8) ---- */

/* This node has lost its parent: look for another one.
 *
 * incarnation  the parent's, as far as this node knows
 * lives        the parent closed the link because it could not hear this node,
 *              so it has not failed (6.1a)
 * silent       the parent went silent. A front-end that is silent counts as
 *              alive (11.3). */
void orphan_begin(struct node *node,
                  uint32_t lost,
                  uint32_t incarnation,
                  bool lives,
                  bool silent);

/* The link to the candidate that is being tried; or NULL. */
struct peer *orphan_candidate(const struct node *node);

/* Dial candidate `rank` for the next attempt. */
void orphan_dial(struct node *node, uint32_t rank);

/* `peer` is the parent from now on: send it everything that is due at once. */
void orphan_attach(struct node *node, struct peer *peer);

/* The link to a candidate is up. */
void orphan_link_up(struct node *node, struct peer *peer);

/* The link to candidate `rank` could not be made. `refused`: its host refused
 * the connection. */
void orphan_unreachable(struct node *node, uint32_t rank, bool refused);

/* The link to a candidate has ended. */
void orphan_link_down(struct node *node, struct peer *peer);

/* Handle ADOPTED. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int orphan_adopted(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);

/* End an attempt or a pause at its deadline, and the node after orphan_timeout.
 * The second function returns the next of these times. */
void orphan_tick(struct node *node);
uint64_t orphan_deadline_ms(const struct node *node);

/* Free the search's survey. */
void orphan_fini(struct node *node);

/* ---- adoption.c: the candidate's side, and probes (8) ---- */

/* Handle ADOPT, PROBE and PROBED. `frame` is borrowed. Each returns 0 or an
 * error as in intake.c. */
int adoption_ask(struct node *node, struct peer *peer, struct frame *frame);
int adoption_probe(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);
int adoption_probed(struct node *node, const struct frame *frame);

/* This node ends: tell an orphan whether the network does. */
void adoption_refuse(struct node *node, struct peer *peer);

/* This node has lost its parent, or has another one (18.5): send the questions of
 * movers to that, and fail the other open probes. */
void adoption_reparented(struct node *node);

/* The link to `peer` has ended: drop the probes from it. */
void adoption_forget(struct node *node, const struct peer *peer);

/* Send the questions of movers for which nothing has to be awaited any more. */
void adoption_go_on(struct node *node);

/* Free the probes that wait. */
void adoption_fini(struct node *node);

/* ---- align.c: the streams of a node that moves (18.4, 18.6) ---- */

/* A mover: send RESUME to `next` for each stream that goes up wave by wave, and
 * make the payload of ALIGN. Returns 0 or -ENOMEM. */
int align_ask(struct node *node, struct peer *next, struct payload **out);

/* Its answer: up to which waves packets go the old way. `payload` is borrowed.
 * Returns 0 or an error as in intake.c. */
int align_take(struct node *node, struct payload *payload);

/* Whether the mover counts on a stream on which it did not when it asked. */
bool align_is_open(const struct node *node);

/* Whether each stream has gone as far the old way as it must: the rest goes the
 * new way. */
bool align_is_done(const struct node *node);

/* The move is made or given up. */
void align_end(struct node *node);

/* A node above the next parent, or that one: note what ALIGN says. `*passes`:
 * whether this node counts already at its own parent on each stream. `payload` is
 * borrowed. Returns 0 or an error as in intake.c. */
int align_pass(struct node *node, struct payload *payload, bool *passes);

/* The front-end: make the answer to ALIGN. And each node on its way down: raise
 * it to what was passed here. Each returns 0 or an error as in intake.c. */
int align_answer(const struct node *node,
                 struct payload *payload,
                 struct payload **out);
int align_raise(const struct node *node, struct payload **levels);

/* Packets of all epochs until now may come from child `peer`, below which a node
 * has left (18.8). */
void align_tell(struct node *node, const struct peer *peer);

/* ---- move.c: a node that has a parent asks another one (18) ---- */

/* Whether this node has a parent and looks for another one. */
bool move_is_under_way(const struct node *node);

/* Ask `target` to be the parent, unless this node cannot move now. Whatever
 * fails ends the move: the parent is the old one. `number`: what the front-end
 * calls this move; 0: nothing is reported. If it is the last number again, only the
 * result is reported again. */
void move_begin(struct node *node, uint32_t target, uint64_t number);

/* Handle MOVE: for this node, or on its way. `frame` is borrowed. Returns 0 or an
 * error as in intake.c. */
int move_take(struct node *node, const struct frame *frame);

/* The attempt of a mover has failed, and its link has ended. Report that. */
void move_failed(struct node *node, enum move_reason reason);

/* The reason that is in an answer of enum adoption_answer. */
enum move_reason move_reason_of(int answer);

/* `peer` has adopted this node, which has a parent: ask for the answer of 18.4.
 */
void move_adopted(struct node *node,
                  struct peer *peer,
                  const struct msg_adopted *adopted);

/* A mover has lost its parent: its attempt is the first one of the orphan
 * (18.10). `next`: the link to the candidate, or NULL. Returns whether: not if the
 * candidate may know less of stream 0; its link is closed then. */
bool move_orphaned(struct node *node, struct peer *next);

/* A question goes up the new way: remember what this node has read (18.4). */
void move_note_known(struct node *node);

/* The move is given up, if there is one: the parent is the old one. */
void move_give_up(struct node *node, enum move_reason reason);

/* A step ends: commit if all streams are ready for that. */
void move_go_on(struct node *node);

/* `next`, which has adopted this node, is the parent now (18.5). */
void move_commit(struct node *node, struct peer *next);

/* Handle the answer of the parent that this node has left. Returns 0 or an error as
 * in intake.c. */
int move_told(struct node *node, const struct frame *frame);

/* The link to that parent has ended, or its time is over: what went there may be
 * lost. */
void move_untold(struct node *node);

/* Handle the answer to that question. `frame` is borrowed. Returns 0 or an error
 * as in intake.c. */
int move_aligned(struct node *node,
                 struct peer *peer,
                 const struct frame *frame);

/* Whether a mover reads such a frame of the next parent. It drops others: they
 * come again (18.4). */
bool move_reads(enum frame_type type);

/* Records have come: of each node that is below this one by its own record, and
 * whose link here has ended, make one of FAILED (18.3). */
void move_disown(struct node *node, const struct columns *news);

/* ---- record.c: failures and adoptions, sent to all nodes (6) ---- */

/* The launch is complete, and the topology table is there. */
void record_begin(struct node *node);

/* Apply a record that this node creates, and send it to all neighbours.
 *
 * parent  the parent that `rank` has now, or TABLE_FAILED
 * text    why it failed; NULL for an adoption */
void record_tell(struct node *node,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent,
                 const char *text);

/* Report to the parent that all of `ranks` have ended for certain. */
void record_gone_all(struct node *node,
                     const struct ranks *ranks,
                     const char *text);

/* The link to `peer` has ended before the launch was complete. The peer ends,
 * and so do all nodes below it. Report that to the parent. */
void record_gone_below(struct node *node,
                       const struct peer *peer,
                       const char *text);

/* The end of `rank` is certain: GOODBYE came, or its process was reaped. */
void record_gone(struct node *node, uint32_t rank, const char *text);

/* Child `rank` closed its link because it could not hear this node. It counts
 * as failed only if record_patience_ms() passes without news of its adoption or
 * its end (6.1a). */
void record_doubt(struct node *node, uint32_t rank, uint32_t incarnation);

/* Report overdue doubted children as failed; the time of the next one. */
void record_tick(struct node *node);
uint64_t record_deadline_ms(const struct node *node);

/* The path to the front-end has changed: send the certain ends again (11.1). */
void record_repeat(struct node *node);

/* How long the front-end waits for an orphan before it gives the orphan up:
 * milliseconds for its adoption and the news of it (11.1). */
uint64_t record_patience_ms(const struct node *node);

/* Send `peer`, a new neighbour, all records since launch (6.4). A back-end
 * only sends which parents it has lost (6.1d). */
void record_exchange(struct node *node, struct peer *peer);

/* Handle RECORD. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int record_take(struct node *node, struct peer *peer, struct frame *frame);

/* Whether `rank` may have this incarnation: it is at most LIMIT_AHEAD above the
 * last one known (2.6). */
bool record_is_near(const struct node *node,
                    uint32_t rank,
                    uint32_t incarnation);

/* Remember the lost parent `rank`, for a report to the next one (6.1d). */
void record_accuse(struct node *node, uint32_t rank, uint32_t incarnation);

/* ---- joined.c: commnodes that join after the launch (19) ---- */

/* The incarnation of such a node when it joins. */
#define JOINED_INCARNATION 1

/* This node takes in commnode `rank`, which listens at `address`: tell all
 * neighbours of it. Returns 0, or -EPROTO if there cannot be such a node. */
int joined_tell(struct node *node, uint32_t rank, const char *address);

/* Whether as many have joined as ever may (19.4). */
bool joined_is_full(const struct node *node);

/* Send `peer`, a new neighbour, all such nodes. */
void joined_exchange(struct node *node, struct peer *peer);

/* If this node has joined itself: tell the candidate `peer` of it (19.2). */
void joined_introduce(struct node *node, struct peer *peer);

/* Handle NODE. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int joined_take(struct node *node,
                struct peer *peer,
                const struct frame *frame);

/* ---- fan_out.c: how many back-ends each internal node has (6.6) ---- */

/* Count this node's back-ends, and note a change for the next heartbeat. */
void fan_out_count(struct node *node);

/* Send the changes since the last heartbeat to all neighbours. */
void fan_out_beat(struct node *node);

/* Send `peer`, a new neighbour, all changes since launch. */
void fan_out_exchange(struct node *node, struct peer *peer);

/* Handle FAN_OUT. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int fan_out_take(struct node *node,
                 const struct peer *peer,
                 const struct frame *frame);
