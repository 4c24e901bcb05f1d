/* recovery.h - how long an orphan's recovery takes, and the report of it
 * (PROTOCOL 6.7): private to the machine's own files. */
#ifndef PROTOCOL_HEAL_RECOVERY_H
#define PROTOCOL_HEAL_RECOVERY_H

#include "protocol/node.h"

struct peer;

enum recovery_phase {
    RECOVERY_NOT,
    RECOVERY_CHOOSE,
    RECOVERY_PAUSE,
    RECOVERY_CONNECT,
    RECOVERY_CLEAN_UP,
    RECOVERY_COMPENSATE
};

/* What an orphan tells the front-end when it is done (6.7). */
struct report {
    uint32_t incarnation;
    struct node_adoption adoption;
    uint64_t until_ms; /* it has come, or will never */
};

/* How our recovery goes on (6.7). */
struct recovery {
    bool asked;        /* for the clock, that this phase ends */
    uint64_t begin_us; /* the loss was noticed */
    uint64_t phase_us; /* this phase began */
    uint32_t lost_parent;
    struct cop_recovery spent;
    struct report *reports; /* ours, that may be lost yet */
    size_t report_count;
};

/* The parent `lost` is lost, as this step has noticed. One that is lost before
 * the recovery from another was done is part of that. */
void recovery_begin(struct node *node, uint32_t lost);

/* The search pauses, then starts again; a candidate is to be called. */
void recovery_pause(struct node *node);
void recovery_choose(struct node *node);
void recovery_dial(struct node *node);

/* A parent is found, and all is done that can be done at once. */
void recovery_adopted(struct node *node);
void recovery_cleaned(struct node *node);

/* EVENT_CLOCK came. */
void recovery_clock(struct node *node);

/* At the end of a step while we recover: see whether all states have gone up.
 */
void recovery_check(struct node *node);

/* This node was reported failed, and has refuted it (6.5). */
void recovery_refuted(struct node *node);

/* The way up has changed: reports may have been lost on it. */
void recovery_repeat(struct node *node);

/* RECOVERED came. `frame` is borrowed. */
int recovery_take(struct node *node,
                  const struct peer *peer,
                  const struct frame *frame);

/* Free what reports hold. */
void recovery_fini(struct node *node);

#endif
