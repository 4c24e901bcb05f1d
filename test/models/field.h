/* field.h - a few real machines, the wires between them, and their moves.
 *
 * The simulator draws events at random; here they are a list. field_moves()
 * lists all moves that are possible next, field_move() makes one. There is no
 * common clock: a frame may take any time, a timer may expire whenever the
 * machine has it running, a stopped node is silent until another node notices.
 * Everything lies in the arena (arena.h). */
#pragma once

#include <stdio.h>

#include "protocol/state.h"

#define FIELD_NODES 12
#define FIELD_WIRES 16
#define FIELD_QUEUE 16
#define FIELD_MOVES 256
#define FIELD_WAVES 4

/* A rule of doc/protocol.md to leave out, which the search must notice. */
enum field_rule {
    FIELD_ALL_RULES,
    FIELD_NO_FAIL,  /* 8.3: the orphan itself, or another orphan, answers OK */
    FIELD_NO_LOSS,  /* 8.3: only a node that loses its parent does */
    FIELD_NO_PROBE, /* 8.3: a candidate with a parent adopts at once */
    FIELD_PASSES,   /* 18.2: a mover passes probes on, and adopts */
    FIELD_ADOPTS,   /* 18.2: a mover adopts */
    FIELD_DEAF,     /* liveness: an orphan does not learn that it was adopted */
    FIELD_NO_REDO,  /* 16.7, liveness: no wave is sent again */
    FIELD_NO_CHECK  /* 16.3: commnodes send the check of all members */
};

/* The bounds of a search. */
struct field_bounds {
    uint32_t internal_count;       /* the front-end and the commnodes */
    uint32_t parents[FIELD_NODES]; /* of each except the front-end */
    uint32_t faults;               /* crashes, breaks and stops together */
    uint32_t attempts;             /* of each node, in its life */
    uint32_t moves; /* planned moves, of commnodes; each is an attempt */
    bool overlap;   /* several moves at once; else one in the network */
    bool any;       /* an orphan may ask any internal node, at any height */
    bool leaves;    /* back-ends may be orphans; else they are inert */
    bool stops;     /* stops are among the faults; always without waves */
    bool twins;     /* the last internal node has one more back-end */
    bool bushy;     /* a back-end below each commnode, not only the lowest */
    bool late;      /* faults come when noticed; last records in one order */
    bool needed;    /* a state is only what can still matter */
    bool orderly;   /* everything that a closing node sent is read; else any
                    part */
    uint32_t
        waves; /* the packets of each back-end on a stream of whole waves; 0: no
                       stream. With waves, stream frames arrive in any order,
                       those of an adoption at once */
    enum field_rule without;
};

enum field_kind {
    FIELD_DELIVER, /* wire, end: the next frame arrives there */
    FIELD_DOWN,    /* wire, end: finds the link ended, the rest is lost */
    FIELD_CONNECT, /* node, other: its dial succeeds */
    FIELD_REFUSED, /* node, other: no listener */
    FIELD_EXPIRE,  /* node: its attempt or its pause times out */
    FIELD_SILENCE, /* wire, end: that end has heard nothing for too long */
    FIELD_GONE,    /* node, other: is told of its child's end */
    FIELD_RESUME,  /* node: a stopped node continues */
    FIELD_SEND,    /* node: a back-end sends its next packet */
    FIELD_PLAN,    /* node, other: the node is to move below the other */
    FIELD_CRASH,   /* node; faults from here on */
    FIELD_BREAK,   /* wire: both nodes live, and will find it ended */
    FIELD_STOP,    /* node */
};

struct field_move {
    enum field_kind kind;
    uint32_t node; /* or the end of the wire: 0 lower, 1 upper */
    uint32_t other;
    uint32_t wire;
    enum field_kind fault; /* just before the move; FIELD_DELIVER: none */
    uint32_t victim;       /* of the fault: a node or a wire */
    bool resume;           /* after FIELD_SILENCE: the silent node continues */
};

struct field_queue {
    uint32_t count;
    struct frame frames[FIELD_QUEUE];
};

