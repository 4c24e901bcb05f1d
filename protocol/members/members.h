/* members.h - the members of the streams, back-ends that no branch covers, and
 * snapshots. Private to the machine. */
#pragma once

#include "protocol/members/control.h"
#include "protocol/node.h"

struct peer;
struct stream;

/* A back-end whose end an agent has reported (12.5). */
struct ended {
    uint32_t rank;
    char *text;
};

/* Back-ends that no branch has covered since `since_ms` (11.1). */
struct uncovered {
    struct ranks ranks;
    uint64_t since_ms;
    bool limbo; /* for failure_timeout or longer */
};

/* A view that is not known to be stable. */
struct view_sent {
    uint64_t number;
    uint64_t packet;   /* its number on stream 0 */
    uint64_t since_us; /* the front-end has learnt of the first change then */
};

/* Views (21). The launch makes view 1, of which no packet is sent. */
struct views {
    uint64_t number; /* of the last one that is known here */
    uint64_t stable; /* of the last one that is known to be stable */
    /* front-end */
    bool enabled;           /* they are sent */
    bool changed;           /* something has changed since the last one ... */
    bool clocked;           /* ... and `since_us` was read for it */
    uint64_t since_us;      /* the first of these changes */
    uint64_t sent_ms;       /* the last one was sent */
    struct view_sent *sent; /* those that are not stable yet */
    size_t sent_count;
    struct ranks ranks; /* in the last one */
};

/* ---- members.c ---- */

/* peer->below has shrunk: remove from the branch of every stream the members
 * that are no longer below the child. */
void member_trim(struct node *node, struct peer *peer);

/* Clear the branch to `peer` of every stream. */
void member_forget(struct node *node, struct peer *peer);

/* A child's link has ended: clear its branches, and send records about it.
 * `text` says why the link ended. */
void member_lost_child(struct node *node, struct peer *peer, const char *text);

/* Front-end: give back-ends up for good (11.1); `text` says why. `how`:
 * CONTROL_LOST or CONTROL_LEFT. */
void member_give_up(struct node *node,
                    enum control_type how,
                    const struct ranks *ranks,
                    const char *text);

/* Handle LOST and LEFT: remove `ranks` from every set of members (11.2). */
void member_lost(struct node *node, const struct ranks *ranks, bool left);

/* Handle ENTER: its back-ends become members (12.3). */
void member_enter(struct node *node, const struct control *control);

/* Handle CLAIM and EXPEL. `frame` is borrowed. Each returns 0 or an error as in
 * intake.c. */
int member_claim(struct node *node, struct peer *peer, struct frame *frame);
int member_expel(struct node *node, struct frame *frame);

/* Whether a child may claim `members`. A back-end may claim only itself. The
 * front-end accepts only ranks that it assigned. */
bool member_may_claim(const struct node *node,
                      const struct peer *peer,
                      const struct ranks *members);

/* Remove the back-ends that were given up from `claimed`, which `peer` has
 * claimed, and send EXPEL with them to `peer` (PROTOCOL 11.2). */
void member_expel_lost(struct node *node,
                       struct peer *peer,
                       struct ranks *claimed);

/* ---- cover.c: the front-end's back-ends that no branch covers (11.1) ---- */

/* The branches have changed: find out which back-ends none of them covers. */
void cover_update(struct node *node);

/* Remove from `ranks` those in limbo: no opening waits for them (3.1a). */
void cover_exempt(struct node *node, struct ranks *ranks);

/* Move back-ends to limbo after failure_timeout, and give them up after
 * record_patience_ms(); when the next of these is due. */
void cover_tick(struct node *node);
uint64_t cover_deadline_ms(const struct node *node);

/* An agent reports that back-end `rank` has ended: give it up, with the reason
 * `text`, once no branch covers it (12.5). */
void cover_ended(struct node *node, uint32_t rank, const char *text);

/* Free the lists of cover.c. */
void cover_fini(struct node *node);

/* ---- farewell.c (17.7) ---- */

struct farewell; /* the last totals of a back-end that leaves */

/* This back-end leaves: collect its totals if it has any. */
void farewell_begin(struct node *node);

/* Free `farewell`. NULL is fine. */
void farewell_free(struct farewell *farewell);

/* The total of `stream` was packed: keep it if it is for FAREWELL. */
void farewell_collect(struct node *node,
                      const struct stream *stream,
                      const struct event *event);

/* Everything was sent: continue the farewell. Returns false if the node may end
 * without one; after FAREWELL, LEFT ends the node. */
bool farewell_waits(struct node *node);

/* Repeat FAREWELL. */
void farewell_beat(struct node *node);

/* Front-end: keep the totals of FAREWELL, which the front-end before it has read
 * (23.3). `frame` is borrowed. Returns 0, -EBADMSG or -ENOMEM. */
int farewell_keep(struct node *node, const struct frame *frame);

/* Handle FAREWELL of a back-end below `peer`: forward it; at the front-end,
 * keep the totals and send LEFT. `frame` is borrowed. Returns 0 or an error as
 * in intake.c. */
int farewell_take(struct node *node,
                  const struct peer *peer,
                  const struct frame *frame);

/* ---- snapshot.c (3.1) ---- */

/* Send a snapshot of stream 0 to a child that has just joined, or that lacks
 * control packets which this node has dropped. */
void snapshot_send(struct node *node, struct peer *peer);

/* PROTOCOL 11.4: send the ENDING or SHUTDOWN of a snapshot to all children. */
void snapshot_pass_end(struct node *node, enum control_type how);

/* A snapshot has `definition` for `stream`, which exists here: take over its
 * members and parameters. */
void snapshot_refresh(struct node *node,
                      struct stream *stream,
                      const struct stream_definition *definition);

/* Handle SNAPSHOT, the end of a snapshot: stream 0 continues after it. Children
 * that lack earlier control packets are sent a snapshot too. `frame` is
 * borrowed. Returns 0 or an error as in intake.c. */
int snapshot_take(struct node *node, const struct frame *frame);

/* ---- view.c (21) ---- */

/* Front-end: the launch is complete, with the nodes of view 1. */
void view_begin(struct node *node);

/* Front-end: a node has come, or is gone for good. */
void view_changed(struct node *node);

/* Front-end: the answer to ACTION_CLOCK. */
void view_clock(struct node *node);

/* Front-end: tell which views are stable, and send one if it is time. Called
 * when something has changed, and when stream 0 may be stable further. */
void view_update(struct node *node);

/* Front-end: a heartbeat has passed. */
void view_beat(struct node *node);

/* Handle VIEW. */
void view_take(struct node *node, const struct control *control);

/* Free what the views hold. */
void view_fini(struct node *node);

/* ---- zero.c: stream 0 (3.1) ---- */

/* Front-end: send a control packet, and apply it here. */
void zero_send(struct node *node, const struct control *control);

/* Handle a control packet from the parent: the next one, or one of a snapshot.
 * Its payload reference is taken. Returns 0 or an error as in intake.c. */
int zero_take(struct node *node, struct frame *frame);
