/* timer.c - a timer that wakes a thread polling its descriptor. */
#include "net/timer.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

int timer_open(struct timer *timer)
{
    timer->at_ms = UINT64_MAX;
    timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return timer->fd < 0 ? -errno : 0;
}

/* Fire in `ms` milliseconds and `ns` nanoseconds; never if both are 0. */
static bool set_timer(const struct timer *timer, uint64_t ms, long ns)
{
    struct itimerspec when = {{0, 0}, {0, 0}};

    when.it_value.tv_sec = (time_t)(ms / 1000);
    when.it_value.tv_nsec = (long)(ms % 1000) * 1000000 + ns;
    return timerfd_settime(timer->fd, 0, &when, NULL) == 0;
}

void timer_arm(struct timer *timer, uint64_t at_ms, uint64_t now_ms)
{
    if (at_ms < timer->at_ms &&
        set_timer(timer, at_ms > now_ms ? at_ms - now_ms : 0, 1))
        timer->at_ms = at_ms;
}

bool timer_stop(struct timer *timer)
{
    if (!set_timer(timer, 0, 0))
        return false;
    timer->at_ms = UINT64_MAX;
    return true;
}

bool timer_rest(struct timer *timer, uint64_t now_ms)
{
    struct itimerspec left;

    if (timer->at_ms > now_ms && timer->at_ms != UINT64_MAX)
        return timerfd_gettime(timer->fd, &left) == 0;
    return timer_stop(timer);
}

bool timer_fire(const struct timer *timer)
{
    return set_timer(timer, 0, 1);
}
