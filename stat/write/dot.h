/* dot.h - a merged tree for Graphviz, and for the viewer of LLNL's STAT. */
#ifndef STAT_WRITE_DOT_H
#define STAT_WRITE_DOT_H

#include <stdio.h>

#include "stat/show/report.h"

/* Write `report` to `file` as a graph that plain `dot -Tsvg` renders: a node
 * for each frame, on each edge how many tasks take it and which, one colour for
 * each class. The attributes that STAT's viewer reads are there too: function,
 * source and line of nodes ("(null)" where not known), bv or count and rep of
 * edges; Graphviz ignores them.
 * Returns 0 or -ENOMEM; errors of writing stay with `file`. */
int dot_write(FILE *file, const struct report *report);

#endif
