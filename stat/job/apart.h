/* apart.h - a search that does not block its caller. */
#pragma once

#include "stat/job/targets.h"

/* Add what is found to `targets`. Returns 0 or more, or a negative errno with a
 * sentence. */
typedef int (*apart_fn)(struct targets *targets,
                        void *arg,
                        struct cop_error *error);

/* Call `fn` in a process of its own, and again if that gets stuck (aside.h); at
 * once in a process that is watched itself. Returns as `fn`. */
int apart_search(struct targets *targets,
                 apart_fn fn,
                 void *arg,
                 struct cop_error *error);
