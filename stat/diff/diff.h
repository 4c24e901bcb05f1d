/* diff.h - what is different between two looks at a job.
 *
 * Both looks become one tree, in which each task is twice: where it was in the
 * first look, A, and where it is in the second, B. So a class of that tree
 * that has a task twice is a place where it has stayed.
 *
 *     A: task 0 ... count-1          task t of A is t,
 *     B: task count ... 2 count-1    task t of B is count + t
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coppice/error.h>

#include "stat/diff/look.h"
#include "stat/show/report.h"

/* Which look. */
enum diff_side {
    DIFF_A,
    DIFF_B,
};
#define DIFF_SIDES 2

/* Tasks that have gone one way. */
struct diff_move {
    struct tasks *tasks;
    long from; /* a class of the report; -1: they were not there */
    long to;   /* -1: they are not there any more */
};

/* Tasks that could not be looked at in one look, though both have them. */
struct diff_gap {
    struct tasks *tasks;
    enum diff_side side;
    const char *reason; /* the look's */
};

/* Read it. Tasks are numbered as in A; those that only B has follow, or, where
 * numbers are ranks, have their rank. */
struct diff {
    const struct look *looks[DIFF_SIDES];
    uint32_t count;    /* one above the highest number of a task */
    uint32_t everyone; /* tasks of either look, each once */
    const char *noun;  /* what a task is called: "rank", "task" */
    /* by task, its number in the look; UINT32_MAX: it is not there */
    uint32_t *numbers[DIFF_SIDES];
    struct tree *tree;
    struct report *report;
    struct tasks *unchanged;
    struct tasks *moved;
    struct tasks *appeared;  /* only B has them */
    struct tasks *vanished;  /* only A has them */
    struct tasks *unknown;   /* both have them, and in one they were not walked,
                                or gave no answer: they are not in the tree */
    struct diff_move *moves; /* fewest tasks first; what was not walked is in
                                none */
    size_t move_count;
    struct diff_gap *gaps;
    size_t gap_count;
};

/* Compare `a` and `b`, which are kept, borrowed. Tasks are the same that have
 * the same rank of MPI, if both looks know ranks (or both are made up), else
 * those that are the same process of the same host.
 *
 * Returns 0, -EINVAL with a sentence if they cannot be compared, or
 * -ENOMEM. */
int diff_new(struct diff **out,
             const struct look *a,
             const struct look *b,
             struct cop_error *error);

/* Free `diff`. NULL is fine. */
void diff_free(struct diff *diff);

/* Those of `tasks`, a set of the tree of both, that are of one look, by their
 * own numbers. Returns 0 or -ENOMEM. */
int diff_tasks(struct tasks **out,
               const struct diff *diff,
               enum diff_side side,
               struct tasks *tasks);

/* What people call the host of `task` in B, or else in A, and its process; NULL
 * and 0 where that is not known. */
const char *diff_host(const struct diff *diff, uint32_t task);
int32_t diff_pid(const struct diff *diff, uint32_t task);
