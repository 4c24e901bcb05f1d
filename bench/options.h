/* options.h - the common command line of all benchmarks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/shape.h"

#define OPTIONS_ROUNDS_MAX 10000

/* The description of one benchmark; all strings static. */
struct options_usage {
    const char *name;
    const char *what;    /* one sentence */
    const char *cases;   /* the usual trees, with commas between */
    const char *metrics; /* those that --metric knows; NULL: no such option */
    uint32_t rounds;     /* how many, usually */
    bool own_tables;     /* it does not print duel's, except with --csv */
    const char *columns; /* of its rows with --csv; NULL: duel's */
};

struct options {
    struct shape *cases;
    size_t case_count;
    uint32_t rounds;
    bool csv;
    bool bare_only;
    const char *metrics; /* as given; NULL: all for the case */
};

/* Read the command line. Free with options_fini().
 *
 * Returns 0; 1 if the requested output was printed (--help); or a negative
 * errno after a sentence on stderr. */
int options_read(struct options *options,
                 const struct options_usage *usage,
                 int argc,
                 char **argv);
void options_fini(struct options *options);

/* Read the number `text` of `option`, from `low` to `high`. Returns 0, or
 * -EINVAL after a sentence on stderr. */
int options_number(const char *option,
                   const char *text,
                   unsigned low,
                   unsigned high,
                   unsigned *number);

/* Whether `list`, separated by commas, contains `word`. */
bool options_lists(const char *list, const char *word);
