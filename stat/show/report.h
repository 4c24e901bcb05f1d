/* report.h - one look at a job, with all that its pictures and files show. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/gather/naming.h"
#include "stat/job/targets.h"
#include "stat/tree/classes.h"
#include "stat/tree/history.h"
#include "stat/tree/tree.h"

/* How a look was made. */
struct report_source {
    const struct targets *targets; /* NULL or empty: made up */
    uint32_t hosts;                /* that have tasks */
    uint32_t samples;              /* how many there were, at most */
    uint32_t interval_ms;          /* between two of them */
    const struct history *history; /* who moved in the last of them; NULL: not
                                      known */
    bool present_only; /* the tree has only where tasks are now, not where they
                          were before */
    const struct report *past; /* then: of the last samples; NULL: not known */
    bool threads;              /* pictures count them too */
    bool full; /* runtime frames are places like others, and make classes */
    enum naming_detail detail;
    const char *late;    /* what is missing for another reason than a task; NULL
                            or "": nothing */
    const char *command; /* of coppice-stat; NULL: not known */
    const char *job;     /* a command line of the job; NULL or "": not known */
    const char *tool;    /* the version of coppice-stat; NULL: this one's */
    const char *origin;  /* how it was made, as origin_text() says it, of a look
                            that was read; NULL: it is made */
    const uint32_t *never_left; /* the same of what movers_never_left() finds,
                                   by class, UINT32_MAX: nothing; NULL: it is
                                   found */
    size_t never_left_count;
    uint64_t taken_s; /* when it was complete, in seconds since 1970; 0: not
                         known */
};

/* Tasks from number `from` on, up to the next piece, have so many threads. */
struct report_piece {
    uint32_t from;
    uint64_t threads;
};

/* At most one in so many is an outlier, among OUTLIER_TASKS or more. */
#define OUTLIER_SHARE 10
#define OUTLIER_TASKS 4

/* Read it. `tree` and what `source` points to are borrowed. */
struct report {
    struct report_source source;
    const struct tree *tree;
    struct classes *classes;
    struct tasks **under; /* by node: who is at and under it */
    uint32_t *first_end;  /* by node; the tree's end_count where it has none */
    uint32_t *above;      /* by node: its parent; of the top level: itself */
    uint32_t *shown;      /* by node: itself, or the call of the runtime,
                             such as MPI_Barrier, whose inside it is */
    struct tasks *everyone; /* in the tree, walked or not */
    struct tasks *silent;   /* asked for, and not in the tree */
    struct tasks *left_out; /* silent, or not walked */
    struct tasks *cut;      /* their stacks are, as --max-stop had passed */
    uint32_t asked;         /* how many tasks were asked for */
    char *summary; /* how many tasks, threads, hosts, classes and samples there
                      are; begins with "partial: " if something is missing */
    char *missing; /* what, in a sentence that begins so too; "": nothing */
    char *asides[2]; /* which processes were set aside as they have no rank, and
                        which as a rank has started them; "": none */
    char *judgement; /* what is wrong, in a sentence; "": nothing is seen */
    uint32_t outlier_most; /* an outlier has so many tasks at most */
    bool *odd; /* by node: few threads of the tasks are there, see threads.h */
    uint64_t *threads; /* by node: so many were at and under it when its tasks
                          were last seen */
    struct report_piece *pieces; /* of all tasks, rising */
    size_t piece_count;
};

/* Derive all of it from a settled tree. Returns 0 or -ENOMEM. */
int report_new(struct report **out,
               const struct tree *tree,
               const struct report_source *source);

/* Free `report`. NULL is fine. */
void report_free(struct report *report);

/* How many of `all` tasks or threads are few. */
uint32_t report_few(uint32_t all);

/* Whether traces end at `node` itself. */
bool report_has_end(const struct report *report, uint32_t node);

/* Whether `node` is where people see the traces of its subtree end, and has
 * more inside. */
bool report_is_folded(const struct report *report, uint32_t node);

/* The number of the class that is exactly `tasks`, from 0 on, or -1. */
long report_class(const struct report *report, const struct tasks *tasks);

/* Whether `tasks` are few enough of all to be called an outlier: a tenth of
 * four or more, or one, where a class has more. */
bool report_is_outlier(const struct report *report, const struct tasks *tasks);

/* Whether `node` is to be marked as an outlier: of its tasks, or of their
 * threads. */
bool report_is_outlying(const struct report *report, uint32_t node);

/* For how many samples, up to the last, none of `tasks` has moved; 0 if some
 * have just moved, or where there was one sample only. */
uint32_t report_unchanged(const struct report *report, struct tasks *tasks);

/* How many threads were at `node` itself when its tasks were last seen. */
uint64_t report_threads_here(const struct report *report, uint32_t node);

/* How many threads `tasks` had when last seen. */
uint64_t report_threads(const struct report *report, const struct tasks *tasks);

/* What a task is called: "rank", if the numbers of all are their ranks, or
 * "task". */
const char *report_noun(const struct report *report);

/* The function, file and line of `node`; borrowed. */
const char *report_function(const struct report *report, uint32_t node);
const char *report_file(const struct report *report, uint32_t node);
uint32_t report_line(const struct report *report, uint32_t node);

/* The top-level node that `node` is or is below. */
uint32_t report_top(const struct report *report, uint32_t node);

/* From where `node`, which has no file, is called, if that is one line of the
 * frame above: its file, borrowed, and `*line`. Else "". */
const char *report_caller(uint32_t *line,
                          const struct report *report,
                          uint32_t node);

/* Find the tasks at and under the nodes of whose functions `is` holds.
 * Returns 0 or -ENOMEM. */
int report_tasks(struct tasks **out,
                 const struct tree *tree,
                 bool (*is)(const char *function));

/* What people call the host of `task`, and its process; NULL and 0 where that
 * is not known. */
const char *report_host(const struct report *report, uint32_t task);
int32_t report_pid(const struct report *report, uint32_t task);
