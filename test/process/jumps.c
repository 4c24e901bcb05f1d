/* jumps.c - a preloaded library: the time of day jumps forth and back by an
 * hour, ten times per second. The monotonic clock is unchanged. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Call the system's clock_gettime(). */
static int ask(clockid_t clock, struct timespec *out)
{
    return (int)syscall(SYS_clock_gettime, clock, out);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    struct timespec since;
    int r = ask(clock, out);

    if (r == 0 && clock == CLOCK_REALTIME && ask(CLOCK_MONOTONIC, &since) == 0)
        out->tv_sec += since.tv_nsec / 100000000 % 2 ? 3600 : -3600;
    return r;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
