/* healing.h - how a tree heals, watched from outside.
 *
 * Promises: whoever is orphaned finds a parent; what results is a tree, not
 * higher than at launch, unless adoptions overlapped; nobody ends or is given
 * up but those who were killed; and the front-end is told all this. */
#ifndef SIM_HEALING_H
#define SIM_HEALING_H

#include "sim/sim.h"

#define HEALING_NODES 64 /* ranks, late joiners included */

/* What the front-end was told last of a node. */
enum healing_news {
    HEALING_NO_NEWS,
    HEALING_LOST,
    HEALING_ADOPTED,
};

/* Caller's storage; all zero to begin. */
struct healing {
    struct ranks torn; /* back-ends that lost a node or a link above them */
    enum healing_news news[HEALING_NODES]; /* by rank */
    uint32_t told_parent[HEALING_NODES];   /* by rank */
    bool launched[HEALING_NODES];          /* by index */
    bool left[HEALING_NODES];              /* by index: by its own wish */
    bool orphan[HEALING_NODES];            /* by index */
    bool overlapped; /* two were orphans at the same time (PROTOCOL 8.5) */
    uint32_t adoptions;
};

/* What the world tells a watcher, handed on. */
void healing_parted(struct healing *healing, struct sim *sim, uint32_t index);
void healing_told(struct healing *healing,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell);

/* What is still to heal, to be freed; NULL if all is whole. */
char *healing_lack(const struct healing *healing, const struct sim *sim);

/* All is whole: fail the world if it is not as promised. */
void healing_check(const struct healing *healing, struct sim *sim);

/* Free the storage. */
void healing_fini(struct healing *healing);

#endif
