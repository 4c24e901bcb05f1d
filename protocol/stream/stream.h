/* stream.h - the state of one stream at one node; private to the machine. */
#pragma once

#include "protocol/members/control.h"
#include "protocol/node.h"
#include "protocol/stream/claim.h"
#include "protocol/stream/credit.h"
#include "protocol/stream/feed.h"
#include "protocol/stream/kind.h"
#include "protocol/stream/slot.h"
#include "protocol/stream/wave.h"
#include "wire/messages.h"

struct waves;
struct peer;

/* One child on one stream. */
struct branch {
    struct ranks members; /* of the stream, on this branch */
    struct claim claim;   /* the child's last claim */
    bool claimed;
    bool counts;      /* until it says that it is drained (18.7) */
    uint32_t put;     /* 1 + the last epoch of a packet that has come, or, if it
                         is owed, may come; 0: none (18.8) */
    bool compensated; /* its filter state has arrived: one per link (9.1) */
    uint8_t asked;    /* a back-end: FEEDs on this link (10.4) */
    bool fed;         /* it gets the packets after the cursor */
    uint64_t cursor;  /* the last packet sent to it (10.4) ... */
    uint32_t skipped; /* ... or skipped: so many, not told yet (10.7) */
    uint64_t unasked; /* bytes passed since a SKIP asked for claims (10.7) */
    struct credit down;
    struct debit up;
    struct debit late; /* of LATE packets (3.4) */
    struct fifo aside; /* packets without a number (5.6) */
    struct slot *slot; /* of a stream of totals (17.2), or NULL */
};

/* A control that takes effect after a packet (3.1b). */
struct pending {
    enum control_type type; /* CLOSE or PARAMETERS */
    uint64_t after;
    struct payload *parameters;
};

/* The downward flow through a node: downward.c. */
struct downflow {
    struct feed feed;
    struct fifo in;      /* input of this node's downstream filter */
    uint64_t last;       /* the last number received, or, at the root, sent */
    uint64_t passed;     /* last one sent to all; a back-end: received */
    uint64_t unreturned; /* a back-end: bytes whose credit is not returned */
    struct debit debit;
    bool refeeding; /* FEED was sent: any number but the next is a duplicate */
    bool sourced;   /* the parent sends packets: it knows members or got FEED */
    bool stable_due; /* the children are told the stable number */
    uint32_t epoch;  /* of the last marker passed here or at a child */
};

/* The upward flow through a node: upward.c. */
struct upflow {
    struct wave *wave;
    struct fifo out;
    struct fifo late_out; /* LATE packets go ahead, under their own credit */
    struct credit credit;
    struct credit late_credit;
    bool compensating; /* output waits until the filter state is sent (9.1) */
    uint32_t resumes;  /* RESUME frames in `out`: claims wait for them */
    uint32_t epoch;    /* of the next packet sent */
    uint64_t count;    /* waves sent in this epoch */
    uint64_t level;    /* the last wave that the parent knows of ... */
    uint64_t ended;    /* ... and the last one of an earlier epoch; 0: none */
    bool counted;      /* the parent counts this node */
    uint32_t put;      /* 1 + the last epoch of a packet sent */
    uint32_t left;     /* the same when this node left a parent (18.6) */
    bool aligned;      /* a mover: the next parent has had RESUME, and packets
                          go to the old one ... */
    struct wave_number target; /* ... at least up to this wave (18.6) */
    bool split;                /* more packets of the last wave sent follow */
    bool newcomer; /* a back-end that joined late: no marker came since */
};

/* Claims and settling (10): settle.c. */
struct settling {
    struct claim sent; /* the last claim sent */
    bool has_sent;
    bool claim_due;
    uint64_t unclaimed;  /* a back-end: bytes received since its last claim */
    struct losing loss;  /* of this node and of lost children */
    uint64_t hurried;    /* the highest marker that any child has settled */
    struct mark settled; /* settled here; its claim may still be queued */
    struct mark told;    /* the part of `settled` that was claimed */
};

/* What the application has received and processed: request.c. */
struct reading {
    uint64_t delivered; /* to a back-end: packets, in all */
    uint64_t untaken;   /* packets delivered and not taken */
    uint64_t processed; /* by a back-end: those before it last called receive */
    uint64_t untaken_bytes;
    uint64_t taken_at;   /* node->takes when it last took a packet */
    uint64_t settle_at;  /* node->takes when it last settled */
    struct fifo markers; /* to be settled; `frame.number` of each: packets that
                            were delivered before it */
};

