/* diff.h - the differences between two looks at a job.
 *
 * Both looks become one tree, which has each task twice: at its place in the
 * first look, A, and at its place in the second, B. So a class of that tree
 * that has a task twice is a place where the task has stayed.
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

/* Tasks that moved between the same two classes. */
struct diff_move {
    struct tasks *tasks;
    long from; /* a class of the report; -1: not in A */
    long to;   /* a class of the report; -1: not in B */
};

/* Tasks that could not be walked in one look, though both have them. */
struct diff_gap {
    struct tasks *tasks;
    enum diff_side side;
    const char *reason; /* from the look */
};

/* Public to read. Tasks are numbered as in A; those only in B follow, or keep
 * their ranks if numbers are ranks. */
struct diff {
    const struct look *looks[DIFF_SIDES];
    uint32_t count;    /* the highest task number plus one */
    uint32_t everyone; /* number of tasks in A or B, each counted once */
    const char *noun;  /* the word for a task: "rank", "task" */
    /* by task: its number in the look; UINT32_MAX: not in it */
    uint32_t *numbers[DIFF_SIDES];
    struct tree *tree;
    struct report *report;
    struct tasks *unchanged;
    struct tasks *moved;
    struct tasks *appeared;  /* tasks only in B */
    struct tasks *vanished;  /* tasks only in A */
    struct tasks *unknown;   /* tasks in both that one look did not walk, or
                                that gave no answer; not in the tree */
    struct diff_move *moves; /* fewest tasks first; without tasks that were not
                                walked */
    size_t move_count;
    struct diff_gap *gaps;
    size_t gap_count;
};

/* Compare `a` and `b`, which are kept, borrowed. If both looks have ranks of
 * MPI (or both are made up), tasks are matched by rank, else by process and
 * host.
 *
 * Returns 0, -EINVAL with a sentence if the looks cannot be compared, or
 * -ENOMEM. */
int diff_new(struct diff **out,
             const struct look *a,
             const struct look *b,
             struct cop_error *error);

/* Free `diff`. NULL is fine. */
void diff_free(struct diff *diff);

/* Find those of `tasks`, a set of the tree of both looks, that are of one look,
 * and number them as in `diff`. Returns 0 or -ENOMEM. */
int diff_tasks(struct tasks **out,
               const struct diff *diff,
               enum diff_side side,
               struct tasks *tasks);

/* The name of the host of `task` in B, or else in A, and its pid; NULL and 0 if
 * not known. */
const char *diff_host(const struct diff *diff, uint32_t task);
int32_t diff_pid(const struct diff *diff, uint32_t task);
