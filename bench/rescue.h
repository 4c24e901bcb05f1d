/* rescue.h - one victim with many children, and their adopters.
 *
 *              root                     victim: killed
 *      /    /    |         \            refuges: RESCUE_REFUGES further nodes
 *  victim refuge refuge ... refuge      orphans: the victim's children
 *  / | \
 * orphans
 *
 * The micro-benchmark of the dissertation's chapter 8: the time until the last
 * orphan has another parent, and the root knows it. There are two such trees,
 * Coppice and the bare one; the code that measures treats them alike. Functions
 * return 0, or a negative errno after a message on stderr. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "bench/sample.h"

#define RESCUE_REFUGES 16

/* The most children of the victim. */
#define RESCUE_ORPHANS_MAX 1024

/* It is an error if the tree has not recovered after this time. */
#define RESCUE_STUCK_MS 30000

/* Times in milliseconds. */
struct rescue_times {
    struct sample overall; /* one for each failure: from the kill to the arrival
                              of the last orphan's report at the root */
    struct sample orphan;  /* this and the next four have one for each orphan;
                              this one: from when it noticed to its report */
    struct sample choose;
    struct sample connect; /* includes authentication and the probe */
    struct sample compensate;
    struct sample cleanup;
    /* of an exact stream: one for each failure */
    struct sample resumed; /* from the kill until waves arrive again */
    struct sample trip;    /* a round trip before the kill */
    struct sample behind;  /* from `overall` to `resumed`, in trips */
};

struct rescue {
    /* Start a tree: returns when all stands, and works. On failure nothing is
     * left running. */
    int (*start)(void **tree, uint32_t orphans);

    /* Kill the victim, wait until every orphan has reported, and add the times
     * to `times`. Once for each tree. */
    int (*fail)(void *tree, struct rescue_times *times);

    /* Check that nothing is missing, end the tree and wait for all its
     * processes. NULL is fine. */
    int (*end)(void *tree);
};

extern const struct rescue rescue_ours;
extern const struct rescue rescue_exact; /* ours, with an exact stream */
extern const struct rescue rescue_bare;

/* Measure one failure in a new tree: a failure changes the tree. */
int rescue_measure(const struct rescue *rescue,
                   uint32_t orphans,
                   struct rescue_times *times);

/* Free the samples in `times`. */
void rescue_times_fini(struct rescue_times *times);

/* Wait also for the victim's children, which this process inherited as a
 * subreaper when the victim died. Returns 0 or -ETIMEDOUT. */
int rescue_reap(void);

/* ---- Coppice's trees: rescue_ours.c -------------------------------------- */

/* The topology file's text; NULL: out of memory. The caller frees it. */
char *rescue_topology(uint32_t orphans);

/* Find the process with that many children. Returns 0, or a negative errno
 * after a message. */
int rescue_victim(uint32_t orphans, pid_t *victim);

/* ---- the bare tree: from bare_rescue.c to rescue_bare.c ------------------ */

/* As many bytes as in Coppice's handshake (PROTOCOL 1.2): the caller's hello;
 * the other end's hello and proof; the caller's proof. */
#define RESCUE_HELLO_LEN  72
#define RESCUE_ANSWER_LEN 104
#define RESCUE_PROOF_LEN  32

/* The report that an orphan sends to the root, after its proof. */
struct rescue_report {
    uint32_t ordinal;
    uint32_t took_us; /* from when it noticed to now */
};
