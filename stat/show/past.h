/* past.h - the earlier samples, for a report on the present. */
#pragma once

#include "stat/show/report.h"
#include "stat/tree/window.h"

/* All zero: no earlier samples. */
struct past {
    struct tree *tree;
    struct report *report; /* of `tree`; NULL: no earlier samples */
};

/* Make a report of the samples in `window`, for a report with `source`. Returns
 * 0 or -ENOMEM. */
int past_init(struct past *past,
              const struct window *window,
              const struct report_source *source);

/* Free what `past` holds. */
void past_fini(struct past *past);
