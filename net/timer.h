/* timer.h - a timer that wakes a thread polling its descriptor.
 *
 * The application may close that descriptor, and another file may get its
 * number. So it is never read, and each change reports whether it is still a
 * timer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct timer {
    int fd;
    uint64_t at_ms; /* when it fires; UINT64_MAX: never */
};

/* Make a timer, not set; close timer->fd. Returns 0 or a negative errno. */
int timer_open(struct timer *timer);

/* Set the timer to `at_ms`, unless it fires before that. */
void timer_arm(struct timer *timer, uint64_t at_ms, uint64_t now_ms);

/* Stop the timer. Returns false if `fd` is no timer any more. */
bool timer_stop(struct timer *timer);

/* The timer has fired: stop it, unless it was set again since. Returns false if
 * `fd` is no timer any more. */
bool timer_rest(struct timer *timer, uint64_t now_ms);

/* Let the timer fire now, for good. Returns false if `fd` is no timer. */
bool timer_fire(const struct timer *timer);
