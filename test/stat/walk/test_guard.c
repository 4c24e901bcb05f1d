/* test_guard.c - a guard kills its process if that is stopped for too long,
 * also if the guard cannot write its message. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2() */
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/walk/guard.h"
#include "test/stat/walk/process.h"

/* Start a process that arms its guard and stops itself. Both have `err` as
 * standard error. Returns the pid of the process. */
static pid_t frozen_start(int err)
{
    struct guard *guard;
    pid_t pid = fork();

    CU_ASSERT_FATAL(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(err, STDERR_FILENO) < 0 || guard_new(&guard) < 0)
        _exit(1);
    guard_watch(guard);
    guard_arm(guard, 0);
    raise(SIGSTOP);
    _exit(2);
}

/* Wait until a child has ended. Returns whether it has. */
static bool await(pid_t pid, int *status)
{
    pid_t found;

    AWAIT((found = waitpid(pid, status, WNOHANG)) != 0);
    return found > 0;
}

/* Check that the guard kills process `pid`, and then ends itself; the guard
 * becomes a child of this process. */
static void is_ended(pid_t pid)
{
    int status = 0;
    bool ended = await(pid, &status);

    CU_ASSERT(ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (!ended)
        kill(pid, SIGKILL);
    CU_ASSERT(await(-1, &status));
}

/* The guard reports what it has done. */
TEST(the_guard_says_so)
{
    char said[256];
    int err[2];
    ssize_t len;

    CU_ASSERT_FATAL(pipe2(err, O_CLOEXEC) == 0);
    is_ended(frozen_start(err[1]));
    close(err[1]);
    len = read(err[0], said, sizeof(said) - 1);
    CU_ASSERT_FATAL(len > 0);
    said[len] = '\0';
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "the process continues"));
    close(err[0]);
}

/* Standard error is a full pipe that no process reads. */
TEST(a_full_pipe_does_not_hold_the_guard)
{
    char byte = 'x';
    int err[2];

    CU_ASSERT_FATAL(pipe2(err, O_CLOEXEC | O_NONBLOCK) == 0);
    while (write(err[1], &byte, 1) == 1)
        ;
    CU_ASSERT_FATAL(fcntl(err[1], F_SETFL, 0) == 0);
    is_ended(frozen_start(err[1]));
    close(err[0]);
    close(err[1]);
}

/* Standard error is a pipe without a reader. */
TEST(a_closed_pipe_does_not_end_the_guard)
{
    int err[2];

    CU_ASSERT_FATAL(pipe2(err, O_CLOEXEC) == 0);
    close(err[0]);
    is_ended(frozen_start(err[1]));
    close(err[1]);
}

int main(void)
{
    /* A guard outlives the process that it kills. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 77;
    return check_run("guard");
}
