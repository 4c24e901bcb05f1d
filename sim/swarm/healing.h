/* healing.h - how a tree heals, watched from outside.
 *
 * Promises: every orphan finds a parent; the result is a tree, not higher than
 * at launch unless adoptions overlapped; only killed nodes end or are given up.
 * The front-end reports all this, truly: a node reported lost is dead, each
 * suspicion is reported once and ends once, and a killed commnode is reported
 * lost once, within a bound. */
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

/* What is known of one rank, and of one index. */
struct healing_node {
    enum healing_news news; /* by rank */
    uint32_t told_parent;   /* by rank: of its last adoption; 0: of none */
    uint64_t dead_ms;       /* by index: when it was first seen dead */
    bool launched;          /* by index */
    bool left;              /* by index: by its own wish */
    bool orphan;            /* by index */
};

/* Caller's storage. */
struct healing {
    struct ranks torn; /* back-ends that lost a node or a link above them */
    struct healing_node *nodes;
    uint32_t room;      /* of `nodes`: ranks and indices are lower */
    uint64_t joined_ms; /* the last time that somebody joined; 0: nobody has */
    bool overlapped; /* two were orphans at the same time, or one so soon after
                        a join that not everybody knew of that (PROTOCOL 8.5) */
    uint32_t adoptions;
    bool rose; /* overlapping adoptions have made the tree higher */
};

/* Begin, for ranks and indices lower than `room`. */
void healing_init(struct healing *healing, uint32_t room);

/* What the world tells a watcher, handed on. */
void healing_parted(struct healing *healing, struct sim *sim, uint32_t index);
void healing_told(struct healing *healing,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell);

/* Fail the world if a commnode that is dead for long was not told of. */
void healing_look(struct healing *healing, struct sim *sim);

/* What is still to heal, to be freed; NULL if all is whole. */
char *healing_lack(const struct healing *healing, const struct sim *sim);

/* All is whole: fail the world if it is not as promised. */
void healing_check(struct healing *healing, struct sim *sim);

/* Free the storage. */
void healing_fini(struct healing *healing);
