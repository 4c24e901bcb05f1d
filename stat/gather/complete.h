/* complete.h - what samples lack: tasks without an answer, and names. */
#pragma once

#include "stat/gather/gathering.h"

/* Add the missing tasks, which are reported to `say_fn`, and names to `*tree`.
 * Returns 0 or a negative errno. */
int complete_tree(struct gathering *gathering,
                  struct tree **tree,
                  gather_say_fn say_fn);

/* Free what complete_tree() keeps for the next time. */
void known_fini(struct known *known);

/* Ask for the names of what `tree` has, if all that were asked for before are
 * there: so that they are known if a daemon dies before the end. Returns 0 or a
 * negative errno. */
int complete_ahead(struct gathering *gathering, const struct tree *tree);
