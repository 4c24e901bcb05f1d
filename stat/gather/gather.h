/* gather.h - one request to all daemons through a tree; its answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/gather/daemons.h"
#include "stat/gather/naming.h"
#include "stat/job/targets.h"
#include "stat/tree/history.h"
#include "stat/tree/tree.h"

/* Gets one line of news, without a newline. */
typedef void (*gather_say_fn)(const char *line);

/* Follows a job, sample by sample. `look` and `idle` return 0, 1 to end, or a
 * negative errno, which also ends it. */
struct gather_viewer {
    /* A new sample: the places of tasks, and how long they have been there.
     * `late` says what is missing; "": nothing. */
    int (*look)(void *arg, const struct tree *tree, const char *late);
    /* Called at least every GATHER_IDLE_MS, except while names are
     * requested. */
    int (*idle)(void *arg);
    /* Called once, after all other calls, whatever the reason for the end. */
    void (*end)(void *arg);
    void *arg;
};
#define GATHER_IDLE_MS 50

/* What to request, and how. */
struct gather_options {
    struct daemons_options daemons;
    uint32_t samples;
    uint32_t interval_ms;
    uint32_t watch_ms;    /* sample until nothing has moved for this time, at
                             most for `timeout_ms`; 0: take `samples` */
    uint32_t timeout_ms;  /* of the whole call; if there are several samples,
                             each extends it */
    uint32_t max_stop_ms; /* longest time that a process may be stopped */
    bool names;           /* own names of threads */
    bool states;          /* scheduler states of threads */
    bool full;            /* keep frames of Python's interpreter, and each level
                             of a recursion */
    enum naming_detail detail;
    const struct gather_viewer *viewer; /* follows until it ends, in place of
                                           `samples`; NULL: none */
    struct history *history; /* records which tasks move, without a viewer;
                                NULL: not wanted */
    bool quiet_asides;       /* do not report what is set aside, since the same
                                terminal shows it */
    bool (*is_ended)(void);  /* whether the user wants to end; first called when
                                samples are due; NULL: never */
    gather_say_fn show;      /* shows progress, if several samples */
    gather_say_fn say;       /* reports lost or adopted nodes, and other news */
};

/* Start a tree of daemons, let them find the processes that `targets` names,
 * divide the targets among them, and merge their samples. The tree has always
 * ended on return.
 *
 * out   the merged tree: of some of the tasks, if daemons did not answer; with
 *       a viewer, of the last sample
 * late  why the answer may be incomplete; "" if it is complete
 *
 * Returns 0, or a negative errno with a sentence in `error`. */
int gather_tree(struct tree **out,
                struct targets *targets,
                const struct gather_options *options,
                struct cop_error *late,
                struct cop_error *error);
