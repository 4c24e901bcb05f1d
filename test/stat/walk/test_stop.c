/* test_stop.c - threads that end while they are stopped are waited for. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/walk/stop.h"
#include "test/check.h"

/* How long anything may take, at most. */
#define PATIENCE_S 120

static time_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* From now on PTRACE_INTERRUPT fails, as for a thread that has just ended.
 * Returns whether that is so. */
static bool interrupts_fail(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_INTERRUPT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ESRCH),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* What stops `pid`, and lets it go, and lives on. Says on `to` how that went:
 * '?' if there is no way to try it. */
static _Noreturn void tracer_run(pid_t pid, int to)
{
    struct stragglers *stragglers = NULL;
    struct stop *stop = NULL;
    struct cop_error error;
    char byte = '?';

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (interrupts_fail()) {
        byte = stragglers_new(&stragglers) == 0 &&
                       stop_new(&stop, stragglers, pid, 1000000000,
                                (uint64_t)PATIENCE_S * 1000000000, 1, false,
                                &error) == 0
                   ? '!'
                   : 'x';
        stop_free(stop);
    }
    if (write(to, &byte, 1) == 1)
        for (;;)
            pause();
    _exit(1);
}

/* Whether somebody traces `pid`. */
static bool is_traced(pid_t pid)
{
    char path[64], line[256];
    long tracer = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "TracerPid:", 10) == 0)
            tracer = strtol(line + 10, NULL, 10);
    fclose(file);
    return tracer > 0;
}

/* A process that ends between being seized and being interrupted is its
 * parent's at once. */
TEST(who_ends_is_waited_for)
{
    time_t end_s = now_s() + PATIENCE_S;
    pid_t pid = fork(), tracer, found = 0;
    struct pollfd answer;
    char byte = 0;
    int said[2];

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    CU_ASSERT_FATAL(pid > 0 && pipe(said) == 0);
    tracer = fork();
    if (tracer == 0)
        tracer_run(pid, said[1]);
    CU_ASSERT_FATAL(tracer > 0);
    close(said[1]);
    answer = (struct pollfd){.fd = said[0], .events = POLLIN};
    /* Who cannot try it, or has done so already, says so. */
    while (!is_traced(pid) && poll(&answer, 1, 0) == 0 && now_s() < end_s)
        sched_yield();
    CU_ASSERT_EQUAL(kill(pid, SIGKILL), 0);
    CU_ASSERT_EQUAL(read(said[0], &byte, 1), 1);
    if (byte == '?')
        printf("skipped: no system call can be made to fail here ");
    else
        CU_ASSERT_EQUAL(byte, '!');
    while (found == 0 && now_s() < end_s) {
        sched_yield();
        found = waitpid(pid, NULL, WNOHANG);
    }
    CU_ASSERT_EQUAL(found, pid);
    kill(tracer, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(tracer, NULL, 0), tracer);
    if (found != pid)
        waitpid(pid, NULL, 0);
    close(said[0]);
}
