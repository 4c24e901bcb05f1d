/* dot.h - a merged tree for Graphviz. */
#ifndef STAT_DOT_H
#define STAT_DOT_H

#include <stdio.h>

#include "stat/classes.h"
#include "stat/tree.h"

/* Write `tree` to `file` as a graph that plain `dot -Tsvg` renders: a node for
 * each frame, on each edge how many tasks take it and which, one colour for
 * each of `classes`. Returns 0, -EIO if writing fails, or -ENOMEM. */
int dot_write(FILE *file,
              const struct tree *tree,
              const struct classes *classes);

#endif
