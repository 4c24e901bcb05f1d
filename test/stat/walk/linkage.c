/* linkage.c - a process that is stopped where it has jumped into the linkage table,
 * before the function there has begun. Prints its pid, and ends it when the input
 * does. test-calls compiles it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static long spin(void)
{
    volatile long found = 0;

    for (;;)
        found = labs(found);
    return found;
}

/* Whether the process is at a jump that the linkage table has. */
static int is_at_jump(pid_t pid)
{
    struct user_regs_struct user;

    return ptrace(PTRACE_GETREGS, pid, NULL, &user) == 0 &&
           (ptrace(PTRACE_PEEKTEXT, pid, (void *)user.rip, NULL) & 0xffff) ==
               0x25ff;
}

int main(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            raise(SIGSTOP);
        return (int)spin();
    }
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
           !is_at_jump(pid))
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
    ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)SIGSTOP);
    printf("%d\n", (int)pid);
    fflush(stdout);
    getchar();
    kill(pid, SIGKILL);
    return waitpid(pid, &status, 0) != pid;
}
