/* linkage.c - a process that is stopped in the linkage table, before the called
 * function has begun. Prints the pid of the process, and kills it at the end of
 * the input. test-calls compiles it. */
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

/* Whether the process is at a jump of the linkage table. */
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
