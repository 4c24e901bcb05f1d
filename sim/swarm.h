/* swarm.h - one seed, one world: a random tree with random streams, traffic
 * and faults, held against what the rules promise.
 *
 * Promises: when nobody dies, every wave's value and contributors are exact;
 * whoever lives gets every packet once, in order, and what it sent before a
 * sync is in when the sync returns; no node holds more than its credit;
 * nothing sticks; at the end every node ends. */
#ifndef SIM_SWARM_H
#define SIM_SWARM_H

#include <stdbool.h>
#include <stdint.h>

struct swarm_options {
    const char *tree; /* as in tree.h; NULL: drawn */
    bool trace;       /* keep the whole trace */
};

/* What came of it; the texts are to be freed. */
struct swarm_result {
    char *tree;
    char *failure; /* NULL: all promises were kept */
    char *trace;   /* NULL unless asked for */
    uint64_t virtual_ms;
};

/* Run `seed`. Returns 0, or -EIO if a promise was broken. */
int swarm_run(uint64_t seed,
              const struct swarm_options *options,
              struct swarm_result *out);

/* Free the texts. */
void swarm_result_fini(struct swarm_result *result);

#endif
