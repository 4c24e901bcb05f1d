/* export.h - a network's status for other programs. */
#pragma once

#include "tools/view.h"

/* The formats of coppice-status --format, as X(KIND, name): name_write() writes
 * the tree. */
#define EXPORT_FORMATS(X)                                                      \
    X(DOT, dot)           /* for Graphviz's dot */                             \
    X(TOPOLOGY, topology) /* coppice-topology(5), without dead nodes */        \
    X(JSON, json)         /* an object with all that is known of each node */

enum export {
    EXPORT_NONE,
#define EXPORT_KIND(kind, name) EXPORT_##kind,
    EXPORT_FORMATS(EXPORT_KIND)
#undef EXPORT_KIND
};

/* Set `format` to the one with this name. Returns 0 or -EINVAL. */
int export_find(enum export *format, const char *name);

/* Write the tree in `format`, which is not EXPORT_NONE. */
void export_write(const struct view *view, enum export format, FILE *file);
