/* test_stop.c - threads that end while they are stopped are waited for. */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/walk/stop.h"
#include "test/stat/walk/process.h"

#define PATIENCE_NS ((uint64_t)PATIENCE_MS * 1000000)

/* Make PTRACE_INTERRUPT fail, as for a thread that has just ended. Returns
 * whether that works here. */
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

/* A process that stops `pid`, releases it, and lives on. Writes the result to
 * `to`: '!' for success, 'x' for a failure, '?' if it cannot be tested here. */
static _Noreturn void tracer_run(pid_t pid, int to)
{
    struct stragglers *stragglers = NULL;
    struct stop *stop = NULL;
    struct cop_error error;
    char byte = '?';

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (interrupts_fail()) {
        byte = stragglers_new(&stragglers) == 0 &&
                       stop_new(&stop, stragglers, pid, 1000000000, PATIENCE_NS,
                                1, STOP_SPARES_NONE, &error) == 0
                   ? '!'
                   : 'x';
        stop_free(stop);
    }
    if (write(to, &byte, 1) == 1)
        for (;;)
            pause();
    _exit(1);
}

static bool is_traced(pid_t pid)
{
    return status_number(pid, "TracerPid:") > 0;
}

/* How often `pid` has gone to sleep. */
static long sleeps_of(pid_t pid)
{
    return status_number(pid, "voluntary_ctxt_switches:");
}

/* The state of a thread of `pid` other than the first; 0: there is none. */
static char state_of_second(pid_t pid)
{
    char path[64], state = 0;
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid > 0 && tid != pid)
            state = thread_state(pid, tid);
    }
    if (folder)
        closedir(folder);
    return state;
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* A process whose second thread can be stopped, but not its first, which waits
 * in vfork() for its child. The child writes to `to`. */
static _Noreturn void half_stoppable(int to)
{
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, sleep_on, NULL) == 0 && vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(to, "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    _exit(1);
}

/* Kill `pid` when the parent, its tracer, has seen that a thread has stopped:
 * the tracer looks after each of its sleeps. */
static _Noreturn void kill_half_stopped(pid_t pid)
{
    long sleeps;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    AWAIT(state_of_second(pid) == 't');
    sleeps = sleeps_of(getppid());
    AWAIT(sleeps_of(getppid()) >= sleeps + 3);
    _exit(kill(pid, SIGKILL) != 0);
}

/* If a process is killed while only one of its threads has stopped, the tracer
 * sees its end long before the deadline. */
TEST(a_process_killed_while_half_stopped_has_ended)
{
    uint64_t begin_ms = clock_now_ms();
    struct stragglers *stragglers = NULL;
    struct stop *stop = NULL;
    struct cop_error error;
    pid_t pid, killer;
    int said[2];
    char byte;

    CU_ASSERT_FATAL(pipe(said) == 0);
    pid = fork();
    if (pid == 0)
        half_stoppable(said[1]);
    CU_ASSERT_FATAL(pid > 0);
    close(said[1]);
    CU_ASSERT_EQUAL_FATAL(read(said[0], &byte, 1), 1);
    close(said[0]);
    AWAIT(state_of_second(pid) == 'S');
    killer = fork();
    if (killer == 0)
        kill_half_stopped(pid);
    CU_ASSERT_FATAL(killer > 0);
    CU_ASSERT_EQUAL_FATAL(stragglers_new(&stragglers), 0);
    CU_ASSERT_EQUAL_FATAL(stop_new(&stop, stragglers, pid, PATIENCE_NS,
                                   PATIENCE_NS, 16, STOP_SPARES_NONE, &error),
                          0);
    CU_ASSERT(clock_now_ms() - begin_ms < PATIENCE_MS);
    CU_ASSERT_EQUAL(stop_count(stop), 2);
    CU_ASSERT(!stop_is_alive(stop));
    stop_free(stop);
    stragglers_free(stragglers);
    CU_ASSERT_EQUAL(waitpid(killer, NULL, 0), killer);
    waitpid(pid, NULL, 0);
}

/* If a process ends after PTRACE_SEIZE and before PTRACE_INTERRUPT, its parent
 * can wait for it at once. */
TEST(a_process_that_ends_is_waited_for)
{
    pid_t pid = fork(), tracer, found;
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
    /* The tracer writes if it cannot test this, or has already done so. */
    AWAIT(is_traced(pid) || poll(&answer, 1, 0) != 0);
    CU_ASSERT_EQUAL(kill(pid, SIGKILL), 0);
    CU_ASSERT_EQUAL(read(said[0], &byte, 1), 1);
    if (byte == '?')
        printf("skipped: no system call can be made to fail here ");
    else
        CU_ASSERT_EQUAL(byte, '!');
    AWAIT((found = waitpid(pid, NULL, WNOHANG)) != 0);
    CU_ASSERT_EQUAL(found, pid);
    kill(tracer, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(tracer, NULL, 0), tracer);
    if (found != pid)
        waitpid(pid, NULL, 0);
    close(said[0]);
}
