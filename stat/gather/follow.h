/* follow.h - coppice-stat --follow: a job as it is now, again and again. */
#ifndef STAT_GATHER_FOLLOW_H
#define STAT_GATHER_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "stat/gather/gather.h"
#include "stat/job/targets.h"
#include "stat/show/report.h"

/* Samples of which it is known who moved in them. */
#define FOLLOW_HISTORY 20

struct follow_options {
    const struct targets *targets; /* kept; may be found later */
    uint32_t interval_ms;
    enum naming_detail detail;
    bool threads;
    bool full;
    bool colour;
};

struct follow; /* opaque; one at a time, as of screens */

/* Make one that has shown nothing yet; the terminal is taken with the first
 * sample. Returns 0 or -ENOMEM. */
int follow_new(struct follow **out, const struct follow_options *options);

/* Free `follow`. NULL is fine. */
void follow_free(struct follow *follow);

/* It as who looks at samples. On a terminal each is drawn in place of the one
 * before. Elsewhere a picture is printed, under a line with the time, if it is
 * another one than the last. It ends when somebody wants it to, and when there
 * is no task left that can be looked at. Borrowed. */
const struct gather_viewer *follow_viewer(const struct follow *follow);

/* Tell of what happens meanwhile: below the picture where there is one, and on
 * standard error when it is gone. */
void follow_say(const char *line);

#endif
