/* timer.h - a timer that wakes a thread which polls its descriptor.
 *
 * The application may close that descriptor, and another file may get its
 * number. So it is never read, and each change says whether it is a timer still.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct timer {
    int fd;
    uint64_t at_ms; /* when it fires; UINT64_MAX: it does not */
};

/* Make one that does not fire; close timer->fd. Returns 0 or a negative errno. */
int timer_open(struct timer *timer);

/* Let it fire at `at_ms`, unless it fires before that. */
void timer_arm(struct timer *timer, uint64_t at_ms, uint64_t now_ms);

/* Let it not fire. Returns false if it is no timer any more. */
bool timer_stop(struct timer *timer);

/* It has fired: stop it, unless it was set again since. Returns false if it is
 * no timer any more. */
bool timer_rest(struct timer *timer, uint64_t now_ms);

/* Let it fire now, for good. Returns false if it is no timer any more. */
bool timer_fire(const struct timer *timer);
