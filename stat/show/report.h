/* report.h - one look at a job, with all that pictures and files show. */
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
    const struct targets *targets; /* NULL or empty: made-up job */
    uint32_t hosts;                /* how many have tasks */
    uint32_t samples;              /* most samples of any task */
    uint32_t interval_ms;          /* from one sample to the next */
    const struct history *history; /* which tasks moved in the last samples;
                                      NULL: not known */
    bool present_only; /* the tree has only the present places of tasks, no
                          earlier ones */
    const struct report *past; /* then: of the last samples; NULL: not known */
    bool threads;              /* pictures show numbers of threads, too */
    bool full; /* runtime frames are ordinary places, and make classes */
    enum naming_detail detail;
    const char *late;    /* what is missing besides tasks; NULL or "":
                            nothing */
    const char *command; /* command line of coppice-stat; NULL: not known */
    const char *job;     /* a command line of the job; NULL or "": not known */
    const char *tool;    /* version of coppice-stat; NULL: this one */
    const char *origin;  /* of a look read from a file: what origin_text()
                            returned; NULL: a new look */
    const uint32_t *never_left; /* likewise what movers_never_left() found, by
                                   class, UINT32_MAX: nothing; NULL: a new
                                   look */
    size_t never_left_count;
    uint64_t taken_s; /* when the look was complete, in seconds since 1970; 0:
                         not known */
};

/* Tasks from number `from` on, to the next piece, have so many threads each. */
struct report_piece {
    uint32_t from;
    uint64_t threads;
};

/* At most one task of this many is an outlier, if there are OUTLIER_TASKS. */
#define OUTLIER_SHARE 10
#define OUTLIER_TASKS 4

/* Public to read. `tree` and the pointers in `source` are borrowed. */
struct report {
    struct report_source source;
    const struct tree *tree;
    struct classes *classes;
    struct tasks **under;   /* by node: tasks at or below it */
    uint32_t *folders;      /* by string: see folders.h */
    uint32_t *first_end;    /* by node; the tree's end_count if it has none */
    uint32_t *above;        /* by node: its parent; at the top level: itself */
    uint32_t *shown;        /* by node: itself, or if it is inside a call of a
                               runtime, such as MPI_Barrier, that call */
    struct tasks *everyone; /* all tasks in the tree, walked or not */
    struct tasks *silent;   /* tasks requested, but not in the tree */
    struct tasks *left_out; /* tasks in `silent`, or not walked */
    struct tasks *cut;      /* tasks with a stack cut because of --max-stop */
    struct tasks *unknown;  /* tasks of which every stack is truncated */
    uint32_t asked;         /* how many tasks were requested */
    char *summary;   /* numbers of tasks, threads, hosts, classes and samples;
                        begins with "partial: " if something is missing */
    char *missing;   /* what, in a sentence that begins likewise; "": nothing */
    char *asides[2]; /* which processes were set aside since they have no rank,
                        and which since a rank has started them; "": none */
    char *judgement; /* what is wrong, in a sentence; "": nothing found */
    uint32_t outlier_most; /* most tasks of an outlier */
    bool *odd; /* by node: few threads of its tasks are there, see threads.h */
    uint64_t *threads; /* by node: how many were at or below it when its tasks
                          were last seen */
    struct report_piece *pieces; /* of all tasks, ascending */
    size_t piece_count;
};

/* Make a report from a settled tree. Returns 0 or -ENOMEM. */
int report_new(struct report **out,
               const struct tree *tree,
               const struct report_source *source);

/* Free `report`. NULL is fine. */
void report_free(struct report *report);

/* How many of `all` tasks or threads count as few. */
uint32_t report_few(uint32_t all);

/* Whether traces end at `node` itself. */
bool report_has_end(const struct report *report, uint32_t node);

/* Whether traces that end below `node` are shown as ending at it, and it has
 * nodes below. Below a call that has called the program again, only some are. */
bool report_is_call(const struct report *report, uint32_t node);

/* Whether all such traces are: no node below is shown. */
bool report_is_folded(const struct report *report, uint32_t node);

/* The number of the class with exactly these `tasks`, from 0 on, or -1. */
long report_class(const struct report *report, const struct tasks *tasks);

/* Whether `tasks` are few enough to be an outlier: at most a tenth of four or
 * more tasks, or one task, if some class has more. */
bool report_is_outlier(const struct report *report, const struct tasks *tasks);

/* Whether to mark `node` as an outlier, because of its tasks or of their
 * threads. */
bool report_is_outlying(const struct report *report, uint32_t node);

/* For how many samples, up to the last, none of `tasks` has moved; 0 if some
 * have just moved, or if there was only one sample. */
uint32_t report_unchanged(const struct report *report, struct tasks *tasks);

/* For how many samples, up to the last, no thread of `tasks` whose traces are
 * shown as ending at `node` has moved; 0 as above. */
uint32_t report_still(const struct report *report,
                      struct tasks *tasks,
                      uint32_t node);

/* How many threads were at `node` itself when its tasks were last seen. */
uint64_t report_threads_here(const struct report *report, uint32_t node);

/* How many threads `tasks` had when last seen. */
uint64_t report_threads(const struct report *report, const struct tasks *tasks);

/* The word for a task: "rank", if all task numbers are ranks, or "task". */
const char *report_noun(const struct report *report);

/* The function, file and line of `node`, the file as it is shown or with all its
 * folders; borrowed. */
const char *report_function(const struct report *report, uint32_t node);
const char *report_file(const struct report *report, uint32_t node);
const char *report_path(const struct report *report, uint32_t node);
uint32_t report_line(const struct report *report, uint32_t node);

/* The top-level node that `node` is or is below. */
uint32_t report_top(const struct report *report, uint32_t node);

/* From where `node`, which has no file, is called, if that is one line of the
 * frame above: its file, borrowed, and `*line`. Else "". */
const char *report_caller(uint32_t *line,
                          const struct report *report,
                          uint32_t node);

/* Find the tasks at and below the nodes of this kind. Returns 0 or -ENOMEM. */
int report_tasks(struct tasks **out,
                 const struct tree *tree,
                 enum note_kind kind);

/* The name of the host of `task`, and its pid; NULL and 0 if not known. */
const char *report_host(const struct report *report, uint32_t task);
int32_t report_pid(const struct report *report, uint32_t task);
