/* guard.c - see guard.h. */
#include "stat/walk/guard.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/clock.h"

/* How often the guard checks while processes are held. */
#define LOOK_MS 100

/* The daemon is killed after this many late checks in a row: after a pause of
 * the whole machine it gets time to let the process go. */
#define LOOKS 3

/* Seconds for which the guard may block while it writes its message. */
#define SAY_S 1

/* Memory shared by the daemon and its guard. */
struct shared {
    _Atomic uint32_t watching;
    _Atomic uint64_t until_ms; /* of CLOCK_MONOTONIC; 0: nothing is held */
};

struct guard {
    struct shared *shared;
    pid_t pid;
};

/* The loop of the guard. */
static _Noreturn void run_guard(struct shared *shared, pid_t daemon)
{
    static const char said[] =
        "coppice-statd: was stopped while it held a process: it is killed, so "
        "that the process continues\n";
    struct timespec pause = {0, LOOK_MS * 1000000};
    unsigned late = 0;

    for (;;) {
        uint64_t until_ms;

        if (!atomic_load(&shared->watching)) {
            syscall(SYS_futex, &shared->watching, FUTEX_WAIT, 0, NULL, NULL, 0);
            late = 0;
            continue;
        }
        nanosleep(&pause, NULL);
        until_ms = atomic_load(&shared->until_ms);
        late = until_ms > 0 && clock_now_ms() > until_ms ? late + 1 : 0;
        if (late < LOOKS)
            continue;
        /* Kill first, since write() may block. The end of the daemon must not
         * end this process before its message is written. */
        prctl(PR_SET_PDEATHSIG, 0);
        kill(daemon, SIGKILL);
        alarm(SAY_S);
        _exit(write(STDERR_FILENO, said, sizeof(said) - 1) < 0);
    }
}

/* The guard process. It keeps only standard error open. In its own session it
 * gets no signals from a terminal. */
static _Noreturn void begin_guard(struct shared *shared, pid_t daemon)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != daemon)
        _exit(0);
    setsid();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    prctl(PR_SET_NAME, "coppice-guard");
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, 0);
    run_guard(shared, daemon);
}

int guard_new(struct guard **out)
{
    struct guard *guard = calloc(1, sizeof(*guard));
    pid_t daemon = getpid();
    int r;

    if (!guard)
        return -ENOMEM;
    guard->shared = mmap(NULL, sizeof(*guard->shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guard->shared == MAP_FAILED) {
        r = -errno;
        free(guard);
        return r;
    }
    guard->pid = fork();
    if (guard->pid == 0)
        begin_guard(guard->shared, daemon);
    if (guard->pid < 0) {
        r = -errno;
        munmap(guard->shared, sizeof(*guard->shared));
        free(guard);
        return r;
    }
    *out = guard;
    return 0;
}

void guard_free(struct guard *guard)
{
    if (!guard)
        return;
    kill(guard->pid, SIGKILL);
    waitpid(guard->pid, NULL, 0);
    munmap(guard->shared, sizeof(*guard->shared));
    free(guard);
}

void guard_watch(struct guard *guard)
{
    if (!guard || atomic_exchange(&guard->shared->watching, 1))
        return;
    syscall(SYS_futex, &guard->shared->watching, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void guard_idle(struct guard *guard)
{
    if (guard)
        atomic_store(&guard->shared->watching, 0);
}

void guard_arm(struct guard *guard, uint64_t max_ms)
{
    if (guard)
        atomic_store(&guard->shared->until_ms,
                     clock_now_ms() + max_ms + GUARD_GRACE_MS);
}

void guard_disarm(struct guard *guard)
{
    if (guard)
        atomic_store(&guard->shared->until_ms, 0);
}
