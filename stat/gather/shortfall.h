/* shortfall.h - which tasks an answer lacks, and why. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/error.h>

#include "stat/gather/daemons.h"
#include "stat/job/targets.h"
#include "stat/tree/tasks.h"
#include "stat/tree/tree.h"

/* What was asked for. */
struct shortfall_wanted {
    const struct targets *targets;
    const struct daemons *daemons;
    uint32_t samples;      /* of each task, at least; 0: none came of all */
    bool open_ended;       /* more were to come */
    uint32_t timeout_ms;   /* for how long answers were waited for; 0: not so */
    bool answered;         /* all daemons that live have sent all they have */
    struct cop_error late; /* why the answer may not be whole; "" if it is */
};

/* Find what `*tree` lacks. Tasks that are not in it are put into it as not
 * walked, with their host and the reason; of others that were not seen up to
 * the last sample `say` is told, by daemon. If there are any of either kind,
 * `wanted->late` sums up.
 *
 * silent   the tasks whose daemons are not to be asked any more; the caller's
 *
 * Returns 0 or -ENOMEM. */
int shortfall_find(struct tree **tree,
                   struct tasks **silent,
                   struct shortfall_wanted *wanted,
                   void (*say)(const char *line));
