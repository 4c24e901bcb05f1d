/* status.h - watching a network from outside, and failures injected from
 * outside (PROTOCOL 15). Private to the machine.
 *
 *   observer --STATUS--> front-end --STATUS--> children --STATUS--> ...
 *   observer <---ROWS--- front-end <---ROWS--- children <---ROWS--- ...
 *
 * status.c    rounds: STATUS goes down the tree, ROWS come up
 * observer.c  the observers, and the front-end's answers
 * places.c    what of these is no news in a tree that has grown back
 * history.c   the recoveries that were reported
 * inject.c    injections, on their way to the victim
 *
 * Nothing else in the machine depends on this: no stream, claim or adoption
 * waits for it. */
#pragma once

#include "protocol/node.h"
#include "protocol/watch/rows.h"

struct peer;

/* A program outside the tree that asks the front-end (15.1). */
struct observer {
    uint32_t link;
    bool asked;
    uint32_t budget_ms;   /* time for the answer */
    uint64_t round;       /* the round that answers it; 0: not begun */
    uint64_t deadline_ms; /* to ask by; UINT64_MAX: it has asked */
};

/* Front-end: nodes that were lost at the same moment. */
struct loss {
    uint32_t first; /* ranks `first` to `last` */
    uint32_t last;
    uint32_t parent; /* the last one known; RANK_NONE: as at launch */
    uint64_t since_ms;
    char *text; /* why; NULL: not known */
};

/* Front-end: one recovery that an orphan has reported (6.7). */
struct history_entry {
    uint32_t rank;
    uint64_t at_ms;
    struct node_adoption adoption;
};

/* The last LIMIT_STATUS_REPORTS recoveries: a ring, by number. */
struct history {
    struct history_entry *list;
    uint64_t next; /* number of the next recovery */
};

/* Part of struct node. */
struct status {
    bool open;               /* a round is under way */
    uint32_t observer_count; /* front-end */
    char *host;              /* of this node */
    char *label;             /* of this back-end; "": none */
    uint64_t since_ms;       /* of the link to this parent; 0: since launch */
    uint32_t adoptions;      /* of this node */
    uint32_t adopted_from;   /* the parent lost last; RANK_NONE: none */
    uint64_t round;
    uint64_t deadline_ms; /* of the round */
    uint32_t waiting;     /* children that have not answered */
    struct rows rows;     /* the answers of this round */
    /* front-end */
    const struct topology *tree; /* as launched; kept; or NULL */
    struct observer *observers;
    struct loss *losses;
    uint32_t loss_count;
    struct ranks killed; /* victims of COP_INJECT_KILL */
    struct history history;
    bool allow_injection;
    bool allow_administration;
};

/* ---- status.c: rounds ---- */

/* Copy the host of `config`, and keep its tree. Returns 0 or -ENOMEM. */
int status_init(struct node *node, const struct node_config *config);

/* Free the state of all four files. */
void status_fini(struct node *node);

/* Begin round `round`: ask all children, and answer within `budget_ms`. */
void status_begin(struct node *node, uint64_t round, uint32_t budget_ms);

/* Handle STATUS from the parent, and HEARD and ROWS from a child. `frame` is
 * borrowed. Each returns 0 or an error as in intake.c. */
int status_asked(struct node *node, const struct frame *frame);
int status_heard(struct node *node,
                 struct peer *peer,
                 const struct frame *frame);
int status_rows(struct node *node,
                struct peer *peer,
                const struct frame *frame);

/* A child is lost: do not wait for its answer. */
void status_forget(struct node *node, struct peer *peer);

/* This node has lost its parent `lost`, or has left it (RANK_NONE): drop the
 * round. */
void status_orphaned(struct node *node, uint32_t lost);

/* Another parent has adopted this node. */
void status_adopted(struct node *node);

/* End the round at its deadline, and call observer_tick(); when the next of
 * these is due. */
void status_tick(struct node *node);
uint64_t status_deadline_ms(const struct node *node);

/* ---- places.c: the front-end's ---- */

/* The place that node `rank` was started for (20.1); 0: none. */
uint32_t places_of(const struct node *node, uint32_t rank);

/* Leave out of the complete `rows` the lost nodes whose place another one has, and
 * those that have left; set places; and forget the losses of nodes that are back. */
void places_note(const struct node *node, struct rows *rows);

/* ---- observer.c ---- */

/* Handle an event on an observer's link. Each returns whether the link is an
 * observer's; the frame of the event is then taken. */
bool observer_link_up(struct node *node, const struct event *event);
bool observer_link_down(struct node *node, const struct event *event);
bool observer_frame(struct node *node, const struct event *event);

/* Begin a round if an observer waits for one and none is under way. */
void observer_next(struct node *node);

/* Free the losses. */
void observer_fini(struct node *node);

/* The round is over: add to `rows` the nodes that did not answer, and answer
 * the observers that waited for this round. */
void observer_answer(struct node *node, struct rows *rows);

/* The network ends: tell all observers. */
void observer_end(struct node *node);

/* Close the links of observers that have not asked in time; when the first is
 * due. */
void observer_tick(struct node *node);
uint64_t observer_deadline_ms(const struct node *node);

/* Front-end: internal node `rank`, last below `parent`, is lost; it lives after
 * all; back-ends are given up; `rank` is told to kill itself. `text` is the
 * reason, or NULL. On other nodes these functions do nothing. */
void observer_lost(struct node *node,
                   uint32_t rank,
                   uint32_t parent,
                   const char *text);
void observer_found(struct node *node, uint32_t rank);
void observer_given_up(struct node *node,
                       const struct ranks *ranks,
                       const char *text);
void observer_killed(struct node *node, uint32_t rank);

/* Answer the observer on `link` with `code` and `text`, and close its link. */
void observer_refuse(struct node *node,
                     uint32_t link,
                     int code,
                     const char *text);

/* ---- history.c ---- */

/* Front-end: remember the recovery that `rank` has reported. */
void history_add(struct node *node,
                 uint32_t rank,
                 const struct node_adoption *adoption);

/* Pack the recoveries from number `from` on; the payload is the caller's.
 * Returns 0 or -ENOMEM. */
int history_encode(struct node *node, uint64_t from, struct frame *out);

/* The parent that `rank` has reported last; `launched` if it has reported none,
 * RANK_NONE if its report may have been overwritten. */
uint32_t history_parent(const struct node *node,
                        uint32_t rank,
                        uint32_t launched);

/* Free the history. */
void history_fini(struct node *node);

/* ---- inject.c ---- */

/* An observer asks for an injection. Returns 0 when the command was sent, or a
 * negative errno with a sentence in `text`. */
int inject_asked(struct node *node,
                 const struct frame *frame,
                 char *text,
                 size_t text_len);

/* Handle INJECT from the parent. `frame` is borrowed. Returns 0 or an error as
 * in intake.c. */
int inject_take(struct node *node, const struct frame *frame);
