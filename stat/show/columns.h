/* columns.h - text on a terminal that is so many columns wide.
 *
 * Text is UTF-8; wide characters are counted as one column. */
#pragma once

#include <stdio.h>

/* What stands between the parts of a chain of frames on one line. */
#define COLUMNS_LEADS_ON " \xe2\x96\xb8 "

/* How many columns `text` takes. */
unsigned columns_of(const char *text);

/* Write `text` in exactly `width` columns (at least 1): filled with spaces, or
 * with an ellipsis in place of its middle: at its end is where a task stands. */
void columns_write(FILE *file, const char *text, unsigned width);

/* How many bytes of `text` are its first line of at most `width` columns (at
 * least 1): up to a space, unless one word is longer. */
size_t columns_line_len(const char *text, unsigned width);

/* Write `text` in several lines of `width` columns (at least 10) where it is
 * longer: broken at spaces, what follows two spaces in. A word that is longer
 * than a line is broken anywhere. The last line is left without its end. */
void columns_wrap(FILE *file, const char *text, unsigned width);

/* `text` with more behind it, made anew; `text` is taken. NULL without memory,
 * or if `text` is NULL. */
__attribute__((format(printf, 2, 3))) char *columns_append(char *text,
                                                           const char *format,
                                                           ...);

/* Replace control characters, and what is no UTF-8, by "?": names come from
 * programs of others. */
void columns_clean(char *text);

/* Write one line to `file`: `text`, cleaned, behind `before`. */
void columns_line(FILE *file, const char *before, const char *text);
