/* status.h - watching a network, and breaking it on purpose (PROTOCOL 15):
 * private to the machine's own files.
 *
 *   observer --STATUS--> front-end --STATUS--> children --STATUS--> ...
 *   observer <---ROWS--- front-end <---ROWS--- children <---ROWS--- ...
 *
 * status.c    rounds of questions down the tree
 * observer.c  who asks the front-end from outside, and what it is told
 * history.c   the recoveries that were reported
 * inject.c    what is to be broken, on its way to the victim
 *
 * Nothing here matters to anything else that the machine does: no stream, no
 * claim, no adoption waits for it. */
#ifndef PROTOCOL_WATCH_STATUS_H
#define PROTOCOL_WATCH_STATUS_H

#include "protocol/node.h"
#include "protocol/watch/rows.h"

struct peer;

/* One that asks from outside: no member, not in the tree (15.1). */
struct observer {
    uint32_t link;
    bool asked;
    uint32_t budget_ms;   /* what it gives us for the answer */
    uint64_t round;       /* the one that answers it; 0: not begun */
    uint64_t deadline_ms; /* to ask; UINT64_MAX: it has asked */
};

/* Front-end: nodes that are lost since the same moment. */
struct loss {
    uint32_t first;  /* ranks from here ... */
    uint32_t last;   /* ... to here */
    uint32_t parent; /* the last one known; RANK_NONE: as at launch */
    uint64_t since_ms;
    char *text; /* why; NULL: nobody has said */
};

/* Front-end: one recovery, as its orphan has reported it (6.7). */
struct history_entry {
    uint32_t rank;
    uint64_t at_ms;
    struct node_adoption adoption;
};

/* The last LIMIT_STATUS_REPORTS of them, by number. */
struct history {
    struct history_entry *list;
    size_t room;   /* a power of two, at most that limit */
    uint64_t next; /* number of the next one */
};

/* Part of struct node. */
struct status {
    bool open;               /* a round goes on */
    uint32_t observer_count; /* front-end */
    char *host;
    uint64_t since_ms;     /* we have this parent; 0: since launch */
    uint32_t adoptions;    /* so many we had before it ... */
    uint32_t adopted_from; /* ... the last of which was this one, or NONE */
    uint64_t round;
    uint64_t deadline_ms;
    uint32_t waiting; /* children that have not answered */
    struct rows rows; /* of those that have */
    /* front-end */
    const struct topology *tree; /* as launched; kept; or NULL */
    struct observer *observers;
    struct loss *losses;
    uint32_t loss_count;
    uint32_t loss_room;
    struct ranks killed; /* that were, or are to be, on purpose */
    struct history history;
    bool allow_injection;
};

/* ---- status.c: rounds ---- */

/* Begin with what `config` says. Returns 0 or -ENOMEM. */
int status_init(struct node *node, const struct node_config *config);

/* Free what is held. */
void status_fini(struct node *node);

/* Ask all below, and be done within `budget_ms`. */
void status_begin(struct node *node, uint64_t round, uint32_t budget_ms);

/* STATUS came from the parent; HEARD and ROWS from a child. `frame` is
 * borrowed. They return 0 or an error as in intake.c. */
int status_asked(struct node *node, const struct frame *frame);
int status_heard(struct node *node,
                 struct peer *peer,
                 const struct frame *frame);
int status_rows(struct node *node,
                struct peer *peer,
                const struct frame *frame);

/* A child is lost: nothing is waited for from it. */
void status_forget(struct node *node, struct peer *peer);

/* Our parent, `lost`, is gone: nobody waits for our answer. */
void status_orphaned(struct node *node, uint32_t lost);

/* We have another one. */
void status_adopted(struct node *node);

/* What is due by now; and when something is: for all three files. */
void status_tick(struct node *node);
uint64_t status_deadline_ms(const struct node *node);

/* ---- observer.c ---- */

/* Each returns whether the event was an observer's, and has been dealt with;
 * the frame in it is then taken. */
bool observer_link_up(struct node *node, const struct event *event);
bool observer_link_down(struct node *node, const struct event *event);
bool observer_frame(struct node *node, const struct event *event);

/* Begin a round if somebody waits for one and none goes on. */
void observer_next(struct node *node);

/* Forget who is lost. */
void observer_fini(struct node *node);

/* The round is over: compose what is known with `rows`, and answer. */
void observer_answer(struct node *node, struct rows *rows);

/* The node ends: so it is said to all observers. */
void observer_end(struct node *node);

/* Close those that have not asked in time; when the first is due. */
void observer_tick(struct node *node);
uint64_t observer_deadline_ms(const struct node *node);

/* Front-end: internal node `rank`, last under `parent`, is lost, or is not
 * after all; back-ends are given up; one is told to kill itself. `text` says
 * why, or is NULL. Elsewhere they do nothing. */
void observer_lost(struct node *node,
                   uint32_t rank,
                   uint32_t parent,
                   const char *text);
void observer_found(struct node *node, uint32_t rank);
void observer_given_up(struct node *node,
                       const struct ranks *ranks,
                       const char *text);
void observer_killed(struct node *node, uint32_t rank);

/* Answer the observer on `link` in words, and let go of it. */
void observer_refuse(struct node *node,
                     uint32_t link,
                     int code,
                     const char *text);

/* ---- history.c ---- */

/* Front-end: `rank` has reported its recovery. */
void history_add(struct node *node,
                 uint32_t rank,
                 const struct node_adoption *adoption);

/* Pack the recoveries from number `from` on; the payload is the caller's.
 * Returns 0 or -ENOMEM. */
int history_encode(struct node *node, uint64_t from, struct frame *out);

/* Free what is kept. */
void history_fini(struct node *node);

/* ---- inject.c ---- */

/* An observer asks for an injection. Returns 0 when it is on its way, or a
 * negative errno with a sentence in `text`. */
int inject_asked(struct node *node,
                 const struct frame *frame,
                 char *text,
                 size_t text_len);

/* INJECT came from the parent. Returns 0 or an error as in intake.c. */
int inject_take(struct node *node, const struct frame *frame);

#endif