/* The state of a stream that only the front-end has. */
struct stream_root {
    uint64_t sync;         /* the marker that a sync waits for; 0: none */
    struct mark sent;      /* the last marker sent */
    uint32_t synced_epoch; /* of the last sync that returned */
    uint32_t given_up;     /* of the last sync that returned 1 (10.6a) ... */
    struct ranks losers;   /* ... and the nodes that had set LOSSY since */
    uint64_t over;         /* the last wave released or lost (4.3b) */
    uint64_t named;        /* the last wave after it that a withheld packet was
                              of, in the earliest epoch; or any before it */
    uint32_t withheld; /* packets since the last sync that were not delivered,
                          without the following ones */
    uint32_t withheld_last;  /* those of epoch `withheld_epoch`, the last one of
                                which there are any: a sync may not cover them */
    uint32_t withheld_epoch; /* ... */
    bool skips;            /* this front-end has taken the stream over: the next
                          lost waves may have come to the last one (23.10) */
    bool lost_wave;        /* since the last sync nothing of a wave has come */
    uint32_t lost_epoch;   /* the epoch of the last such wave */
    uint64_t packets;      /* that applications have sent (23.9) */
    uint64_t state_asked;  /* requests for the filter's state */
    uint64_t state_called; /* `state_asked` when it was last packed */
    bool opening;
    bool recoverable;      /* as its opening has proved (9.4) */
    bool refused;          /* an error has ended the opening */
    bool hung;             /* a filter call that hung has ended a commnode */
    struct ranks faulted;  /* nodes whose error was reported */
    struct ranks entering; /* joiners that have not claimed yet */
    uint64_t open_deadline_ms;
};

struct stream {
    struct stream_definition definition;
    const struct stream_kind *kind;
    struct stream_filters filters;
    bool active;             /* this node is internal, or a member */
    bool loaded;             /* and its `init` has returned (3.2) */
    bool initing;            /* a call of `init` is due */
    bool failed;             /* it is removed after its filter call (11.5) */
    bool closing;            /* CLOSE has taken effect ... */
    uint64_t close_at;       /* ... after this number */
    bool queued;             /* it waits until the running filter call ends */
    uint8_t due;             /* of enum due */
    char *error;             /* why its filter could not be loaded here */
    uint64_t opened_at;      /* number of its OPEN on stream 0 */
    struct branch *branches; /* by slot of the child */
    uint32_t branch_count;
    struct pending *pending; /* in order */
    size_t pending_count;
    size_t applied; /* how many took effect; kept for duplicates (3.1b) */
    struct downflow down;
    struct upflow up;
    struct settling settle;
    struct reading app;
    struct stream_root *root; /* the front-end only, else NULL */
    struct totals *totals;    /* a stream of totals (17), else NULL */
    struct waves *waves;      /* a stream of whole waves, else NULL (16) */
};

/* The one filter call in progress (5.1). */
struct filter_call {
    bool is_out;
    bool late;         /* its packets are LATE */
    bool newcomer;     /* ... as their sender has just joined */
    bool compensating; /* its input is a compensation (9.2) */
    bool expired;      /* it has lasted longer than filter_timeout */
    uint32_t credit;   /* a downward call: bytes to return for its input */
    uint64_t since_ms;
    uint64_t deadline_ms;
    struct node_call what;
    struct payload *parameters; /* as of the start of the call */
    struct payload *to; /* a downward call's: it has the destinations (10.7) */
    struct frame down;  /* a downward call's input ... */
    uint32_t inlet;     /* ... and the rank of its sender */
};

/* ---- settle.c ---- */

/* Send a claim if it has changed, now or with the next heartbeat (10.1a). */
void settle_update(struct node *node, struct stream *stream);

/* Send a claim, with `settled` as its marker or a lower one. */
void settle_send_claim(struct node *node,
                       struct stream *stream,
                       struct mark settled);

/* This node leaves its parent: claim nobody, and that nothing waits (18.6). */
void settle_send_nobody(struct node *node, const struct stream *stream);

/* Settle a marker if all children have and no packet before it waits (10.6). */
void settle_try(struct node *node, struct stream *stream);

/* A heartbeat: send the claims and numbers that are due, on all streams. */
void settle_beat(struct node *node);

/* Add the members that the children claim to `out`. */
void settle_claimed(struct node *node,
                    const struct stream *stream,
                    struct ranks *out);

