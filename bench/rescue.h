/* rescue.h - one victim with many children, and their adopters.
 *
 *              root                     victim: killed
 *      /    /    |         \            refuges: RESCUE_REFUGES further nodes
 *  victim refuge refuge ... refuge      orphans: the victim's children
 *  / | \
 * orphans
 *
 * The micro-benchmark of the dissertation's chapter 8: the time until the last
 * orphan has another parent, and the root knows it. death.c measures such a
 * tree of Coppice; here is also the bare one. Functions return 0, or a negative
 * errno after a message on stderr. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "bench/sample.h"

#define RESCUE_REFUGES 16

/* The most children of the victim. */
#define RESCUE_ORPHANS_MAX 1024

/* It is an error if the tree has not recovered after this time. */
#define RESCUE_STUCK_MS 30000

/* Wait for all children, also for the victim's, which this process inherited as
 * a subreaper when the victim died. Returns 0 or -ETIMEDOUT. */
int rescue_reap(void);

/* The topology file's text; NULL: out of memory. The caller frees it. */
char *rescue_topology(uint32_t orphans);

/* Find the process with that many children. Returns 0, or a negative errno
 * after a message. */
int rescue_victim(uint32_t orphans, pid_t *victim);

/* ---- the bare tree: from bare_rescue.c to rescue_bare.c ------------------ */

/* Start a bare tree, kill its victim, and end it. Adds to `overall` the ms from
 * the kill to the arrival of the last orphan's report at the root, and to
 * `orphan`, for each, those from when it noticed to its report. */
int rescue_bare(uint32_t orphans,
                struct sample *overall,
                struct sample *orphan);

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
