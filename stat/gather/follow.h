/* follow.h - coppice-stat --follow: a job as it is now, again and again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/gather/gather.h"
#include "stat/job/targets.h"
#include "stat/show/report.h"
#include "stat/tree/window.h"

struct follow_options {
    const struct targets *targets; /* kept; may be found later */
    uint32_t interval_ms;
    enum naming_detail detail;
    bool threads;
    bool full;
    struct history *history; /* notes which tasks move; kept */
    struct window *window;   /* notes where tasks were; kept */
    const char *record;      /* file for the last looks; NULL: none */
    const char *command;     /* of coppice-stat, for that file */
    bool colour;
};

struct follow; /* opaque; one at a time, as of screens */

/* Make one that has shown nothing yet; the terminal is taken with the first
 * sample. Returns 0 or -ENOMEM. */
int follow_new(struct follow **out, const struct follow_options *options);

/* Free `follow`. NULL is fine. */
void follow_free(struct follow *follow);

/* Its viewer; borrowed. On a terminal each sample is drawn in place of the one
 * before. Elsewhere a picture is printed, below a line with the time, when it
 * differs from the last, and ever more rarely while it does not; at the end only
 * such a line, for what the caller prints. It ends when the user ends it, or when
 * no task is left that can move. */
const struct gather_viewer *follow_viewer(const struct follow *follow);

/* Show a line of news: below the picture, and on standard error when the picture
 * is gone or there is none. */
void follow_say(const char *line);
