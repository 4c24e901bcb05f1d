/* swarm.h - one schedule, one world, held against what the rules promise.
 *
 * First anything that the schedule has may fail; then faults end, and the rest
 * must converge: every orphan adopted, the tree a tree, the front-end told,
 * every stream whole again; and then every node ends. What is promised on the
 * way, traffic.h, healing.h and detection.h say. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim.h"
#include "sim/swarm/schedule.h"
#include "sim/swarm/tally.h"

/* The most nodes of a tree: the answers of all must add up in 32 bits. */
#define SWARM_NODES 4000

/* What came of it; the texts are to be freed. */
struct swarm_result {
    char *failure; /* NULL: all promises were kept */
    char *trace;   /* NULL unless asked for */
    struct tally tally;
};

/* Run `schedule`; with `trace`, keep what happens. Returns 0, or -EIO if a
 * promise was broken. */
int swarm_run(const struct schedule *schedule,
              bool trace,
              struct swarm_result *out);

/* The same, but for what `tamper` makes of it (sim.h): whatever that breaks,
 * some oracle must notice. `arg` is its own. */
int swarm_run_tampered(const struct schedule *schedule,
                       sim_tamper_fn tamper,
                       void *arg,
                       struct swarm_result *out);

/* Free the texts. */
void swarm_result_fini(struct swarm_result *result);
