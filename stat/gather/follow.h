/* follow.h - coppice-stat --follow: shows the present state of a job. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/gather/gather.h"
#include "stat/job/targets.h"
#include "stat/show/report.h"
#include "stat/tree/window.h"

struct follow_options {
    const struct targets *targets; /* kept; processes may be added later */
    uint32_t interval_ms;
    enum naming_detail detail;
    bool threads;
    bool full;
    struct history *history; /* records which tasks move; kept */
    struct window *window;   /* records earlier places; kept */
    const char *record;      /* file for the last looks; NULL: none */
    const char *command;     /* command line of coppice-stat, for `record` */
    bool colour;
};

struct follow; /* opaque; only one at a time, like screens */

/* Make one that has shown nothing yet; it takes the terminal at the first
 * sample. Returns 0 or -ENOMEM. */
int follow_new(struct follow **out, const struct follow_options *options);

/* Free `follow`. NULL is fine. */
void follow_free(struct follow *follow);

/* Its viewer; borrowed. On a terminal each sample replaces the previous one.
 * Elsewhere a picture is printed below a line with the time if it differs from
 * the last one, and less and less often while it does not; at the end only such
 * a line, for the caller's output. The viewer ends when the user ends it, or
 * when no task is left that can move. */
const struct gather_viewer *follow_viewer(const struct follow *follow);

/* Show a line of news: below the picture; on standard error once the picture is
 * gone, or if there is none. */
void follow_say(const char *line);
