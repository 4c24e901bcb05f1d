/* output.h - a report as files for other programs. */
#ifndef STAT_OUTPUT_H
#define STAT_OUTPUT_H

#include <stdio.h>

#include <coppice/error.h>

#include "stat/report.h"

/* What can be written. */
enum output_kind {
    OUTPUT_DOT,
    OUTPUT_FOLDED,
    OUTPUT_HTML,
    OUTPUT_JSON,
    OUTPUT_SPEEDSCOPE,
    OUTPUT_SVG,
};
#define OUTPUT_KINDS (OUTPUT_SVG + 1)

/* Where to; NULL: not at all. */
struct outputs {
    const char *paths[OUTPUT_KINDS];
};

/* Write one of them to `file`. Returns 0, -EIO or -ENOMEM. */
int output_write(FILE *file,
                 enum output_kind kind,
                 const struct report *report);

/* Write all that `outputs` wants; one that fails does not keep the others from
 * being written. Returns 0, or a negative errno with a sentence. */
int outputs_write(const struct outputs *outputs,
                  const struct report *report,
                  struct cop_error *error);

#endif
