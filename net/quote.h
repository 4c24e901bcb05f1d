/* quote.h - a short quotation of a program's output, for an error's text.
 *
 * The beginning and the end of long output are kept. The beginning often has
 * the reason, and the end has the result. */
#pragma once

#include <stddef.h>

#define QUOTE_KEEP 2048 /* bytes that are kept */
#define QUOTE_LEN  300  /* a quotation, with the NUL */

/* Empty if all zero; needs no cleanup. The fields are private to quote.c. */
struct quote {
    char kept[QUOTE_KEEP];
    size_t len;
};

/* Add output in order. An unprintable byte counts as a blank. */
void quote_add(struct quote *quote, const char *bytes, size_t len);

/* Write the output into `out` as one line, with "; " between its lines. Without
 * output `out` is "". Equal lines are written once. If not all lines fit, the
 * program's own lines are chosen first, oldest first: an own line begins with
 * the file name of `program` and a colon. Then other lines are chosen, newest
 * first. A line that fits only in part is cut. */
void quote_write(const struct quote *quote,
                 const char *program,
                 char out[QUOTE_LEN]);
