/* stream.h - what a node knows of one stream, and does with it; for the
 * machine's own files. */
#ifndef PROTOCOL_STREAM_STREAM_H
#define PROTOCOL_STREAM_STREAM_H

#include "protocol/members/control.h"
#include "protocol/node.h"
#include "protocol/stream/claim.h"
#include "protocol/stream/credit.h"
#include "protocol/stream/feed.h"
#include "protocol/stream/wave.h"

struct peer;

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

/* What goes down through a node: downward.c. */
struct downflow {
    struct feed feed;
    struct fifo in;      /* for our downstream filter */
    uint64_t last;       /* the last number taken from the parent, or sent */
    uint64_t passed;     /* every child was sent this; a back-end has it */
    uint64_t unreturned; /* a back-end: bytes whose credit is not returned */
    uint64_t unclaimed;  /* a back-end: bytes since its last claim */
    struct debit debit;
    bool refeeding; /* FEED was sent: numbers that are not next are old */
    bool sourced;   /* the parent feeds us: it had members here, or FEED */
};

/* What goes up: upward.c. */
struct upflow {
    struct wave *wave;
    struct fifo out;
    struct fifo late_out; /* LATE packets go ahead, under their own credit */
    struct credit credit;
    struct credit late_credit;
    bool compensating; /* output waits until our state has gone up (9.1) */
    uint32_t resumes;  /* RESUME frames in `out`: claims wait for them */
    uint32_t epoch;    /* of the next send */
    uint64_t count;    /* waves sent in it */
    uint64_t level;    /* the last wave told to the parent */
    bool counted;      /* the parent counts us */
    uint32_t put;      /* 1 + the last epoch of a packet that went up */
};

/* What is claimed and settled (10): settle.c. */
struct settling {
    struct claim sent; /* what we claimed last */
    bool has_sent;
    bool claim_due;
    bool stable_due;
    uint32_t lossy;      /* 1 + the last epoch that may have lost something */
    uint64_t hurried;    /* the highest marker that any child has settled */
    struct mark settled; /* queued upwards, or, at the front-end, reached */
    struct mark told;    /* what of it has gone up */
};

/* What the application has taken, and has yet to settle: request.c. */
struct reading {
    uint64_t untaken; /* packets delivered and not taken */
    uint64_t untaken_bytes;
    uint64_t taken_at;  /* node->takes when it last took one */
    uint64_t settle_at; /* node->takes when it last said settle */
    struct mark marker; /* waits to be settled; number 0: none */
};

/* What the front-end alone knows of a stream. */
struct stream_root {
    uint64_t sync;         /* the marker that is waited for; 0: none */
    struct mark sent;      /* the last marker sent */
    uint32_t synced_epoch; /* of the last sync that returned */
    uint32_t given_up;     /* and of the last that returned 1 (10.6a) */
    uint64_t state_asked;  /* how often for the filter's state */
    uint64_t state_called; /* and as of which of them it was packed */
    bool opening;
    bool faulted;          /* told that a filter was not loaded */
    struct ranks entering; /* joiners that have not claimed yet */
    uint64_t open_deadline_ms;
};

struct stream {
    struct stream_definition definition;
    struct stream_filters filters;
    bool active; /* we take part: internal, or a member */
    bool loaded;
    bool closing;      /* CLOSE has taken effect ... */
    uint64_t close_at; /* ... behind this number */
    bool queued;       /* has work that waits for the filter call that is out */
    char *error;       /* why our filter could not be loaded */
    uint64_t opened_at;      /* number of its OPEN on stream 0 */
    struct branch *branches; /* by slot of the child */
    uint32_t branch_count;
    struct pending *pending; /* in order: those that have taken effect ... */
    size_t pending_count;
    size_t applied; /* ... are so many: kept for packets that come again */
    struct downflow down;
    struct upflow up;
    struct settling settle;
    struct reading app;
    struct stream_root *root; /* NULL but at the front-end */
};

/* The one filter call that is out (5.1). */
struct filter_call {
    bool is_out;
    bool late;         /* its wave had gone */
    bool compensating; /* it packs the state for an adopter */
    bool expired;      /* it has lasted for filter_timeout */
    uint32_t credit;   /* a downward call: bytes to be returned for its input */
    uint64_t since_ms;
    uint64_t deadline_ms;
    struct node_call what;
    struct payload *parameters; /* as they were when it began */
    struct frame down;          /* a downward call's input ... */
    uint32_t inlet;             /* ... and whence it came */
};

/* ---- settle.c ---- */

/* What may be claimed has changed: send it now, or with the next beat. */
void settle_update(struct node *node, struct stream *stream);

/* Send a claim that speaks of `settled` at most. */
void settle_send_claim(struct node *node,
                       struct stream *stream,
                       struct mark settled);

/* Settle if all children have and nothing of it is left here (10.6). */
void settle_try(struct node *node, struct stream *stream);

/* Tell one child up to which packet `stream` is stable. */
void settle_tell_stable(struct node *node,
                        struct peer *peer,
                        const struct stream *stream);

/* Packets up to `number` are stable: drop them, tell with the next beat. */
void settle_stable(struct node *node, struct stream *stream, uint64_t number);

/* What goes up and down once per heartbeat. */
void settle_beat(struct node *node);

/* Add to `out` all that the children claim. */
void settle_claimed(struct node *node,
                    const struct stream *stream,
                    struct ranks *out);

/* Whether any child has members of the stream. */
bool stream_has_members(const struct node *node, const struct stream *stream);

/* Whether no child has members, and nothing that former members have sent waits
 * here or below (10.1b). */
bool stream_is_drained(const struct node *node, const struct stream *stream);

/* Members have come who have not settled so much, or all have gone. */
void settle_fall_back(struct node *node,
                      struct stream *stream,
                      struct mark settled);

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

/* The parent says that every member has the packets up to `number`. */
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

/* Queue a claim that we have settled: it goes behind what is queued. */
void upward_claim(struct node *node, struct stream *stream);

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

/* Whether a filter call of the stream is out that may have packets of an epoch
 * before `epoch`; only COP_WAIT_FOR_ALL says which. */
bool upward_is_behind(const struct node *node,
                      const struct stream *stream,
                      uint32_t epoch);

/* Whether a back-end's packet of `len` bytes may be sent now. */
bool upward_accepts(const struct node *node,
                    const struct stream *stream,
                    size_t len);

/* Run what waited for the call that has ended. */
void upward_run_queued(struct node *node);

#endif
