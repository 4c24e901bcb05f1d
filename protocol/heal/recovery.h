/* recovery.h - the parts of an orphan's recovery, their durations, and the
 * report to the front-end (PROTOCOL 6.7). Private to the machine. */
#pragma once

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

/* An orphan's report after its recovery (6.7). */
struct report {
    uint32_t incarnation;
    uint64_t move; /* the number of the last move (18.1); 0: none */
    struct node_adoption adoption;
    uint64_t until_ms; /* repeated until then */
};

/* This node's own recovery (6.7). Its phase is node->recovering. */
struct recovery {
    bool asked;        /* ACTION_CLOCK is pending: its answer ends this phase */
    uint64_t begin_us; /* when the loss was noticed */
    uint64_t phase_us; /* when this phase began */
    uint32_t lost_parent;
    struct cop_recovery spent;
    struct report *reports; /* sent, but may have been lost on the way up */
    size_t report_count;
};

/* This node has just lost its parent `lost`. A loss during a recovery becomes a
 * part of that recovery. */
void recovery_begin(struct node *node, uint32_t lost);

/* End this phase and begin `phase`: RECOVERY_PAUSE, RECOVERY_CHOOSE after a
 * pause, or RECOVERY_CLEAN_UP when a candidate has adopted this node. */
void recovery_enter(struct node *node, enum recovery_phase phase);

/* This orphan dials a candidate. */
void recovery_dial(struct node *node);

/* This node has sent its new parent everything that is due at once. */
void recovery_cleaned(struct node *node);

/* Handle EVENT_CLOCK. */
void recovery_clock(struct node *node);

/* Ask for the clock once all filter states have been sent up. Called at the end
 * of each step during a recovery. */
void recovery_check(struct node *node);

/* This node was reported failed and has refuted that (6.5): report it. */
void recovery_refuted(struct node *node);

/* The path to the front-end has changed: repeat the reports, and call
 * record_repeat(). */
void recovery_repeat(struct node *node);

/* Handle RECOVERED. `frame` is borrowed. Returns 0, or errors of intake.c. */
int recovery_take(struct node *node,
                  const struct peer *peer,
                  const struct frame *frame);

/* Free the reports. */
void recovery_fini(struct node *node);
