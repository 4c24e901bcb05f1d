/* test_process.c - a child process is watched, with pidfds and without.
 *
 * test/frontend/test-valgrind runs it without. */
#include "net/process.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/spawn.h"
#include "test/check.h"
#include "test/patience.h"

/* Start `sh -c command`. Returns its descriptor. */
static int start(const char *command, pid_t *pid)
{
    struct spawn spawn = SPAWN_INIT;
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(command), NULL};
    int fd;

    spawn.argv = argv;
    fd = spawn_process(&spawn, pid);
    CHECK_OK(fd);
    free(argv[2]);
    return fd;
}

/* Wait for the end. Returns what process_look() does. */
static int end_of(int fd, pid_t pid, siginfo_t *info)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    int r = 0;

    while (r == 0 && poll(&poller, 1, PATIENCE_MS) > 0)
        r = process_look(fd, pid, WEXITED, info);
    return r;
}

TEST(end_of_a_child_makes_its_descriptor_readable)
{
    siginfo_t info;
    pid_t pid;
    int fd = start("exit 7", &pid);

    CHECK_IS(end_of(fd, pid, &info), 1);
    CHECK_IS(info.si_code, CLD_EXITED);
    CHECK_IS(info.si_status, 7);
    CHECK_OK(close(fd));
}

TEST(running_child_is_stopped_and_killed)
{
    siginfo_t info;
    pid_t pid;
    int fd = start("exec sleep 1000", &pid);

    CHECK_IS(process_look(fd, pid, WEXITED, &info), 0);
    CHECK_IS(process_look(fd, pid, WSTOPPED | WNOWAIT, &info), 0);
    process_kill(fd, pid, SIGSTOP);
    CHECK_OK(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT));
    CHECK_IS(process_look(fd, pid, WSTOPPED | WNOWAIT, &info), 1);
    process_kill(fd, pid, SIGKILL);
    CHECK_IS(end_of(fd, pid, &info), 1);
    CHECK_IS(info.si_code, CLD_KILLED);
    CHECK_IS(info.si_status, SIGKILL);
    CHECK_OK(close(fd));
}

/* PROTOCOL 14.4 */
TEST(child_that_another_wait_has_reaped_has_ended)
{
    siginfo_t info;
    pid_t pid;
    int fd = start("exit 0", &pid);

    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CHECK_IS(end_of(fd, pid, &info), -ECHILD);
    process_kill(fd, pid, SIGKILL);
    CHECK_OK(close(fd));
}
