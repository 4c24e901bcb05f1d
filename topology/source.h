/* source.h - a text that is being parsed: read whole, and pointed into by
 * errors. */
#ifndef TOPOLOGY_SOURCE_H
#define TOPOLOGY_SOURCE_H

#include <coppice/error.h>
#include <stddef.h>

/* A text and what it is called in errors. All borrowed. */
struct source {
    const char *name;
    const char *text;
    size_t len;
    struct cop_error *error; /* may be NULL */
};

/* Say what is wrong at byte `at` (up to `len`) of `source`: writes
 * "NAME:LINE:COLUMN: " and the sentence into its error. Columns count bytes
 * from 1. Returns `code`. */
int source_fail(const struct source *source,
                size_t at,
                int code,
                const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* The line of byte `at` of `source`, from 1. */
size_t source_line(const struct source *source, size_t at);

/* Write the character at byte `at` for a person: itself, "\x07", or "the end"
 * behind the last. Returns `out`. */
const char *source_show(const struct source *source,
                        size_t at,
                        char out[static 16]);

/* Read the whole file `path` ("-": standard input) of up to `max` bytes.
 *
 * Returns 0, and `*text` is the caller's to free(): `*len` bytes and a zero
 * byte; or, with a sentence in `error`, -E2BIG, -ENOMEM, or what the system
 * said. */
int source_read(char **text,
                size_t *len,
                const char *path,
                size_t max,
                struct cop_error *error);

#endif
