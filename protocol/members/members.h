/* members.h - back-ends that no branch covers, snapshots; for the machine's own
 * files. */
#ifndef PROTOCOL_MEMBERS_MEMBERS_H
#define PROTOCOL_MEMBERS_MEMBERS_H

#include "protocol/members/control.h"
#include "protocol/node.h"

struct peer;
struct stream;

/* Back-ends that no branch covers, since when (11.1). */
struct uncovered {
    struct ranks ranks;
    uint64_t since_ms;
    bool limbo; /* that is failure_timeout ago */
};

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

#endif
