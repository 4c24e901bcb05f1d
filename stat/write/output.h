/* output.h - a report as files for other programs. */
#pragma once

#include <stdio.h>

#include <coppice/error.h>

#include "stat/show/report.h"

/* The formats, as X(KIND, name, help): `--name FILE` has name_write() write
 * FILE. To add one, give it a line here, write name_write() in
 * stat/write/name.c, and name that file in stat/Makefile.inc. */
#define OUTPUT_FORMATS(X)                                                      \
    X(DOT, dot, "write the tree for Graphviz's dot")                           \
    X(SVG, svg, "... as a picture")                                            \
    X(HTML, html, "... as a page for a browser")                               \
    X(JSON, json, "... as JSON, for --diff and other programs")                \
    X(FOLDED, folded, "... as folded stacks, for flame graphs")                \
    X(SPEEDSCOPE, speedscope, "... for speedscope")

/* Write `report` to `file` in one format; the file name_write() is in describes
 * it. Returns 0 or -ENOMEM; errors of writing stay with `file`. */
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

/* How many of them go to standard output, in place of the picture. */
unsigned outputs_standard(const struct outputs *outputs);

/* Flush `file`. Returns 0, or why it could not be written: -ENOSPC and others,
 * or -EIO if the reason is no longer known. */
int output_end(FILE *file);

/* Have `write` write the file `path`, or standard output if that is "-", with
 * `arg`. Returns 0, or a negative errno with a sentence. */
int output_path(const char *path,
                int (*write)(FILE *file, const void *arg),
                const void *arg,
                struct cop_error *error);

/* Write one format to `file`. Returns 0, -ENOMEM, or as output_end(). */
int output_write(FILE *file,
                 enum output_kind kind,
                 const struct report *report);

/* Write all files that `outputs` names, also after one has failed. Returns 0,
 * or the negative errno of the first that failed, with a sentence that names
 * all that failed. */
int outputs_write(const struct outputs *outputs,
                  const struct report *report,
                  struct cop_error *error);
