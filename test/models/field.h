/* field.h - a few real machines, the wires between them, and what may happen.
 *
 * What the simulator draws by chance is here a list: field_moves() names all
 * that can happen next, field_move() lets one of it happen. There is no common
 * clock: a frame may take any time, a timer may run out at any moment that the
 * machine has it running, a stopped node is silent for as long as it takes
 * somebody to notice. All of it lies in the arena (arena.h). */
#pragma once

#include <stdio.h>

#include "protocol/state.h"

#define FIELD_NODES 12
#define FIELD_WIRES 16
#define FIELD_QUEUE 16
#define FIELD_MOVES 256
#define FIELD_WAVES 4

/* A rule of doc/protocol.md that is taken away, to see that it is missed. */
enum field_rule {
    FIELD_ALL_RULES,
    FIELD_NO_FAIL,  /* 8.3: the orphan itself, or another orphan, answers OK */
    FIELD_NO_LOSS,  /* 8.3: only a node that loses its parent does */
    FIELD_NO_PROBE, /* 8.3: a candidate with a parent adopts at once */
    FIELD_DEAF,     /* liveness: an orphan is not told that it was adopted */
    FIELD_NO_REDO,  /* 16.7, liveness: nothing is put out again */
    FIELD_NO_CHECK  /* 16.3: what a commnode sends has the check of all */
};

/* What is searched. */
struct field_bounds {
    uint32_t internal_count;       /* the front-end and the commnodes */
    uint32_t parents[FIELD_NODES]; /* of each but the front-end */
    uint32_t faults;               /* crashes, breaks and stops together */
    uint32_t attempts;             /* of one node, in its life */
    bool any;    /* an orphan may ask any internal node, at any height */
    bool leaves; /* back-ends are orphans too; else they only are there */
    bool stops;  /* stops are among the faults; always if there are no waves */
    bool twins;  /* the last internal node has a back-end more */
    bool bushy;  /* a back-end below each commnode, not only the lowest */
    bool late;   /* faults when they are noticed; no order of last records */
    bool needed; /* what can matter no more is no part of a state */
    bool
        orderly; /* all is read of what a node sent that closes; else any part */
    uint32_t waves; /* that each back-end sends on an exact stream; 0: there is
                       none. Then frames of streams arrive in any order, and
                       those of an adoption at once */
    enum field_rule without;
};

enum field_kind {
    FIELD_DELIVER, /* wire, end: the next frame arrives there */
    FIELD_DOWN,    /* wire, end: it finds the link ended, the rest is lost */
    FIELD_CONNECT, /* node, other: its dial succeeds */
    FIELD_REFUSED, /* node, other: nobody is there */
    FIELD_EXPIRE,  /* node: its attempt, or its pause, takes too long */
    FIELD_SILENCE, /* wire, end: that end has heard nothing for too long */
    FIELD_GONE,    /* node, other: its child's end is reported to it */
    FIELD_RESUME,  /* node: a stopped one goes on */
    FIELD_SEND,    /* node: a back-end sends its next packet */
    FIELD_CRASH,   /* node; from here on: faults */
    FIELD_BREAK,   /* wire: both ends live, and will find it ended */
    FIELD_STOP,    /* node */
};

struct field_move {
    enum field_kind kind;
    uint32_t node; /* or the end of the wire: 0 below, 1 above */
    uint32_t other;
    uint32_t wire;
    enum field_kind fault; /* that comes just before; FIELD_DELIVER: none */
    uint32_t victim;       /* of it: a node or a wire */
    bool resume;           /* after FIELD_SILENCE: the silent node goes on */
};

struct field_queue {
    uint32_t count;
    struct frame frames[FIELD_QUEUE];
};

/* One connection. End 0 is the lower one, that dialled. */
struct field_wire {
    bool used;
    bool ended;   /* closed, cut or its other end dead */
    bool cut;     /* not by closing: what was on its way may be lost */
    bool open[2]; /* the machine there has it */
    uint32_t node[2];
    uint32_t link[2];
    struct field_queue in[2]; /* towards that end */
    uint32_t height;          /* what ADOPT said on it */
    uint32_t incarnation;
    bool last_resort;
};

struct field_node {
    struct node *machine; /* NULL: crashed */
    bool inert;           /* a back-end that only is there */
    bool stopped;
    bool gone_due; /* its end is not yet reported to its starter */
    bool dialling;
    uint32_t parent; /* that started it */
    uint32_t target;
    uint32_t attempts;
    uint64_t clock_ms;
    uint32_t sent;    /* packets on the exact stream */
    uint32_t loading; /* a stream whose filters are to be loaded; 0: none */
    uint64_t taken;   /* its incarnations that a node has adopted */
};

/* Refusals that were seen, by enum adoption_answer. */
#define FIELD_ANSWERS (ADOPTION_EXPELLED + 1)

struct field {
    struct field_bounds bounds;
    uint32_t node_count;
    uint32_t faults;   /* that happened */
    bool flat;         /* a star, of which little matters: search.md */
    bool settling;     /* no faults any more; attempts without end */
    const char *wrong; /* a violated oracle, or NULL */
    uint32_t answer;   /* that the last move gave; 0: none */
    uint32_t stream;   /* the exact one; 0: none */
    uint32_t redos;    /* of it, so far */
    uint32_t whole[FIELD_WAVES]; /* by wave: ranks whose packet was delivered */
    struct field_node nodes[FIELD_NODES];
    struct field_wire wires[FIELD_WIRES];
};

