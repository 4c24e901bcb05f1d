/* swarm.h - play one schedule in one world, and check the rules' promises.
 *
 * At first any fault of the schedule may happen. Then faults end, and the rest
 * must converge: every orphan is adopted, the tree is a tree, the front-end
 * knows, every stream is whole again. At last every node ends. The promises
 * until then are listed in traffic.h, healing.h and detection.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim.h"
#include "sim/swarm/schedule.h"
#include "sim/swarm/tally.h"

/* The most nodes of a tree: the sum of all answers must fit 32 bits. */
#define SWARM_NODES 4000

/* The result; free it by swarm_result_fini(). */
struct swarm_result {
    char *failure; /* NULL: all promises were kept */
    char *trace;   /* NULL unless requested */
    struct tally tally;
};

/* Run `schedule`; with `trace`, keep a trace. Returns 0, or -EIO if a promise
 * was broken. */
int swarm_run(const struct schedule *schedule,
              bool trace,
              struct swarm_result *out);

/* As swarm_run(), with `tamper` (sim.h) and its `arg`: whatever it breaks, an
 * oracle must notice. */
int swarm_run_tampered(const struct schedule *schedule,
                       sim_tamper_fn tamper,
                       void *arg,
                       struct swarm_result *out);

/* Free the texts. */
void swarm_result_fini(struct swarm_result *result);
