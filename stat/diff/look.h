/* look.h - one look at a job, read from a file of --json. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <coppice/error.h>

#include "stat/gather/naming.h"
#include "stat/job/targets.h"
#include "stat/tree/history.h"
#include "stat/tree/tasks.h"
#include "stat/tree/tree.h"

/* Largest file, in bytes. */
#define LOOK_LEN_MAX (UINT64_C(1) << 30)

/* Most bytes of all sets in a file together, in memory: a stride of a few bytes
 * becomes a bitmap of all its tasks. */
#define LOOK_SETS_MAX (UINT64_C(1) << 29)

/* Public to read. */
struct look {
    struct targets targets; /* empty: the job is made up */
    struct tree *tree;      /* settled */
    struct tasks *everyone; /* all tasks in the tree, walked or not */
    struct tasks *missing;  /* targets that gave no answer */
    uint32_t tasks;         /* the highest task number plus one */
    uint32_t samples;
    uint32_t interval_ms;
    uint64_t taken_s; /* in seconds since 1970; 0: not known */
    enum naming_detail detail;
    bool full;
    bool threads;           /* pictures show numbers of threads, too */
    struct history history; /* tasks that moved in the last samples */
    uint32_t *never_left;   /* by class: the node that its moving tasks never
                               left; UINT32_MAX: none */
    size_t class_count;
    char *origin; /* how the look was made; these are NULL if not known */
    char *job;
    char *command;
    char *tool;
    char *late; /* what is missing besides tasks */
};

/* Read a look from `file`, up to its end, or, if it has several looks
 * (record.h), past the next separator. The bytes are untrusted: contradictions
 * are refused.
 *
 * name  of the file, for messages
 *
 * Returns 0, -EINVAL with a sentence if it is no look of a known version, -EIO
 * with a sentence if it cannot be read, or -ENOMEM. */
int look_read(struct look **out,
              FILE *file,
              const char *name,
              struct cop_error *error);

/* The same for the file `path`. Also returns the error of opening it. */
int look_open(struct look **out, const char *path, struct cop_error *error);

/* Free `look`. NULL is fine. */
void look_free(struct look *look);
