/* past.h - what a report of the present knows of the samples before it. */
#pragma once

#include "stat/show/report.h"
#include "stat/tree/window.h"

/* A zeroed one knows nothing. */
struct past {
    struct tree *tree;
    struct report *report; /* of `tree`; NULL: nothing is known */
};

/* Find what `window` knows, for a report that is made with `source`. Returns 0
 * or -ENOMEM. */
int past_init(struct past *past,
              const struct window *window,
              const struct report_source *source);

/* Free what `past` holds. */
void past_fini(struct past *past);
