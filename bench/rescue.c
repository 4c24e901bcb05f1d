/* rescue.c - one failure, in a new tree. */
#include "bench/rescue.h"

#include <err.h>
#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/duel.h"

void rescue_times_fini(struct rescue_times *times)
{
    sample_fini(&times->overall);
    sample_fini(&times->orphan);
    sample_fini(&times->choose);
    sample_fini(&times->connect);
    sample_fini(&times->compensate);
    sample_fini(&times->cleanup);
    sample_fini(&times->resumed);
    sample_fini(&times->trip);
    sample_fini(&times->behind);
}

int rescue_reap(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    double end_s = duel_now_s() + RESCUE_STUCK_MS / 1e3;
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 || errno == EINTR) {
        if (pid != 0)
            continue;
        if (duel_now_s() > end_s) {
            warnx("a process of the tree has not ended within %d ms",
                  RESCUE_STUCK_MS);
            return -ETIMEDOUT;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

int rescue_measure(const struct rescue *rescue,
                   uint32_t orphans,
                   struct rescue_times *times)
{
    void *tree;
    int ended, reaped;
    int r = rescue->start(&tree, orphans);

    if (r < 0)
        return r;
    r = rescue->fail(tree, times);
    ended = rescue->end(tree);
    reaped = rescue_reap();
    if (r == 0)
        r = ended;
    return r < 0 ? r : reaped;
}
