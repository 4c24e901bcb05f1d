/* options.h - the command line of coppice-stat. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "stat/gather/gather.h"
#include "stat/job/targets.h"
#include "stat/write/output.h"

/* The command line, parsed; strings are borrowed from it. */
struct options {
    struct targets targets;
    struct gather_options gather;
    const char *name; /* of processes to find, with these two */
    const char *user;
    const char *hosts;
    struct outputs outputs;
    bool full; /* show the inside of runtimes too, and leave nothing out */
    bool no_colour;
    char **command;   /* command to start; NULL: none */
    uint32_t after_s; /* take the look after so many seconds; 0: when quiet */
    char **cores;     /* core files; the array is owned */
    size_t core_count;
    const char *diff[2]; /* files to compare; NULL: none */
    char *words;         /* the command line as text; owned */
    bool follow;
    const char *record; /* file for the last looks of `follow`; NULL: none */
    const char *replay; /* file of recorded looks to show; NULL: none */
    bool is_quick;      /* the usual look: no samples, --watch or --follow */
    bool help;
    bool version;
};

/* Set `options` to the defaults. */
void options_init(struct options *options);

/* Free what `options` holds. */
void options_fini(struct options *options);

/* Read a command line, and find the processes that it names. Returns 0, or a
 * negative errno with a sentence. */
int options_read(struct options *options,
                 int argc,
                 char **argv,
                 struct cop_error *error);

/* Write the text of --help. */
void options_usage(FILE *file);
