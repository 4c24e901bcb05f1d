/* members.h - who is a member, back-ends that no branch covers, snapshots; for
 * the machine's own files. */
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

/* ---- members.c ---- */

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
