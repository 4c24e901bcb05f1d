/* complete.h - completes samples: tasks without an answer, and names. */
#pragma once

#include "stat/gather/gathering.h"

/* Add missing tasks, which are reported to `say_fn`, and names to `*tree`.
 * Returns 0 or a negative errno. */
int complete_tree(struct gathering *gathering,
                  struct tree **tree,
                  gather_say_fn say_fn);

/* Free what complete_tree() keeps for the next tree. */
void known_fini(struct known *known);

/* Ask for the names in `tree`, unless earlier names are still missing. They are
 * then known even if a daemon dies before the end. Returns 0 or a negative
 * errno. */
int complete_ahead(struct gathering *gathering, const struct tree *tree);
