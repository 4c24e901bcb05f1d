/* process.c - a child process, by a descriptor that says when to look at it. */
#include "net/process.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/timer.h"

/* As process_look(). `*is_timer`: `fd` is no pidfd. */
static int look_at(
    int fd, pid_t pid, int options, siginfo_t *info, bool *is_timer)
{
    int r;

    info->si_pid = 0;
    r = waitid(P_PIDFD, (id_t)fd, info, options | WNOHANG);
    *is_timer = r < 0 && (errno == EBADF || errno == EINVAL);
    if (*is_timer)
        r = waitid(P_PID, (id_t)pid, info, options | WNOHANG);
    if (r < 0)
        return -errno;
    return info->si_pid != 0;
}

/* Make `fd`, a timer, readable after PROCESS_LOOK_MS. */
static void arm(int fd)
{
    struct timer timer = {.fd = fd, .at_ms = UINT64_MAX};

    timer_arm(&timer, PROCESS_LOOK_MS, 0);
}

int process_watch(pid_t pid)
{
    static atomic_bool no_pidfds; /* valgrind complains of each call */
    struct timer timer;
    int fd;
    int r;

    if (!no_pidfds) {
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd >= 0)
            return fd;
        if (errno == ESRCH)
            return -ESRCH;
        no_pidfds = errno == ENOSYS;
    }
    r = timer_open(&timer);
    if (r < 0)
        return r;
    arm(timer.fd);
    return timer.fd;
}

int process_look(int fd, pid_t pid, int options, siginfo_t *info)
{
    bool is_timer;
    int r = look_at(fd, pid, options, info, &is_timer);

    if (r == 0 && is_timer)
        arm(fd);
    return r;
}

void process_kill(int fd, pid_t pid, int signal)
{
    siginfo_t info;
    bool is_timer;
    int r = look_at(fd, pid, WEXITED | WNOWAIT, &info, &is_timer);

    if (!is_timer)
        syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    else if (r == 0)
        kill(pid, signal);
}