/* Whether any child has members of the stream. */
bool stream_has_members(const struct node *node, const struct stream *stream);

/* Whether the child in `slot` has no members, and packets of former ones may
 * still come from it (18.7). */
bool branch_is_owed(const struct node *node,
                    const struct stream *stream,
                    uint32_t slot);

/* The parent counts this node: whatever this node has said before, it is not
 * drained (18.7). */
void settle_counted(struct stream *stream);

/* Whether no child has members, and no packet of former members waits here or
 * below (10.1b). */
bool stream_is_drained(const struct node *node, const struct stream *stream);

/* Front-end, at the end of a step: send a marker that names the joiners which
 * have claimed the stream, so that their packets are paired from the start of an
 * epoch (12.3). */
void settle_joiners(struct node *node, struct stream *stream);

/* Lower the settled marker: a new member has settled less, or the last member
 * has left. */
void settle_fall_back(struct node *node,
                      struct stream *stream,
                      struct mark settled);

/* A joiner enters: it has settled this marker, and the parent knows. */
void settle_begin(struct stream *stream, struct mark settled);

/* The parent is lost: no claim was sent to the next one. */
void settle_orphaned(struct stream *stream);

/* A child has settled a marker: this node is to settle it soon. */
void settle_hurry(struct stream *stream, struct mark settled);

/* The parent was told `settled` with a total: send the claim. */
void settle_told(struct node *node, struct stream *stream, struct mark settled);

/* Back-end: settle the waiting marker. */
void settle_marker(struct node *node, struct stream *stream);

/* ---- downward.c ---- */

/* Handle a packet from the parent; its payload reference is taken, also on
 * error. The stream may be freed. Returns 0 or an error as in intake.c. */
int downward_take(struct node *node,
                  struct stream *stream,
                  struct frame *frame);

/* Front-end: send a packet. The payload is taken on success.
 * Returns 0, -ENOENT, -ENODEV or -EAGAIN. */
int downward_send(struct node *node,
                  struct stream *stream,
                  struct frame *frame);

/* PROTOCOL 10.5: skip to `stable`, with the children. */
void downward_lift(struct node *node, struct stream *stream, uint64_t stable);

/* Front-end: send a marker, and return its number. `named`: the joiners that
 * count from its epoch on (16.11), or NULL. */
uint64_t downward_marker(struct node *node,
                         struct stream *stream,
                         const struct ranks *named);

/* Front-end: send a marker, at which the pending sync ends. */
void downward_sync(struct node *node, struct stream *stream);

/* Send the packets after its cursor to each child, or to the one in `slot`. */
void downward_pump(struct node *node, struct stream *stream);
void downward_pump_child(struct node *node,
                         struct stream *stream,
                         uint32_t slot);

/* Cursors have moved: return credit, and drop packets no child needs. */
void downward_passed(struct node *node, struct stream *stream);

/* Handle FEED from child `peer` (10.4). Returns 0 or an error. */
int downward_feed(struct node *node,
                  struct peer *peer,
                  const struct frame *frame);

/* Send FEED: ask the parent for the packets after the last one received. */
void downward_ask(struct node *node, struct stream *stream);

/* Send a packet without a number to all children (5.6); `frame` is taken. */
void downward_aside(struct node *node,
                    struct stream *stream,
                    struct frame frame);

/* The parent reports: every member has the packets up to `number`. */
void downward_stable(struct node *node, struct stream *stream, uint64_t number);

/* A back-end's application took `len` bytes: return their credit. */
void downward_taken(struct node *node, struct stream *stream, size_t len);

/* This back-end leaves: return the credit of all packets that its application
 * has not taken. */
void downward_drop(struct node *node, struct stream *stream);

/* The parent is lost: no credit is returned for its packets. */
void downward_orphaned(struct node *node, struct stream *stream);

/* Packets of this epoch may come from below: they may be lost with a child
 * (18.8). */
void downward_note_epoch(struct stream *stream, uint32_t epoch);

/* A new member: its packets begin after `number`. */
void downward_begin(struct stream *stream, uint64_t number);

/* A snapshot has everything up to `number`. */
void downward_snapshot(const struct node *node,
                       struct stream *stream,
                       uint64_t number);

/* The parent sends packets now if this node has members. */
void downward_source(const struct node *node, struct stream *stream);

/* Tell one child up to which packet `stream` is stable. */
void downward_tell_stable(struct node *node,
                          struct peer *peer,
                          const struct stream *stream);

/* Packets up to `number` are stable: drop them, and tell the children with the
 * next heartbeat. */
