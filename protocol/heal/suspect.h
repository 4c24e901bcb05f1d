/* suspect.h - nodes that the front-end suspects or has declared lost
 * (PROTOCOL 6.8). Front-end only; private to the machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct ranks;

/* What the application was told about one node. */
struct told {
    uint32_t incarnation; /* of the node's last report (6.7); 0: none */
    bool suspected;       /* NODE_SUSPECTED was reported after it */
    bool lost;            /* a commnode that is lost for good ... */
    bool left;            /* ... because its host was drained (20.4) */
    bool pathless;        /* it is in the list of suspects */
};

/* An internal node without a path to the front-end. */
struct suspect {
    uint32_t rank;
    bool overdue;     /* it has had no path for failure_timeout */
    uint32_t round;   /* its round (6.9) */
    uint64_t gone_ms; /* when the round ended; UINT64_MAX: it has not */
    uint64_t since_ms;
    uint64_t knock_ms; /* when to try to connect to its address */
};

/* All suspects, and what the application was told (6.8). */
struct suspicion {
    struct suspect *list;
    size_t count;
    uint32_t knocked;
    uint64_t knock_end_ms; /* deadline of the attempt to connect to `knocked`;
                              0: no attempt is under way */
    struct told *told;     /* by rank */
    uint32_t told_count;
};

/* A record says that commnode `rank` has failed. It may still be refuted. */
void suspect_failed(struct node *node,
                    uint32_t rank,
                    uint32_t incarnation,
                    const char *text);

/* Commnode `rank` has ended for certain, or is given up: it is lost. `is_silent`:
 * its host has not answered. */
void suspect_certain(struct node *node,
                     uint32_t rank,
                     const char *text,
                     bool is_silent);

/* Whether commnode `rank` is lost for good. */
bool suspect_is_lost(const struct node *node, uint32_t rank);

/* Whether commnode `rank` has left its drained host. */
bool suspect_has_left(const struct node *node, uint32_t rank);

/* Front-end: whether any node that is not lost has no path. */
bool suspect_is_any(const struct node *node);

/* Front-end, at SHUTDOWN: the nodes without a path are astray (11.4). */
void suspect_astray(struct node *node);

/* Front-end: the end of `rank` is certain: it is not astray. */
void suspect_found(struct node *node, uint32_t rank);

/* Front-end: a shutdown begins. The starters of all suspects kill them, from now
 * on also those of nodes that are suspects for failure_timeout (11.4). */
void suspect_end(struct node *node);

/* The back-ends `ranks` have entered limbo; a branch covers them again. */
void suspect_limbo(struct node *node, const struct ranks *ranks);
void suspect_covered(struct node *node, const struct ranks *ranks);

/* The first record of commnode `rank`, which has joined, has come: tell the
 * application (19.2). */
void suspect_joined(struct node *node, uint32_t rank);

/* `rank` has sent a report (6.7). Returns whether it is news. If it is, call
 * one of the two below: the node has refuted its failure, or was adopted. */
bool suspect_reported(struct node *node, uint32_t rank, uint32_t incarnation);
void suspect_refuted(struct node *node, uint32_t rank);
void suspect_adopted(struct node *node, uint32_t rank);

/* Node `rank` asks to be adopted: its time as a suspect starts again. */
void suspect_heard(struct node *node, uint32_t rank);

/* A record of `rank` was applied. `failed`: it says FAILED. If `rank` is a
 * suspect, its time starts again. */
void suspect_recorded(struct node *node, uint32_t rank, bool failed);

/* All internal nodes that have a path have seen `round` (6.9). */
void suspect_seen(struct node *node, uint32_t round);

/* The nodes know of higher rounds than this front-end has begun: the rounds of
 * all suspects begin again, above these (23.11). */
void suspect_renumber(struct node *node);

/* The table has changed: find out which internal nodes have no path. */
void suspect_update(struct node *node);

/* The attempt to connect to `rank` has ended. `refused`: its host refused the
 * connection. */
void suspect_answered(struct node *node, uint32_t rank, bool refused);

/* Declare overdue suspects lost, and try to connect to the others; the time
 * when the next of these is due. */
void suspect_tick(struct node *node);
uint64_t suspect_deadline_ms(const struct node *node);

/* Free the suspects. */
void suspect_fini(struct node *node);
