/* shortfall.h - which tasks are missing in an answer, and why. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/error.h>

#include "stat/gather/daemons.h"
#include "stat/job/targets.h"
#include "stat/tree/tasks.h"
#include "stat/tree/tree.h"

/* What was requested. */
struct shortfall_wanted {
    const struct targets *targets;
    const struct daemons *daemons;
    uint32_t samples;      /* that each task must have; 0: there were none */
    bool open_ended;       /* more samples were to come */
    uint32_t timeout_ms;   /* how long answers were waited for; 0: not set */
    bool answered;         /* all live daemons have sent everything */
    struct cop_error late; /* why the answer may be incomplete; "": complete */
};

/* Find the missing tasks of `*tree`. Tasks not in it are added as not walked,
 * with their host and the reason. Tasks that were not seen up to the last
 * sample are reported to `say`, by daemon. If there are any of either kind,
 * `wanted->late` becomes a summary.
 *
 * silent   the tasks whose daemons must not be asked again; the caller's
 *
 * Returns 0 or -ENOMEM. */
int shortfall_find(struct tree **tree,
                   struct tasks **silent,
                   struct shortfall_wanted *wanted,
                   void (*say)(const char *line));