void downward_set_stable(struct node *node,
                         struct stream *stream,
                         uint64_t number);

/* A heartbeat: tell the children the stable number if it has changed. */
void downward_beat(struct node *node, struct stream *stream);

/* Drop all stored packets, and continue after `number`. */
void downward_restart(struct node *node,
                      struct stream *stream,
                      uint64_t number);

/* Whether a packet of the stream is in its downstream filter. */
bool downward_is_filtering(const struct node *node,
                           const struct stream *stream);

/* Whether a packet that goes down uses credit (3.4): empty frames, markers and
 * control need none. */
static inline bool downward_is_charged(const struct frame *frame)
{
    return frame->type == FRAME_DATA && !(frame->flags & FRAME_EMPTY);
}

/* Return credit for `len` bytes to the parent, in portions. */
void downward_return_credit(struct node *node,
                            struct stream *stream,
                            size_t len);

/* Store a filtered packet for the children, or, at a back-end, deliver it; its
 * payload is taken. `credit`: bytes to be returned for it. */
void downward_commit(struct node *node,
                     struct stream *stream,
                     struct frame frame,
                     uint32_t credit);

/* ---- skip.c ---- */

/* Whether `frame` has nothing for the members below `peer`. */
bool skip_passes(const struct peer *peer, const struct frame *frame);

/* The next number of a branch is skipped: the child is told before its next
 * packet, with the next heartbeat, or now if that has been much. */
void skip_note(struct node *node,
               const struct stream *stream,
               struct branch *branch,
               struct peer *peer,
               const struct frame *frame);

/* Send SKIP to one child, or to all, if it is due. */
void skip_send(struct node *node,
               const struct stream *stream,
               struct branch *branch,
               struct peer *peer);
void skip_flush(struct node *node, struct stream *stream);

/* Back-ends were gained below `peer`: what it was not told yet is not skipped,
 * as it may be for these. */
void skip_reconsider(struct node *node, struct peer *peer);

/* Members were gained below `peer`, and the parent was told. */
void skip_gained(struct node *node, const struct peer *peer);

/* A child continues after `from`, and numbers after that were skipped here:
 * have them sent again. Returns whether. */
bool skip_feed_again(struct node *node, struct stream *stream, uint64_t from);

/* Handle SKIP from the parent. Returns 0 or an error. */
int skip_take(struct node *node,
              struct stream *stream,
              const struct frame *frame);

/* Front-end: send a packet to the members `ranks` only (10.7). The payload is
 * taken on success. Returns as downward_send(), or -EINVAL. */
int skip_send_to(struct node *node,
                 struct stream *stream,
                 struct frame *frame,
                 const uint32_t *ranks,
                 size_t count);

/* ---- downward_filter.c ---- */

/* Filter and forward queued packets. The stream may be freed. */
void downward_run(struct node *node, struct stream *stream);

/* The downward filter call has ended. */
void downward_filtered(struct node *node, const struct event *event);

/* ---- pending.c ---- */

/* Queue a control that takes effect after a packet, and apply it if that packet
 * has passed. Its content is taken. The stream may be freed. */
void pending_add(struct node *node, struct control *control);

/* Apply the controls whose packet has passed. The stream may be freed. */
void downward_pending(struct node *node, struct stream *stream);

/* The parameters that precede packet `number` (3.1b); 0: those in force. */
struct payload *downward_parameters(const struct stream *stream,
                                    uint64_t number);

/* ---- upward.c ---- */

/* The stream is closed: drop a packet from a child, and return its credit, so
 * that the sender can continue and handle CLOSE (3.1b). Returns 0 or an error
 * as in intake.c. */
int upward_discard(struct node *node,
                   struct stream *stream,
                   struct peer *peer,
                   struct frame *frame);

/* A back-end: send a packet. The payload is taken on success.
 * Returns 0, -ENOENT or -EAGAIN. */
int upward_send(struct node *node, struct stream *stream, struct frame *frame);

/* Whether a frame that goes up uses credit (3.4): empty answers, compensations
 * and other frames need none. */
static inline bool upward_is_charged(const struct frame *frame)
{
    return frame->type == FRAME_DATA &&
           !(frame->flags & (FRAME_EMPTY | FRAME_COMPENSATING));
}

/* Return credit for `len` bytes to a child. `late`: of the late lane. */
void upward_return_credit(struct node *node,
                          struct stream *stream,
                          struct peer *peer,
                          bool late,
                          size_t len);

