/* rescue.h - one victim with many children, and their adopters.
 *
 *              root                     victim: killed
 *      /    /    |         \            refuges: RESCUE_REFUGES further nodes
 *  victim refuge refuge ... refuge      orphans: the victim's children
 *  / | \
 * orphans
 *
 * The micro-benchmark of the dissertation's chapter 8: how long until the last
 * orphan has another parent, and the root knows. There are two such trees,
 * Coppice and the bare one; the code that measures treats them alike.
 * Functions return 0 or a negative errno, and have then said why on stderr. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "bench/sample.h"

#define RESCUE_REFUGES 16

/* The most children of the victim. */
#define RESCUE_ORPHANS_MAX 1024

/* A failure from which the tree has not recovered by then is an error. */
#define RESCUE_STUCK_MS 30000

/* Figures in milliseconds. */
struct rescue_times {
    struct sample overall; /* one for each failure: from the kill until the
                              last orphan's report is at the root */
    struct sample orphan;  /* the others one for each orphan: from when it
                              noticed until its report leaves */
    struct sample choose;
    struct sample connect; /* with authentication, and probe */
    struct sample compensate;
    struct sample cleanup;
    /* of an exact stream, one for each failure */
    struct sample resumed; /* from the kill until waves come again */
    struct sample trip;    /* a round trip before */
    struct sample behind;  /* from `overall` until `resumed`, in trips */
};

struct rescue {
    /* Start a tree: returns when all stands, and works. On failure nothing is
     * left running. */
    int (*start)(void **tree, uint32_t orphans);

    /* Kill the victim; wait until every orphan has reported; add to `times`
     * what it took. Once for each tree. */
    int (*fail)(void *tree, struct rescue_times *times);

    /* See whether all is there that should be, end the tree and wait for all
     * of it. NULL is fine. */
    int (*end)(void *tree);
};

extern const struct rescue rescue_ours;
extern const struct rescue rescue_exact; /* ours, with an exact stream */
extern const struct rescue rescue_bare;

/* One failure in a tree of its own: after it, a tree is another one. */
int rescue_measure(const struct rescue *rescue,
                   uint32_t orphans,
                   struct rescue_times *times);

/* Free what `times` holds. */
void rescue_times_fini(struct rescue_times *times);

/* Wait for the victim's children too, which are ours since it died, as we are a
 * subreaper. Returns 0 or -ETIMEDOUT. */
int rescue_reap(void);

/* ---- Coppice's trees: rescue_ours.c -------------------------------------- */

/* The topology file's text; NULL: out of memory. The caller frees it. */
char *rescue_topology(uint32_t orphans);

/* Find the process that has so many children. Returns 0 or a negative errno,
 * said. */
int rescue_victim(uint32_t orphans, pid_t *victim);

/* ---- the bare tree: from bare_rescue.c to rescue_bare.c ------------------ */

/* As many bytes as Coppice's handshake has (PROTOCOL 1.2): the caller's hello;
 * the other one's hello and proof; the caller's proof. */
#define RESCUE_HELLO_LEN  72
#define RESCUE_ANSWER_LEN 104
#define RESCUE_PROOF_LEN  32

/* What an orphan sends behind its proof, for the root. */
struct rescue_report {
    uint32_t ordinal;
    uint32_t took_us; /* from when it noticed until now */
};
