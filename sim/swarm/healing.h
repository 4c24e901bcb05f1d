/* healing.h - checks how a tree heals, from outside.
 *
 * Promises: every orphan finds a parent; the result is a tree, not higher than
 * at launch unless adoptions overlapped; only killed nodes end or are given up.
 * The front-end's reports are true: a node reported lost is dead, each
 * suspicion is reported once and ends once, and a killed commnode is reported
 * lost once, within a bound. A drained host has no commnode in the end, unless one
 * has joined there by hand. If commnodes have joined, the tables agree. */
#pragma once

#include "sim/sim.h"

/* The last report of the front-end about a node. */
enum healing_news {
    HEALING_NO_NEWS,
    HEALING_SUSPECTED,
    HEALING_BACK,
    HEALING_LOST,
    HEALING_ADOPTED,
};

/* The records of one rank, and of one index. */
struct healing_node {
    enum healing_news news; /* by rank */
    uint32_t told_parent;   /* by rank: of its last adoption; 0: none */
    bool helper;            /* by rank: a commnode that was reported to join */
    bool announced;         /* by rank: ... by this front-end */
    bool lost_before;       /* by rank: reported lost by an earlier front-end */
    uint64_t dead_ms;       /* by index: when it was first seen dead */
    bool launched;          /* by index */
    bool left;              /* by index: by a leave step */
    bool orphan;            /* by index */
};

/* Caller's storage. */
struct healing {
    struct ranks torn; /* back-ends that lost a node or a link above them */
    struct healing_node *nodes;
    uint32_t room;      /* of `nodes`: ranks and indices are lower */
    uint64_t joined_ms; /* when a back-end last joined; 0: never */
    bool overlapped;    /* two nodes were orphans or movers at the same time, or
                        one was before all nodes knew of a join or a move
                        (PROTOCOL 8.5); or a
                        back-end has joined below a commnode that has joined */
    bool helped;        /* a commnode has joined */
    bool taken_over; /* a move may have been asked for by another front-end */
    bool moving;     /* a commnode was told to move, and has not reported */
    uint64_t moving_ms;   /* since when */
    uint64_t number;      /* of the last move */
    struct ranks drained; /* numbers of hosts, as in sim_config ... */
    struct ranks empty;   /* ... and those that were reported to be */
    uint32_t adoptions;
    uint32_t asked; /* moves that were begun ... */
    uint32_t moves; /* ... and those that were made */
    bool rose;      /* overlapping adoptions made the tree higher */
};

/* Start, for ranks and indices lower than `room`. */
void healing_init(struct healing *healing, uint32_t room);

/* Callbacks of a watcher, passed on. */
void healing_parted(struct healing *healing, struct sim *sim, uint32_t index);
void healing_told(struct healing *healing,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell);

/* The front-end tells a node to make move `number`, which may be the last one
 * again. */
void healing_moving(struct healing *healing, struct sim *sim, uint64_t number);

/* The front-end has crashed; its reports begin anew. */
void healing_taken_over(struct healing *healing, const struct sim *sim);

/* The front-end drains host `number`. */
void healing_drained(struct healing *healing, uint32_t number);

/* Fail the world if the death of a commnode was not reported in time. */
void healing_look(struct healing *healing, struct sim *sim);

/* What has not healed yet, as a text to be freed; NULL if all has. */
char *healing_lack(const struct healing *healing, const struct sim *sim);

/* All has healed: fail the world if a promise is broken. */
void healing_check(struct healing *healing, struct sim *sim);

/* Free the storage. */
void healing_fini(struct healing *healing);
