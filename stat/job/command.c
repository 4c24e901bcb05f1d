/* command.c - see command.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2() */
#endif
#include "stat/job/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/clock.h"
#include "stat/job/processes.h"

/* How often to check whether the command has moved. */
#define POLL_NS 100000000L

int command_start(pid_t *pid, char *const *argv, struct cop_error *error)
{
    int ends[2], failure = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return cop_error_set(error, -errno, "%s: cannot start it: %s", argv[0],
                             strerror(errno));
    /* If it is ignored, as some parents have it, the end cannot be waited for. */
    signal(SIGCHLD, SIG_DFL);
    child = fork();
    if (child == 0) {
        ssize_t len;

        execvp(argv[0], argv);
        failure = errno;
        len = write(ends[1], &failure, sizeof(failure));
        _exit(len == (ssize_t)sizeof(failure) ? 127 : 126);
    }
    if (child < 0)
        failure = errno;
    close(ends[1]);
    /* If the start succeeds, the other end closes without data. */
    if (child > 0 && read(ends[0], &failure, sizeof(failure)) > 0)
        waitpid(child, NULL, 0);
    close(ends[0]);
    if (failure)
        return cop_error_set(error, -failure, "%s: cannot start it: %s",
                             argv[0], strerror(failure));
    *pid = child;
    return 0;
}

/* A number that changes when a process below `pid` begins, ends or runs. */
static int movement(uint64_t *out, pid_t pid)
{
    struct targets targets = {0};
    struct cop_error error;
    uint64_t sum = process_ticks(pid);
    int r;

    r = targets_add_children(&targets, pid, &error);
    for (uint32_t i = 0; i < targets.count; i++)
        sum = sum * 31 + process_ticks(targets.pids[i]) * 7 +
              (uint64_t)targets.pids[i];
    targets_fini(&targets);
    if (r == -ENOMEM)
        return r;
    *out = sum;
    return 0;
}

int command_await(pid_t pid, uint32_t after_s, int *status)
{
    uint32_t wait_s = after_s ? after_s : COMMAND_QUIET_S;
    uint64_t since = clock_now_ns(), last = 0, moved = 0;
    int ended, r;

    do {
        nanosleep(&(struct timespec){0, POLL_NS}, NULL);
        if (waitpid(pid, &ended, WNOHANG) == pid) {
            *status =
                WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
            return 1;
        }
        if (after_s > 0)
            continue;
        r = movement(&moved, pid);
        if (r < 0)
            return r;
        if (moved != last)
            since = clock_now_ns();
        last = moved;
    } while (clock_now_ns() - since < (uint64_t)wait_s * 1000000000);
    return 0;
}

int command_targets(struct targets *targets,
                    pid_t pid,
                    void (*say)(const char *line),
                    struct cop_error *error)
{
    int r = targets_add_mpir(targets, pid, say, error);

    return r == -ENOENT ? targets_add(targets, 0, pid, NULL) : r;
}