/* One connection. End 0 is the lower one, which dialled. */
struct field_wire {
    bool used;
    bool ended;   /* closed, cut or its other end dead */
    bool cut;     /* not by a close: frames in flight may be lost */
    bool open[2]; /* the machine at that end has the link open */
    uint32_t node[2];
    uint32_t link[2];
    struct field_queue in[2]; /* towards that end */
    uint32_t height;          /* from its ADOPT */
    uint32_t incarnation;
    bool last_resort;
};

struct field_node {
    struct node *machine; /* NULL: crashed */
    bool inert;           /* a back-end that receives nothing: not `leaves` */
    bool stopped;
    bool gone_due; /* its starter has not been told of its end yet */
    bool dialling;
    uint32_t parent; /* the node that started it */
    uint32_t target;
    uint32_t attempts;
    uint64_t clock_ms;
    uint32_t sent;    /* packets on the stream of whole waves */
    uint32_t loading; /* a stream whose filters it must load; 0: none */
    uint64_t taken;   /* bits: incarnations under which it was adopted */
};

/* The number of answers in enum adoption_answer. */
#define FIELD_ANSWERS (ADOPTION_EXPELLED + 1)

struct field {
    struct field_bounds bounds;
    uint32_t node_count;
    uint32_t faults;   /* made so far */
    uint32_t moves;    /* begun so far */
    bool flat;         /* a star, with a smaller state: search.md */
    bool settling;     /* no more faults; any number of attempts */
    const char *wrong; /* a violated oracle, or NULL */
    bool switched;     /* in this step a node has changed its parent */
    uint32_t answer;   /* given by the last move; 0: none */
    uint32_t stream;   /* the stream of whole waves; 0: none */
    uint32_t redos;    /* of that stream, so far */
    uint32_t whole[FIELD_WAVES]; /* by wave: ranks whose packet was delivered */
    struct field_node nodes[FIELD_NODES];
    struct field_wire wires[FIELD_WIRES];
};

/* The part of the nodes' knowledge that can still matter (need.c). */
struct field_need {
    bool all;                      /* everything; the other fields are unused */
    bool table[FIELD_NODES];       /* the whole table of this node */
    bool wires[2 * FIELD_WIRES];   /* all records to that end of a wire */
    uint32_t life[FIELD_NODES];    /* older accusations have no effect */
    uint32_t attempt[FIELD_NODES]; /* in progress, or none */
    bool any;                      /* no choice reads a table */
    bool fresh[FIELD_NODES];       /* a child may lose it */
    bool lags[FIELD_NODES];        /* its parent knows an older incarnation */
};

/* Make and launch the tree of `bounds`: real machines and frames in the arena,
 * which is emptied. The field is valid until the next one is made. */
struct field *field_new(const struct field_bounds *bounds);

/* List the possible moves, faults last; at most FIELD_MOVES. Returns their
 * number. `faults_at` gets the index of the first fault. */
uint32_t field_moves(const struct field *field,
                     struct field_move *moves,
                     uint32_t *faults_at);

/* Whether no fault is left, every live node has a parent, no link has ended,
 * and nothing that matters to an adoption is in flight, except records. */
bool field_is_calm(const struct field *field);

/* Make `move`, and then everything that leaves no choice: frames that carry
 * nothing of an adoption arrive, and so do records that are no news. */
void field_move(struct field *field, const struct field_move *move);

/* Print `move` in a few words. */
void field_print(const struct field *field,
                 const struct field_move *move,
                 FILE *out);

/* Without more faults, let stopped nodes continue, all frames arrive and all
 * timers expire, until nothing changes. Returns NULL if every live node is then
 * attached to the front-end, or else what is wrong. */
const char *field_settle(struct field *field);

/* Print the present tree, for a violated oracle. */
void field_show(const struct field *field, FILE *out);

/* The digest of everything that can still matter (search.md). */
uint64_t field_digest(struct field *field);

/* The digest of the tree only: live nodes, parents, and how often each node was
 * adopted. */
uint64_t field_tree_digest(const struct field *field);

