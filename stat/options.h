/* options.h - the command line of coppice-stat. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "stat/gather/gather.h"
#include "stat/job/targets.h"
#include "stat/write/output.h"

/* What it says; texts are borrowed from the command line. */
struct options {
    struct targets targets;
    struct gather_options gather;
    const char *name; /* of processes to be found; with ... */
    const char *user;
    const char *hosts;
    struct outputs outputs;
    bool full; /* the inside of runtimes too, and nothing left out */
    bool no_colour;
    char **command;   /* to be started; NULL: none */
    uint32_t after_s; /* ... and looked at then; 0: when it is quiet */
    char **cores;     /* files; ours */
    size_t core_count;
    const char *diff[2]; /* files to be compared; NULL: none */
    char *words;         /* the command line; ours */
    bool follow;
    const char *record; /* file of the last looks of `follow`; NULL: none */
    const char *replay; /* such a file, to be shown; NULL: none */
    bool is_quick;      /* the usual look: no number of samples was given */
    bool help;
    bool version;
};

/* Set `options` to what holds where nothing is given. */
void options_init(struct options *options);

/* Free what `options` holds. */
void options_fini(struct options *options);

/* Read a command line; processes that it names are looked for.
 * Returns 0, or a negative errno with a sentence. */
int options_read(struct options *options,
                 int argc,
                 char **argv,
                 struct cop_error *error);

/* Write what --help says. */
void options_usage(FILE *file);
