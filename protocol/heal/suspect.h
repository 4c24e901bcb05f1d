/* suspect.h - what the front-end suspects to be lost, and what is
 * (PROTOCOL 6.8).
 *
 * Part of state.h: private to the machine's own files. */
#ifndef PROTOCOL_HEAL_SUSPECT_H
#define PROTOCOL_HEAL_SUSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct ranks;

/* What the front-end's application was told of one node. */
struct told {
    uint32_t incarnation; /* of its last report (6.7); 0: of none */
    bool suspected;       /* since then, that it may be lost */
    bool lost;            /* for good; a commnode */
    bool pathless;        /* it is among the suspects */
};

/* An internal node that has no path to the front-end. */
struct suspect {
    uint32_t rank;
    bool overdue; /* for failure_timeout */
    uint64_t since_ms;
    uint64_t knock_ms; /* when to knock at its address */
};

/* What the front-end suspects, and has said of it (6.8). */
struct suspicion {
    struct suspect *list;
    size_t count;
    bool stale; /* the table has changed, or one is lost */
    uint32_t knocked;
    uint64_t knock_end_ms; /* the answer is waited for until then; 0: none is */
    struct told *told;     /* by rank */
    uint32_t told_count;
};

/* There is a record that commnode `rank` has failed; it may be refuted. */
void suspect_failed(struct node *node,
                    uint32_t rank,
                    uint32_t incarnation,
                    const char *text);

/* The end of commnode `rank` is certain, or it is given up: it is lost. */
void suspect_certain(struct node *node, uint32_t rank, const char *text);
bool suspect_is_lost(const struct node *node, uint32_t rank);

/* Back-ends are in limbo now; a branch covers these, which were. */
void suspect_limbo(struct node *node, const struct ranks *ranks);
void suspect_covered(struct node *node, const struct ranks *ranks);

/* A report has come (6.7). Whether it is news. If so: the node has refuted its
 * failure, or was adopted. */
bool suspect_reported(struct node *node, uint32_t rank, uint32_t incarnation);
void suspect_refuted(struct node *node, uint32_t rank);
void suspect_adopted(struct node *node, uint32_t rank);

/* `rank` asks to be adopted: it lives. */
void suspect_heard(struct node *node, uint32_t rank);

/* See which internal nodes have a path, as the table has changed. */
void suspect_update(struct node *node);

/* The node that was called has answered, or its host has refused the
 * connection. */
void suspect_answered(struct node *node, uint32_t rank, bool refused);

/* What is due by now; and when something is. */
void suspect_tick(struct node *node);
uint64_t suspect_deadline_ms(const struct node *node);

/* Free what it holds. */
void suspect_fini(struct node *node);

#endif
