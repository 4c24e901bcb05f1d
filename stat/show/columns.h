/* columns.h - fits text into the columns of a terminal.
 *
 * Text is UTF-8; a terminal shows a character in none, one or two columns. */
#pragma once

#include <stdio.h>

/* Separates the frames of a chain on one line. */
#define COLUMNS_LEADS_ON " \xe2\x96\xb8 "

/* How many columns `text` takes. */
unsigned columns_of(const char *text);

/* Write `text` in exactly `width` columns (at least 1): with spaces after it,
 * or an ellipsis in place of its middle, as a task's place is at its end. */
void columns_write(FILE *file, const char *text, unsigned width);

/* How many bytes of `text` are its first line of at most `width` columns (at
 * least 1): up to a space, unless one word is longer. */
size_t columns_line_len(const char *text, unsigned width);

/* Write `text`, in several lines if it is longer than `width` columns (at least
 * 10): broken at spaces, with two spaces before all but the first. A word
 * longer than a line is broken anywhere. The last line gets no newline. */
void columns_wrap(FILE *file, const char *text, unsigned width);

/* Append to `text`, which is taken, and return the new text. NULL without
 * memory, or if `text` is NULL. */
__attribute__((format(printf, 2, 3))) char *columns_append(char *text,
                                                           const char *format,
                                                           ...);

/* Replace control characters and invalid UTF-8 by "?": names come from foreign
 * programs. */
void columns_clean(char *text);

/* Write one line to `file`: `before`, then `text`, cleaned. */
void columns_line(FILE *file, const char *before, const char *text);
