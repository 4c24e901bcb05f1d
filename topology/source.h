/* source.h - a text that is being parsed, and errors with their place in it. */
#pragma once

#include <coppice/error.h>
#include <stddef.h>

/* A text and its name in errors. All borrowed. */
struct source {
    const char *name;
    const char *text;
    size_t len;
    struct cop_error *error; /* may be NULL */
};

/* Report an error at byte `at` (up to `len`) of `source`: write
 * "NAME:LINE:COLUMN: " and the sentence into its error. Columns count bytes
 * from 1. Returns `code`. */
int source_fail(const struct source *source,
                size_t at,
                int code,
                const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* The line of byte `at` of `source`, from 1. */
size_t source_line(const struct source *source, size_t at);

/* Write the character at byte `at` in readable form, such as 'a' or '\x07';
 * "the end" after the last byte. Returns `out`. */
const char *source_show(const struct source *source,
                        size_t at,
                        char out[static 16]);

/* Read the whole file `path` ("-": standard input) of up to `max` bytes.
 *
 * Returns 0, and `*text` is the caller's to free(): `*len` bytes and a zero
 * byte; or, with a sentence in `error`, -E2BIG, -ENOMEM, or an error of the
 * system. */
int source_read(char **text,
                size_t *len,
                const char *path,
                size_t max,
                struct cop_error *error);