/* Whether waves may be released. If not, packets wait here and their credit is
 * not returned, so their senders must wait. */
bool upward_may_release(const struct node *node, const struct stream *stream);

/* Filter a released set, or send it up as it is. */
void upward_release(struct node *node,
                    struct stream *stream,
                    struct wave_set *set);

/* Queue a claim of the settled marker after the packets that it covers. */
void upward_claim(struct node *node, struct stream *stream);

/* Queue a frame for the parent, or deliver it; its payload is taken. */
void upward_emit(struct node *node, struct stream *stream, struct frame frame);

/* Send queued frames as far as credit allows. */
void upward_pump(struct node *node, struct stream *stream);

/* Queue RESUME: the parent counts this node from the wave after `level` on. */
void upward_resume(struct node *node,
                   struct stream *stream,
                   struct wave_number level);

/* Bytes of packets that wait for their wave. */
uint64_t upward_bytes(const struct stream *stream);

/* Whether no packet waits to be sent up. */
bool upward_is_drained(const struct stream *stream);

/* The parent grants `window` bytes, in both lanes (3.4). */
void upward_grant(struct stream *stream, uint32_t window);

/* Release and filter complete waves, and settle a marker if possible. */
static inline void upward_run(struct node *node, struct stream *stream)
{
    stream->kind->run(node, stream);
}

/* A part of that: release the sets of up.wave, as far as may be. */
void upward_release_sets(struct node *node, struct stream *stream);

/* The other part: return credit early, tell the parent of skipped waves, settle
 * a marker, and send queued packets. */
void upward_go_on(struct node *node, struct stream *stream);

/* When upward_run() is due again; UINT64_MAX: not before the next event. */
uint64_t upward_deadline_ms(const struct node *node,
                            const struct stream *stream);

/* Free the inputs of the upward call that has ended. */
void upward_drop_inputs(struct node *node);

/* The upward filter call has ended, or exceeds filter_timeout. */
void upward_filtered(struct node *node, const struct event *event);
void upward_expire(struct node *node);

/* Report to the front-end that a filter failed or hangs: `kind`. */
void upward_fault(struct node *node,
                  enum fault_kind kind,
                  uint32_t stream,
                  const char *text);

/* Whether no filter call of this stream is in progress. */
bool upward_is_idle(const struct node *node, const struct stream *stream);

/* Whether a filter call in progress may have packets of an epoch before
 * `epoch`, or a wave that was lost at the end of an epoch has no place yet
 * (4.3b). Only under COP_WAIT_FOR_ALL is the epoch of a call known. */
bool upward_is_behind(const struct node *node,
                      const struct stream *stream,
                      uint32_t epoch);

/* Whether a back-end's packet of `len` bytes may be sent now. */
bool upward_accepts(const struct node *node,
                    const struct stream *stream,
                    size_t len);

/* Run the streams that waited for the filter call that has ended. */
void upward_run_queued(struct node *node);

/* The stream is open: whether the parent counts this node (4.5). */
void upward_begin(struct node *node, struct stream *stream);

/* This back-end has joined, in `epoch`. `newcomer`: its packets say so until it
 * settles a marker. */
void upward_enter(struct stream *stream, uint32_t epoch, bool newcomer);

/* The parent is lost: no credit is left, and no claim was sent. */
void upward_orphaned(struct node *node, struct stream *stream, uint32_t parent);

/* A new parent: send it FEED, the state or RESUME, and claims (9.1, 10.1). */
void upward_adopted(struct node *node, struct stream *stream);

/* Repeat the claims to a new parent: the members at once, the settled marker
 * after the data that it covers (10.1). */
void upward_claim_anew(struct node *node, struct stream *stream);

/* A back-end's packets are of `epoch` now, which begins. */
void upward_begin_epoch(struct stream *stream, uint32_t epoch);

/* The parent no longer counts this node, or does so if it has members. */
void upward_uncount(struct stream *stream);
void upward_recount(const struct node *node, struct stream *stream);

/* Whether output waits until the filter's state is sent (9.1). */
void upward_hold(struct stream *stream, bool hold);

/* Drop the packets in the queues: the filter's state covers them (9.3). */
void upward_drop_queue(struct stream *stream);

/* ---- deliver.c ---- */

/* Give a packet, or a run of lost waves, to the application. */
void deliver_frame(struct node *node,
                   struct stream *stream,
                   struct frame frame);

/* Front-end: the same for a packet of the tree, unless the application has not
 * asked for such ones (4.3b). Its payload is taken. */
