/* gather.h - one question to all daemons through a tree, and its answer. */
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

/* A viewer follows a job, sample by sample. `look` and `idle` return 0, 1 to end,
 * or a negative errno, which ends it too. */
struct gather_viewer {
    /* A new sample: where the tasks are, and for how long. `late` says what is
     * missing; "" if nothing is. */
    int (*look)(void *arg, const struct tree *tree, const char *late);
    /* Called at least each GATHER_IDLE_MS, except while names are asked for. */
    int (*idle)(void *arg);
    /* Called once, last, for whatever reason it ends. */
    void (*end)(void *arg);
    void *arg;
};
#define GATHER_IDLE_MS 50

/* What to ask, and how. */
struct gather_options {
    struct daemons_options daemons;
    uint32_t samples;
    uint32_t interval_ms;
    uint32_t watch_ms;   /* not so many samples, but until nothing has moved for
                            so long, at most for `timeout_ms`; 0: do not watch */
    uint32_t timeout_ms; /* for all there is; of several samples each puts the
                            end off by as much */
    uint32_t max_stop_ms; /* for which a process may be stopped */
    bool names;           /* of threads, where they have some of their own */
    bool states;          /* of the scheduler */
    bool full;            /* frames of Python's interpreter, and each turn of a
                             recursion, too */
    enum naming_detail detail;
    const struct gather_viewer *viewer; /* follows, until it ends; not so many
                                           samples. NULL: nobody */
    struct history *history; /* notes which tasks move, without a viewer;
                                NULL: not wanted */
    bool quiet_asides; /* what was set aside is not told, as the same terminal
                          shows it */
    bool (*is_ended)(void); /* whether the user wants to end it; first called
                               when samples are due; NULL: never */
    gather_say_fn show;     /* progress, of several samples */
    gather_say_fn say;      /* nodes lost or adopted, and other news */
};

/* Start a tree of daemons, have them find what `targets` wants, divide the
 * targets among them, and merge what they saw. Nothing of it is left running,
 * whatever comes back.
 *
 * out   the merged tree: of some of the tasks, if daemons did not answer;
 *       with a viewer, of the last sample
 * late  why the answer may not be complete; "" if it is
 *
 * Returns 0, or a negative errno with a sentence in `error`. */
int gather_tree(struct tree **out,
                struct targets *targets,
                const struct gather_options *options,
                struct cop_error *late,
                struct cop_error *error);