/* What of the nodes' knowledge can still matter (need.c). */
struct field_need {
    bool all;                      /* nothing is said of that */
    bool table[FIELD_NODES];       /* this node's table, all of it */
    bool wires[2 * FIELD_WIRES];   /* and all records to that end of a wire */
    uint32_t life[FIELD_NODES];    /* older accusations are for nothing */
    uint32_t attempt[FIELD_NODES]; /* that is on its way, or none */
    bool any;                      /* no choice reads a table */
    bool fresh[FIELD_NODES];       /* some child of it can lose it */
    bool lags[FIELD_NODES];        /* its parent knows an older incarnation */
};

/* Make and launch the tree of `bounds`: real machines, real frames, in the
 * arena, which is begun. The field is valid until the next one is made. */
struct field *field_new(const struct field_bounds *bounds);

/* List what can happen next, faults last; at most FIELD_MOVES. Returns how
 * many. `faults_at` is set to the index of the first fault. */
uint32_t field_moves(const struct field *field,
                     struct field_move *moves,
                     uint32_t *faults_at);

/* Whether no more faults come, and nothing that the tree depends on is under
 * way: only records are, and every live node has a parent. */
bool field_is_calm(const struct field *field);

/* Let `move` happen, and what follows without choice: frames that carry
 * nothing of an adoption arrive, and records that are no news. */
void field_move(struct field *field, const struct field_move *move);

/* Write what `move` is, in a few words. */
void field_print(const struct field *field,
                 const struct field_move *move,
                 FILE *out);

/* No more faults: let stopped nodes go on, all frames arrive and all timers
 * run, until nothing changes. Returns NULL if every live node is then attached
 * to the front-end, or what is wrong. */
const char *field_settle(struct field *field);

/* What the tree is now, in words: for a violated oracle. */
void field_show(const struct field *field, FILE *out);

/* A number for all that can still matter (search.md). */
uint64_t field_digest(struct field *field);

/* A number for the tree alone: who lives, whose parent is who, who was adopted
 * how often. */
uint64_t field_tree_digest(const struct field *field);

/* Whether the order in which a frame arrives is not searched: it only changes
 * what streams know, which nothing of an adoption reads. With an exact stream,
 * whether it is of an adoption. */
bool field_is_aside(const struct field *field, const struct frame *frame);

/* One step of a machine, and all that follows from it at once. What is in the
 * event is taken. */
void field_step(struct field *field, uint32_t index, struct event *event);

/* ---- waves.c: an exact stream ---- */

/* Open the stream, on the launched tree. Frames wait then. */
void waves_open(struct field *field);

/* Whether back-end `index` can send; let it. */
bool waves_can_send(const struct field *field, uint32_t index);
void waves_send(struct field *field, uint32_t index);

/* The front-end's application gets a packet, or news. */
void waves_take(struct field *field, const struct action *action);
void waves_tell(struct field *field, const struct action *action);

/* The check of a wave that has all back-ends. */
uint64_t waves_check(const struct field *field);

/* Nothing happens any more: what is wrong, or NULL. */
const char *waves_settled(const struct field *field);

/* Whether a record says that `rank` has failed. */
bool field_accuses(const struct frame *frame, uint32_t rank);

/* Say what is needed in the present state. */
void field_need(const struct field *field, struct field_need *need);

/* Whether it is an orphan that will call nobody any more: it has made all the
 * attempts that are searched. */
bool field_is_held(const struct field *field, uint32_t index);

/* How many more dials of `index` are searched. */
uint32_t field_dials_left(const struct field *field, uint32_t index);

/* What everybody needs of the table of `node`, by rank. */
void field_table_bits(const struct field_need *need,
                      const struct node *node,
                      uint32_t bits[FIELD_NODES]);

/* What of that a record brings to `node`, which knows `bits`, and is to know
 * that too then. Returns a number for it; 0: nothing. */
uint64_t field_news(const struct field_need *need,
                    const struct node *node,
                    const struct frame *frame,
                    uint32_t bits[FIELD_NODES]);

/* Whether an accusation of `rank` under this incarnation can come to anything.
 */
bool field_may_accuse(const struct field_need *need,
                      uint32_t rank,
                      uint32_t incarnation);

/* Whether an attempt has been given up, or has ended. */
bool field_is_lapsed(const struct field_need *need,
                     uint32_t orphan,
                     uint32_t incarnation);

/* Whether the lower end of `wire` has gone for good, and what its upper end
 * will say of that comes to nobody to whom it matters. */
bool field_is_dead(const struct field *field,
                   const struct field_need *need,
                   const struct field_wire *wire);

/* Whether it does not matter when the upper end of `wire` finds it down. */
bool field_is_needless_link(const struct field *field,
                            const struct field_need *need,
                            uint32_t wire);

/* Whether it does not matter when its parent is told that `index` is dead. */
bool field_is_needless_end(const struct field *field,
                           const struct field_need *need,
                           uint32_t index);

/* Whether it does not matter when, nor if, `frame` arrives at that end. */
bool field_is_needless(const struct field *field,
                       const struct field_need *need,
                       uint32_t wire,
                       uint32_t end,
                       const struct frame *frame);

/* The machine of `wire` at `end` and its peer there; NULL if it is closed. */
struct peer *field_peer(const struct field *field,
                        const struct field_wire *wire,
                        uint32_t end);

/* The wire that is the link `link` of node `index`, and at which end; NULL if
 * there is none. */
struct field_wire *field_find(struct field *field,
                              uint32_t index,
                              uint32_t link,
                              uint32_t *end);

/* Whether the node at that end can take what comes there. */
bool field_can_take(const struct field *field,
                    const struct field_wire *wire,
                    uint32_t end);

/* Look at one frame that `from` sends to `to` as an answer to `cause` (NULL:
 * it was no frame), and at the tree: is it right? Sets `field->wrong`. */
void field_judge_frame(struct field *field,
                       const struct field_wire *wire,
                       uint32_t end,
                       const struct frame *frame,
                       const struct frame *cause);
void field_judge_tree(struct field *field);
