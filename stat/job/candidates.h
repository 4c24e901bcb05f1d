/* candidates.h - the processes that a search has found, and which of them are
 * ranks, helpers of ranks, or only start ranks. */
#pragma once

#include "stat/job/processes.h"
#include "stat/job/targets.h"

/* Most processes that one is below. */
#define ABOVE_MAX 64

/* A process that was found. */
struct candidate {
    const struct process *process;
    struct rank rank;
    struct candidate *above; /* the next one above it; NULL: none */
    enum {
        NOT_READ,
        NO,
        YES
    } runtime;      /* it has mapped one */
    bool has_same;  /* below it is one with the same rank, */
    bool has_other; /* another rank of the same job, */
    bool has_inner; /* or a rank of another launcher */
    bool is_helper; /* a process above it is its rank */
    bool is_above;  /* it only starts ranks, or is left out */
    bool is_given;  /* by its pid */
    bool starts;    /* it has no rank, and only waits for what it has started */
};

/* The processes found, by pid, among all of this host. */
struct search {
    struct processes processes;
    struct candidate *list;
    size_t count;
    const struct process *starter; /* a starter without children; or NULL */
};

/* Read all processes, and make room for as many candidates. Returns 0 or a
 * negative errno. */
int candidates_init(struct search *search);

/* Free what `search` holds. */
void candidates_fini(struct search *search);

/* Add a process, with the rank that it was given. */
void candidates_add(struct search *search, const struct process *process);

/* Put the candidates into the order of their pids. */
void candidates_sort(struct search *search);

/* Read the ranks that processes have set themselves: of those without a rank,
 * and of those that have the same one. Returns 0 or -ENOMEM. */
int candidates_read_live(struct search *search);

/* Add the processes that are ranks or helpers of ranks to the targets, and those
 * without a rank, but no services of Python's multiprocessing. Other processes
 * below them are helpers. Returns 0 or -ENOMEM. */
int candidates_take(struct targets *targets, struct search *search);

/* The same for all processes of a job: without any rank, those that were only
 * forked from others are their helpers. Returns 0 or -ENOMEM. */
int candidates_take_all(struct targets *targets, struct search *search);

/* Add the processes that were given, and their helpers: those below them. What was
 * given is no helper, unless it is a worker of another rank. Returns 0 or
 * -ENOMEM. */
int candidates_take_given(struct targets *targets, struct search *search);