/* Whether the time at which a frame arrives is not searched: the frame only
 * changes the state of streams, which no adoption reads. With a stream of whole
 * waves: whether the frame is one of an adoption. */
bool field_is_aside(const struct field *field, const struct frame *frame);

/* Step the machine `index` with `event`, and perform its actions. The contents
 * of the event are taken. */
void field_step(struct field *field, uint32_t index, struct event *event);

/* ---- waves.c: a stream of whole waves ---- */

/* Open the stream on the launched tree. Its frames wait in the queues. */
void field_waves_open(struct field *field);

/* Whether back-end `index` can send; and let it send. */
bool field_waves_can_send(const struct field *field, uint32_t index);
void field_waves_send(struct field *field, uint32_t index);

/* Take a packet or news for the front-end's application. */
void field_waves_take(struct field *field, const struct action *action);
void field_waves_tell(struct field *field, const struct action *action);

/* The check of a wave of all back-ends. */
uint64_t field_waves_check(const struct field *field);

/* With no event left: returns what is wrong, or NULL. */
const char *field_waves_settled(const struct field *field);

/* Whether a record says that `rank` has failed. */
bool field_accuses(const struct frame *frame, uint32_t rank);

/* Find what is needed in the present state. */
void field_need(const struct field *field, struct field_need *need);

/* Whether `index` is an orphan that makes no more dials: it has made all
 * attempts that are searched. */
bool field_is_held(const struct field *field, uint32_t index);

/* How many more dials of `index` are searched. */
uint32_t field_dials_left(const struct field *field, uint32_t index);

/* The bits per rank that other nodes need of the table of `node`. */
void field_table_bits(const struct field_need *need,
                      const struct node *node,
                      uint32_t bits[FIELD_NODES]);

/* The bits that a record adds for `node`, whose table has `bits`; adds them to
 * `bits`. Returns a digest of them; 0: none. */
uint64_t field_news(const struct field_need *need,
                    const struct node *node,
                    const struct frame *frame,
                    uint32_t bits[FIELD_NODES]);

/* Whether an accusation of `rank` under this incarnation can have an effect. */
bool field_may_accuse(const struct field_need *need,
                      uint32_t rank,
                      uint32_t incarnation);

/* Whether an attempt was given up, or has ended. */
bool field_is_lapsed(const struct field_need *need,
                     uint32_t orphan,
                     uint32_t incarnation);

/* Whether the lower end of `wire` is gone for good, and the upper end's reports
 * of that reach no node to which they matter. */
bool field_is_dead(const struct field *field,
                   const struct field_need *need,
                   const struct field_wire *wire);

/* Whether it has no effect when the upper end of `wire` finds it down. */
bool field_is_needless_link(const struct field *field,
                            const struct field_need *need,
                            uint32_t wire);

/* Whether it has no effect when its parent is told of the end of `index`. */
bool field_is_needless_end(const struct field *field,
                           const struct field_need *need,
                           uint32_t index);

/* Whether it has no effect when, or if, `frame` arrives at that end. */
bool field_is_needless(const struct field *field,
                       const struct field_need *need,
                       uint32_t wire,
                       uint32_t end,
                       const struct frame *frame);

/* The peer of `wire` in the machine at `end`; NULL if the link is closed. */
struct peer *field_peer(const struct field *field,
                        const struct field_wire *wire,
                        uint32_t end);

/* The wire of link `link` of node `index`; `*end` gets that node's end. NULL if
 * there is none. */
struct field_wire *field_find(struct field *field,
                              uint32_t index,
                              uint32_t link,
                              uint32_t *end);

/* Whether the node at that end can receive frames. */
bool field_can_take(const struct field *field,
                    const struct field_wire *wire,
                    uint32_t end);

/* Check a frame from the node at `end`, sent in response to `cause` (NULL: to
 * no frame); check the tree. An error sets `field->wrong`. */
void field_judge_frame(struct field *field,
                       const struct field_wire *wire,
                       uint32_t end,
                       const struct frame *frame,
                       const struct frame *cause);
void field_judge_tree(struct field *field);
