/* quote.h - what a program has written to its standard error, for an error's text.
 *
 * Of long output the middle is dropped: the beginning often has the reason, and
 * the end says what became of it. */
#pragma once

#include <stddef.h>

#define QUOTE_KEEP 2048 /* bytes that are kept */
#define QUOTE_LEN  300  /* a quotation, with the NUL */

struct quote {
    char kept[QUOTE_KEEP];
    size_t len;
};

/* Add output as it came. A byte that is not printable counts as a blank. */
void quote_add(struct quote *quote, const char *bytes, size_t len);

/* Write the lines into `out` as one line; "" if there are none. Equal ones are
 * written once. If they do not fit, lines of the program itself come first, which
 * begin with the name of the file `program` and a colon, from the beginning on;
 * then others, from the end backwards. The last that fits in part is cut. */
void quote_write(const struct quote *quote,
                 const char *program,
                 char out[QUOTE_LEN]);