void deliver_upward(struct node *node,
                    struct stream *stream,
                    struct frame frame);

/* Front-end: each wave up to `level` has been released, or nothing of it has
 * come and nothing will. Deliver the lost ones as empty packets (4.3b). */
void deliver_lost(struct node *node, struct stream *stream, uint64_t level);

/* Front-end: the epochs before `epoch` are over: what was lost at their end has
 * its place now (4.3b). */
void deliver_end_epochs(struct node *node,
                        struct stream *stream,
                        uint32_t epoch);

/* The application has taken a packet of `len` bytes. */
void deliver_taken(struct node *node, struct stream *stream, size_t len);

/* A back-end leaves: its application takes no more packets. */
void deliver_drop(struct stream *stream);

/* ---- plain.c: operations of plain_kind ---- */

/* As kind.h says of the operations with these names. */
void plain_open_branch(struct node *node,
                       struct stream *stream,
                       const struct peer *peer);
int plain_resumed(struct node *node,
                  struct stream *stream,
                  struct peer *peer,
                  struct wave_number level);
/* COMPENSATION or TOTAL has come in the place of RESUME. Returns 0 or -ENOMEM. */
int plain_replaced(struct stream *stream,
                   const struct peer *peer,
                   struct wave_number level);
/* Its packets stay (PROTOCOL 4.4), and their credit is returned (3.4). */
void plain_leave(struct node *node, struct stream *stream, uint32_t slot);
/* The child is owed, or has lost members: packets of them, of all epochs until
 * now, may come. */
void plain_owe(struct stream *stream, uint32_t slot);
/* A commnode is lost with what it had (18.8). */
void plain_part_ended(struct node *node, struct stream *stream, uint32_t slot);
/* Its packets stay, without credit. */
void plain_unlink(struct node *node, struct stream *stream, uint32_t slot);
int plain_take(struct node *node,
               struct stream *stream,
               struct peer *peer,
               struct frame *frame);
void plain_run(struct node *node, struct stream *stream);
/* The filter's state is packed. Send it first on the new link, before later
 * output (9.1). At the front-end, give it to the application. */
void plain_packed(struct node *node,
                  struct stream *stream,
                  const struct event *event);
/* Return the credit of packets that wait for a wave. */
void plain_close(struct node *node, struct stream *stream);
/* Drop the queue if the filter's state has it (9.3); else set LOSSY. */
void plain_orphaned(struct node *node, struct stream *stream, uint32_t rank);
void plain_adopted(struct node *node, struct stream *stream);
/* What was sent to parent `rank`, which this node has left, may be lost. */
void plain_left(struct node *node, struct stream *stream, uint32_t rank);
/* The wave before the first that is queued. */
struct wave_number plain_stand(const struct node *node,
                               const struct stream *stream);
/* The filters may not be loaded yet: send RESUME. */
void plain_count_anew(struct node *node, struct stream *stream);
void plain_enter(struct node *node, struct stream *stream, uint32_t epoch);

/* Handle COMPENSATION: it goes to the filter in no wave (9.2). */
int upward_compensate(struct node *node,
                      struct peer *peer,
                      struct frame *frame);

/* Front-end: have the filter's state packed, for the application (9.2). */
void upward_ask_state(struct node *node, struct stream *stream);

/* Have the filter's state packed. It covers the queued packets (9.1, 9.3). */
void upward_call_for_state(struct node *node, struct stream *stream);

/* Front-end: give the application the state that it asked for (9.2), or
 * `code`, a negative errno. */
void upward_tell_state(struct node *node,
                       struct stream *stream,
                       const struct event *event,
                       int code);

/* ---- failure.c ---- */

/* Front-end: end `stream` with an error, in the whole tree and at once. The
 * stream may be freed.
 *
 * rank  the node that the error is about
 * text  the error */
void failure_end(struct node *node,
                 struct stream *stream,
                 uint32_t rank,
                 const char *text);

/* Stream `id` has failed, or was closed long ago: remove it, now or when its
 * filter call has returned. Nothing if there is no such stream. */
void failure_take(struct node *node, uint32_t id);

/* A filter call of stream `id` has returned: remove a failed stream. */
void failure_call_ended(struct node *node, uint32_t id);

/* Front-end: a filter has ended a commnode. `text` says so; if NULL, the text
 * is made from `fault`. */
void failure_reported(struct node *node,
                      const struct msg_fault *fault,
                      const char *text);
