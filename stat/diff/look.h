/* look.h - one look at a job, read back from what --json wrote. */
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

/* Most ranges of all sets of a file together; a stride is a few bytes there,
 * and a range for each of its tasks here. */
#define LOOK_RANGES_MAX (UINT64_C(1) << 26)

/* Read it. */
struct look {
    struct targets targets; /* none: the job is made up */
    struct tree *tree;      /* settled */
    struct tasks *everyone; /* in the tree, walked or not */
    struct tasks *missing;  /* targets of which there was no answer */
    uint32_t tasks;         /* one above the highest */
    uint32_t samples;
    uint32_t interval_ms;
    uint64_t taken_s; /* when, in seconds since 1970; 0: not known */
    enum naming_detail detail;
    bool full;
    bool threads;           /* pictures count them too */
    struct history history; /* tasks that moved in the last samples */
    uint32_t *never_left;   /* by class: the node that its movers never left;
                               UINT32_MAX: none */
    size_t class_count;
    char *origin; /* what is said of it, each NULL where it is not known */
    char *job;
    char *command;
    char *tool;
    char *late; /* what is missing for another reason than a task */
};

/* Read a look from `file`, to its end or, of several looks (record.h), to
 * behind the next separator. The bytes may be anybody's: what
 * contradicts itself is refused.
 *
 * name  of the file, for the sentence of an error
 *
 * Returns 0, -EINVAL with a sentence if it is no look of a version that is
 * known, -EIO with one if it cannot be read, or -ENOMEM. */
int look_read(struct look **out,
              FILE *file,
              const char *name,
              struct cop_error *error);

/* The same of the file `path`; or what opening it said. */
int look_open(struct look **out, const char *path, struct cop_error *error);

/* Free `look`. NULL is fine. */
void look_free(struct look *look);
