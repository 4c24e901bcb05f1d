/* failure.h - one injected failure, and the recoveries that follow. */
#pragma once

#include <coppice/status.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

/* The failure to inject. */
struct failure_plan {
    const char *session;
    enum cop_injection kind;
    uint32_t rank;      /* the victim; COP_RANK_NONE: a random commnode */
    uint32_t freeze_ms; /* for COP_INJECT_FREEZE */
    uint32_t wait_ms;   /* how long to wait for the reports */
    uint64_t *random;   /* state of the random numbers */
    const volatile sig_atomic_t *stop; /* not 0: stop waiting */
};

/* An injected failure. */
struct failure {
    time_t at;
    enum cop_injection kind;
    uint32_t rank; /* of the victim */
    char *host;
    uint32_t *orphans;   /* ranks of the nodes that must report */
    uint32_t *adoptions; /* how often each of them was adopted before */
    size_t orphan_count;
    struct cop_recovered *reports; /* the reports that arrived */
    size_t report_count;
};

/* "kill", "freeze" or "cut". */
const char *failure_kind(enum cop_injection kind);

/* Choose a victim, inject the failure, and collect the orphans' reports. Blocks
 * until all have arrived, or `wait_ms` have passed. `begun`, if not NULL, is
 * called after the injection, when `out->orphans` is known.
 *
 * out  the caller's to failure_fini(), also on error
 *
 * Returns 0, or a negative errno with a sentence: -ENOENT if the node does not
 * exist or is not up, or no commnode is left; or as cop_status_read(). */
int failure_cause(struct failure *out,
                  const struct failure_plan *plan,
                  void (*begun)(const struct failure *failure, void *arg),
                  void *arg,
                  struct cop_error *error);

/* Free the contents. */
void failure_fini(struct failure *failure);

/* Write the median and maximum of each part of the recoveries in `reports`.
 * Returns 0 or -ENOMEM. */
int failure_breakdown(const struct cop_recovered *reports,
                      size_t count,
                      FILE *file);
