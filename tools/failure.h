/* failure.h - one failure that is caused on purpose, and what came of it. */
#ifndef TOOLS_FAILURE_H
#define TOOLS_FAILURE_H

#include <coppice/status.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

/* What is to be done to whom. */
struct failure_plan {
    const char *session;
    enum cop_injection kind;
    uint32_t rank;      /* COP_RANK_NONE: a commnode, by chance */
    uint32_t freeze_ms; /* for COP_INJECT_FREEZE */
    uint32_t wait_ms;   /* for the reports */
    uint64_t *random;   /* state of the chance */
    const volatile sig_atomic_t *stop; /* not 0: do not wait any more */
};

/* One of them. */
struct failure {
    time_t at;
    enum cop_injection kind;
    uint32_t rank;
    char *host;
    uint32_t *orphans;   /* who was expected to report, by rank */
    uint32_t *adoptions; /* how many each of them had had before */
    size_t orphan_count;
    struct cop_recovered *reports; /* those who did */
    size_t report_count;
};

/* "kill", "freeze" or "cut". */
const char *failure_kind(enum cop_injection kind);

/* Choose a victim, break it, and collect its orphans' reports; `begun`, if not
 * NULL, is called in between, when it is known who is to report.
 *
 * out  the caller's to failure_fini(), also on error
 *
 * Returns 0, or a negative errno with a sentence: -ENOENT if there is no such
 * live node, or no commnode any more; or as cop_status_read(). */
int failure_cause(struct failure *out,
                  const struct failure_plan *plan,
                  void (*begun)(const struct failure *failure, void *arg),
                  void *arg,
                  struct cop_error *error);

/* Free what it holds. */
void failure_fini(struct failure *failure);

/* Write the parts of the recoveries in `reports`: median and maximum of each.
 * Returns 0 or -ENOMEM. */
int failure_breakdown(const struct cop_recovered *reports,
                      size_t count,
                      FILE *file);

#endif
