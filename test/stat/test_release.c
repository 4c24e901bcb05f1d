/* test_release.c - what a daemon holds goes on, whatever becomes of the daemon:
 * the whole tool on a real process, its daemon killed or stopped in the middle
 * of a walk. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/thread.h"
#include "test/check.h"

/* So deep that a walk takes a while. */
#define DEPTH 20000

/* How long anything may take, at most. */
#define PATIENCE_S 120

#define ROUNDS 3

/* A process that works, and counts how much it has done. */
struct job {
    pid_t pid;
    _Atomic uint64_t *done;
};

static time_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void *work(void *arg)
{
    _Atomic uint64_t *done = arg;
    struct timespec pause = {0, 1000000};

    for (;;) {
        atomic_fetch_add(done, 1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

__attribute__((noinline)) static void release_deep(int depth, int ready)
{
    if (depth > 0)
        release_deep(depth - 1, ready);
    else if (write(ready, "!", 1) == 1)
        for (;;)
            pause();
    __asm__ volatile("" ::: "memory");
}

static struct job job_start(void)
{
    struct job job;
    pthread_t thread;
    int ready[2];
    char byte;

    job.done = mmap(NULL, sizeof(*job.done), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(job.done != MAP_FAILED && pipe(ready) == 0);
    job.pid = fork();
    CU_ASSERT_FATAL(job.pid >= 0);
    if (job.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, work, job.done);
        release_deep(DEPTH, ready[1]);
        _exit(1);
    }
    close(ready[1]);
    CU_ASSERT_EQUAL_FATAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return job;
}

/* End it; it must have lived until then. */
static void job_end(struct job *job)
{
    int status;

    CU_ASSERT_EQUAL(waitpid(job->pid, &status, WNOHANG), 0);
    kill(job->pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(job->pid, &status, 0), job->pid);
    munmap(job->done, sizeof(*job->done));
}

static bool job_goes_on(const struct job *job)
{
    uint64_t before = atomic_load(job->done);
    time_t end_s = now_s() + PATIENCE_S;

    while (atomic_load(job->done) < before + 5 && now_s() < end_s)
        sched_yield();
    return atomic_load(job->done) >= before + 5;
}

/* The state of a process; 0 if it is gone. */
static char state_of(pid_t pid)
{
    struct thread_status status;

    return thread_status(&status, pid, pid) == 0 ? status.state : 0;
}

/* Wait until a process has ended, waited for or not. */
static bool has_ended(pid_t pid)
{
    time_t end_s = now_s() + PATIENCE_S;

    while (state_of(pid) != 0 && !thread_has_ended(state_of(pid)) &&
           now_s() < end_s)
        sched_yield();
    return state_of(pid) == 0 || thread_has_ended(state_of(pid));
}

/* Who traces `pid`; 0 for nobody. */
static pid_t tracer_of(pid_t pid)
{
    char path[64], line[256];
    pid_t tracer = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "TracerPid:", 10) == 0)
            tracer = (pid_t)strtol(line + 10, NULL, 10);
    fclose(file);
    return tracer;
}

/* Wait until nobody traces `pid`, and its state is one of `states`. */
static bool is_let_go(pid_t pid, const char *states)
{
    time_t end_s = now_s() + PATIENCE_S;

    while ((tracer_of(pid) != 0 || !strchr(states, state_of(pid))) &&
           now_s() < end_s)
        sched_yield();
    return tracer_of(pid) == 0 && strchr(states, state_of(pid));
}

/* Look at the job, again and again. */
static pid_t tool_start(const struct job *job,
                        const char *max_stop_ms,
                        const char *interval_ms)
{
    const char *build = getenv("BUILD");
    char tool[4096], daemon[4096], pid_text[16];
    pid_t pid;
    int null;

    CU_ASSERT_PTR_NOT_NULL_FATAL(build);
    snprintf(tool, sizeof(tool), "%s/stat/coppice-stat", build);
    snprintf(daemon, sizeof(daemon), "%s/stat/coppice-statd", build);
    snprintf(pid_text, sizeof(pid_text), "%d", (int)job->pid);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("COPPICE_STATD", daemon, 1);
    null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl(tool, tool, "--samples", "10000", "--interval", interval_ms,
          "--max-stop", max_stop_ms, "--timeout", "60", pid_text, (char *)NULL);
    _exit(127);
}

/* Its daemon is gone: it must end, and say that the answer is not whole. */
static void tool_end(pid_t pid)
{
    int status;

    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT(WEXITSTATUS(status) == 2 || WEXITSTATUS(status) == 3);
}

/* Stop the daemon at a moment when it holds the job: when that is seen, the
 * daemon stands still already, so it is certain. Returns its pid. */
static pid_t catch_daemon(const struct job *job)
{
    time_t end_s = now_s() + PATIENCE_S;
    struct thread_status status;

    while (now_s() < end_s) {
        pid_t daemon = tracer_of(job->pid);

        if (daemon == 0)
            continue;
        CHECK_OK(thread_status(&status, daemon, daemon));
        CU_ASSERT_STRING_EQUAL_FATAL(status.name, "coppice-statd");
        kill(daemon, SIGSTOP);
        while (state_of(daemon) != 'T' && state_of(daemon) != 0)
            sched_yield();
        if (tracer_of(job->pid) == daemon && state_of(job->pid) == 't')
            return daemon;
        kill(daemon, SIGCONT);
    }
    CU_FAIL_FATAL("no walk was seen");
    return 0;
}

/* Whether gdb can attach, and sees where the job is. */
static bool gdb_attaches(const struct job *job)
{
    char command[256], line[1024];
    bool seen = false;
    FILE *gdb;

    snprintf(command, sizeof(command),
             "gdb -nx -batch -p %d -ex 'bt 8' 2>/dev/null </dev/null",
             (int)job->pid);
    gdb = popen(command, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(gdb);
    while (fgets(line, sizeof(line), gdb))
        seen |= strstr(line, "release_deep") != NULL;
    return pclose(gdb) == 0 && seen;
}

/* A daemon that is killed in the middle of a walk holds nothing any more: the
 * job goes on, and a debugger can have it. */
static void a_killed_daemon_lets_go(void)
{
    bool has_gdb = system("gdb --version >/dev/null 2>&1") == 0;
    struct job job = job_start();
    int round;

    for (round = 0; round < ROUNDS; round++) {
        pid_t tool = tool_start(&job, "60000", "1");
        pid_t daemon = catch_daemon(&job);

        CU_ASSERT_EQUAL(kill(daemon, SIGKILL), 0);
        CU_ASSERT(is_let_go(job.pid, "RS"));
        CU_ASSERT(job_goes_on(&job));
        tool_end(tool);
    }
    if (has_gdb)
        CU_ASSERT(gdb_attaches(&job));
    CU_ASSERT(job_goes_on(&job));
    job_end(&job);
}

/* What was stopped before stays so, also then. */
static void a_stopped_job_stays_stopped(void)
{
    struct job job = job_start();
    uint64_t done;
    pid_t daemon;
    pid_t tool;

    CU_ASSERT_EQUAL(kill(job.pid, SIGSTOP), 0);
    CU_ASSERT(is_let_go(job.pid, "T"));
    tool = tool_start(&job, "60000", "1");
    daemon = catch_daemon(&job);
    done = atomic_load(job.done);
    CU_ASSERT_EQUAL(kill(daemon, SIGKILL), 0);
    CU_ASSERT(is_let_go(job.pid, "T"));
    tool_end(tool);
    CU_ASSERT_EQUAL(state_of(job.pid), 'T');
    CU_ASSERT_EQUAL(atomic_load(job.done), done);
    CU_ASSERT_EQUAL(kill(job.pid, SIGCONT), 0);
    CU_ASSERT(job_goes_on(&job));
    job_end(&job);
}

/* A daemon that is itself stopped while it holds a process is ended by its
 * guard: nobody else has to. */
static void a_stopped_daemon_is_ended(void)
{
    struct job job = job_start();
    pid_t tool = tool_start(&job, "50", "1");
    pid_t daemon = catch_daemon(&job);

    CU_ASSERT(is_let_go(job.pid, "RS"));
    CU_ASSERT(has_ended(daemon));
    CU_ASSERT(job_goes_on(&job));
    tool_end(tool);
    job_end(&job);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"a killed daemon lets go", a_killed_daemon_lets_go},
        {"a stopped job stays stopped", a_stopped_job_stays_stopped},
        {"a stopped daemon is ended", a_stopped_daemon_is_ended},
        CU_TEST_INFO_NULL,
    };
    return check_run("release", tests);
}
