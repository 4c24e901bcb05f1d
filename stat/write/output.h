/* output.h - writes a report to files for other programs. */
#pragma once

#include <stdio.h>

#include <coppice/error.h>

#include "stat/show/report.h"

/* The formats, as X(KIND, name, help): for `--name FILE`, name_write() writes
 * FILE. To add one, add a line here, write name_write() in stat/write/name.c,
 * and name that file in stat/Makefile.inc. */
#define OUTPUT_FORMATS(X)                                                      \
    X(DOT, dot, "write the tree for Graphviz's dot")                           \
    X(SVG, svg, "... as a picture")                                            \
    X(HTML, html, "... as a page for a browser")                               \
    X(JSON, json, "... as JSON, for --diff and other programs")                \
    X(FOLDED, folded, "... as folded stacks, for flame graphs")                \
    X(SPEEDSCOPE, speedscope, "... for speedscope")

/* Write `report` to `file` in one format, which stat/write/name.c describes.
 * Returns 0 or -ENOMEM; write errors are left in `file`. */
#define OUTPUT_WRITER(kind, name, help)                                        \
    int name##_write(FILE *file, const struct report *report);
OUTPUT_FORMATS(OUTPUT_WRITER)
#undef OUTPUT_WRITER

enum output_kind {
#define OUTPUT_KIND(kind, name, help) OUTPUT_##kind,
    OUTPUT_FORMATS(OUTPUT_KIND)
#undef OUTPUT_KIND
    OUTPUT_KINDS
};

/* The file of each format; NULL: do not write it; "-": standard output. */
struct outputs {
    const char *paths[OUTPUT_KINDS];
};

/* How many files are standard output, which replaces the picture there. */
unsigned outputs_standard(const struct outputs *outputs);

/* Flush `file`. Returns 0, or the write error: -ENOSPC and others, or -EIO if
 * the cause is no longer known. */
int output_end(FILE *file);

/* Let `write` write, with `arg`, the file `path`, or standard output if that is
 * "-". Returns 0, or a negative errno with a sentence. */
int output_path(const char *path,
                int (*write)(FILE *file, const void *arg),
                const void *arg,
                struct cop_error *error);

/* Write one format to `file`. Returns 0, -ENOMEM, or as output_end(). */
int output_write(FILE *file,
                 enum output_kind kind,
                 const struct report *report);

/* Write all files in `outputs`, even if one fails. Returns 0, or the negative
 * errno of the first failure, with a sentence that names all files that
 * failed. */
int outputs_write(const struct outputs *outputs,
                  const struct report *report,
                  struct cop_error *error);
