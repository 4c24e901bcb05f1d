/* injection.c - kill or freeze this process on purpose. */
#include <coppice/status.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net/driver_parts.h"

/* Stop `process`, and continue it after `ms`. Runs in a child without shared
 * descriptors: a descriptor here would keep links open if `process` is
 * killed. */
static void injection_hold(pid_t process, uint32_t ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};

    syscall(SYS_close_range, 0, ~0U, 0);
    kill(process, SIGSTOP);
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
    if (getppid() == process)
        kill(process, SIGCONT);
    _exit(0);
}

/* A stopped process cannot continue itself. The end of a fork() child would
 * send the application SIGCHLD; this child sends no signal. The child only
 * makes system calls, because other threads may have held locks. */
static void freeze(uint32_t ms)
{
    pid_t self = getpid();
    pid_t child = (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);

    if (child == 0)
        injection_hold(self, ms);
    while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

void injection_suffer(int kind, uint32_t freeze_ms, struct connection *parent)
{
    if (kind == COP_INJECT_KILL)
        kill(getpid(), SIGKILL);
    else if (kind == COP_INJECT_FREEZE)
        freeze(freeze_ms);
    else if (parent)
        connection_reset(parent);
}
