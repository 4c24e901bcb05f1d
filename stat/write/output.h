/* output.h - a report as files for other programs. */
#ifndef STAT_WRITE_OUTPUT_H
#define STAT_WRITE_OUTPUT_H

#include <stdio.h>

#include <coppice/error.h>

#include "stat/show/report.h"

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

/* Where to; NULL: not at all; "-": to standard output. */
struct outputs {
    const char *paths[OUTPUT_KINDS];
};

/* How many of them go to standard output, in place of the picture. */
unsigned outputs_standard(const struct outputs *outputs);

/* Flush `file`. Returns 0, or what became of writing to it: -ENOSPC and others,
 * or -EIO if that is not known any more. */
int output_end(FILE *file);

/* Write `path`, or standard output if that is "-": `write` does it, with `arg`.
 * Returns 0, or a negative errno with a sentence. */
int output_path(const char *path,
                int (*write)(FILE *file, const void *arg),
                const void *arg,
                struct cop_error *error);

/* Write one of them to `file`. Returns 0, -ENOMEM, or as output_end(). */
int output_write(FILE *file,
                 enum output_kind kind,
                 const struct report *report);

/* Write all that `outputs` wants; one that fails does not keep the others from
 * being written. Returns 0, or the negative errno of the first that failed,
 * with a sentence that names all. */
int outputs_write(const struct outputs *outputs,
                  const struct report *report,
                  struct cop_error *error);

#endif
