/* test_release.c - a process that a daemon holds is as it was before if the
 * daemon is killed or stopped in the middle of a walk. The test runs the whole
 * tool on a real process. With an argument this program is such a process
 * itself. That running processes go on when anything of the tool is killed, is
 * tested by test/stat/kills.py. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2() */
#endif
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/walk/guard.h"
#include "test/stat/walk/process.h"

/* With such a deep stack a walk takes some 100 ms of processor time. After
 * WALK_BEGUN_NS of it, the daemon has stopped all threads. */
#define DEPTH         20000
#define WALK_BEGUN_NS 1000000

#define ROUNDS 3

/* A process that works, and counts its steps. */
struct job {
    pid_t pid;
    _Atomic uint64_t *done;
};

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

/* Kill the job; it must have been alive until then. */
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

    AWAIT(atomic_load(job->done) >= before + 5);
    return atomic_load(job->done) >= before + 5;
}

static bool is_alive(pid_t pid)
{
    char state = thread_state(pid, pid);

    return state != 0 && !thread_has_ended(state);
}

/* Wait until a process has ended or is a zombie. */
static bool has_ended(pid_t pid)
{
    AWAIT(!is_alive(pid));
    return !is_alive(pid);
}

/* The tracer of `pid`; 0 if there is none. */
static pid_t tracer_of(pid_t pid)
{
    return (pid_t)status_number(pid, "TracerPid:");
}

/* Wait until `pid` has no tracer, and its state is one of `states`. */
static bool is_let_go(pid_t pid, const char *states)
{
    bool is;

    AWAIT((is = tracer_of(pid) == 0 && strchr(states, thread_state(pid, pid))));
    return is;
}

/* More samples than any test waits for. */
#define FOR_EVER "10000"

/* Look at a process `samples` times. Under SCHED_OTHER the daemon raises its
 * priority while it holds a process, as for a user, so that a busy machine does
 * not prolong the stop. Under SCHED_BATCH it does not: a test that stops the
 * daemon during a walk must run meanwhile, also on a single processor. */
static pid_t tool_start(pid_t job,
                        int policy,
                        const char *samples,
                        const char *max_stop_ms,
                        const char *interval_ms)
{
    const char *build = getenv("BUILD");
    char tool[4096], daemon[4096], pid_text[16];
    struct sched_param none = {0};
    pid_t pid;
    int null;

    CU_ASSERT_PTR_NOT_NULL_FATAL(build);
    snprintf(tool, sizeof(tool), "%s/stat/coppice-stat", build);
    snprintf(daemon, sizeof(daemon), "%s/run/coppice-statd", build);
    snprintf(pid_text, sizeof(pid_text), "%d", (int)job);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setscheduler(0, policy, &none);
    setenv("COPPICE_STATD", daemon, 1);
    null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl(tool, tool, "--samples", samples, "--interval", interval_ms,
          "--max-stop", max_stop_ms, "--timeout", "60", pid_text, (char *)NULL);
    _exit(127);
}

/* Check that the tool, whose daemon is lost, exits with a status that says that
 * the answer is not whole (2), or that there is none (3). */
static void tool_end(pid_t pid)
{
    int status;

    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT(WEXITSTATUS(status) == 2 || WEXITSTATUS(status) == 3);
}

/* Kill the tool while it works. The processes that it has started end, too. */
static void tool_kill(pid_t pid)
{
    CU_ASSERT_EQUAL(kill(pid, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* The processor time of `pid`; 0 if it is gone. */
static uint64_t worked_ns(pid_t pid)
{
    struct timespec worked;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 ||
        clock_gettime(clock, &worked) < 0)
        return 0;
    return (uint64_t)worked.tv_sec * 1000000000 + (uint64_t)worked.tv_nsec;
}

/* Wait until the daemon, which holds the job, has worked for WALK_BEGUN_NS and
 * so unwinds. Returns false if it has released the job before. */
static bool walk_has_begun(const struct job *job, pid_t daemon)
{
    uint64_t begin_ns = worked_ns(daemon);

    while (tracer_of(job->pid) == daemon)
        if (worked_ns(daemon) > begin_ns + WALK_BEGUN_NS)
            return true;
    return false;
}

/* Stop the daemon, and check that it still holds the job: then it is in the
 * middle of a walk. Returns its pid; 0 if it does not hold the job, or is gone,
 * for example because its guard has killed it after a long stop. */
static pid_t stop_walk(const struct job *job, pid_t daemon)
{
    struct thread_status status;

    if (!walk_has_begun(job, daemon))
        return 0;
    CHECK_OK(thread_status(&status, daemon, daemon));
    CU_ASSERT_STRING_EQUAL_FATAL(status.name, "coppice-statd");
    kill(daemon, SIGSTOP);
    while (thread_state(daemon, daemon) != 'T' && is_alive(daemon))
        sched_yield();
    if (tracer_of(job->pid) == daemon &&
        thread_state(job->pid, job->pid) == 't')
        return daemon;
    kill(daemon, SIGCONT);
    return 0;
}

/* A look at a job, caught in the middle of a walk. */
struct look {
    pid_t tool;
    pid_t daemon; /* stopped */
};

/* Look at a process again and again until a walk is caught. If the daemon is
 * lost, kill its tool and start another one. */
static struct look catch_walk(const struct job *job,
                              const char *max_stop_ms,
                              const char *interval_ms)
{
    uint64_t end_ms = clock_now_ms() + PATIENCE_MS;
    struct look look = {0};
    pid_t seen = 0; /* the daemon of this tool */

    while (clock_now_ms() < end_ms) {
        pid_t daemon = tracer_of(job->pid);

        if (look.tool == 0)
            look.tool = tool_start(job->pid, SCHED_BATCH, FOR_EVER, max_stop_ms,
                                   interval_ms);
        if (daemon != 0) {
            seen = daemon;
            look.daemon = stop_walk(job, daemon);
            if (look.daemon != 0)
                return look;
        }
        if (!is_alive(look.tool) || (seen != 0 && !is_alive(seen))) {
            kill(look.tool, SIGKILL);
            waitpid(look.tool, NULL, 0);
            look.tool = seen = 0;
        }
    }
    CU_FAIL_FATAL("no walk was seen");
    return look;
}

/* A process whose first thread waits in vfork() for its child's end, and so
 * cannot stop. The process writes a byte when that thread continues. */
struct stuck {
    pid_t pid;
    int end;  /* the child ends when this pipe is closed */
    int said; /* the output of the process */
};

static void *rest(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* The main function of such a process. */
static int stuck_run(void)
{
    pthread_t thread;
    char byte;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, rest, NULL) != 0)
        return EXIT_FAILURE;
    if (vfork() == 0) {
        write(STDOUT_FILENO, "!", 1) == 1 ? read(STDIN_FILENO, &byte, 1) : 0;
        _exit(0);
    }
    byte = '?';
    return write(STDOUT_FILENO, &byte, 1) == 1 ? pause() : EXIT_FAILURE;
}

static struct stuck stuck_start(const char *program)
{
    struct stuck stuck;
    int end[2], said[2];
    char byte;

    CU_ASSERT_FATAL(pipe2(end, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0);
    stuck.pid = fork();
    CU_ASSERT_FATAL(stuck.pid >= 0);
    if (stuck.pid == 0) {
        dup2(end[0], STDIN_FILENO);
        dup2(said[1], STDOUT_FILENO);
        execl(program, program, "stuck", (char *)NULL);
        _exit(127);
    }
    close(end[0]);
    close(said[1]);
    stuck.end = end[1];
    stuck.said = said[0];
    CU_ASSERT_EQUAL_FATAL(read(stuck.said, &byte, 1), 1);
    return stuck;
}

/* End the child, and wait until the process continues. */
static bool stuck_goes_on(struct stuck *stuck)
{
    struct pollfd said = {.fd = stuck->said, .events = POLLIN};
    char byte = 0;

    close(stuck->end);
    return poll(&said, 1, PATIENCE_MS) == 1 &&
           read(stuck->said, &byte, 1) == 1 && byte == '?';
}

static void stuck_end(struct stuck *stuck)
{
    close(stuck->said);
    kill(stuck->pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(stuck->pid, NULL, __WALL), stuck->pid);
}

/* Wait until a daemon has seized the first thread of `pid`, which is stuck.
 * Returns the pid of the daemon. */
static pid_t await_late(pid_t pid)
{
    pid_t daemon;

    AWAIT((daemon = tracer_of(pid)) != 0);
    CU_ASSERT_NOT_EQUAL_FATAL(daemon, 0);
    CU_ASSERT_EQUAL(thread_state(pid, pid), 'D');
    return daemon;
}

/* Make a stripped copy of this program at `path`. Its debug link names `debug`,
 * which is a FIFO: a process that opens it waits. */
static void copy_without_names(const char *path, const char *debug)
{
    char command[12288];
    FILE *file = fopen(debug, "we");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    snprintf(command, sizeof(command),
             "objcopy --strip-all --add-gnu-debuglink='%s' /proc/%d/exe '%s'",
             debug, (int)getpid(), path);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    CU_ASSERT_EQUAL_FATAL(unlink(debug), 0);
    CU_ASSERT_EQUAL_FATAL(mkfifo(debug, 0600), 0);
}

/* A job that was stopped before stays stopped if the daemon is killed. */
TEST(a_stopped_job_stays_stopped)
{
    struct job job = job_start();
    struct look look;
    uint64_t done;

    CU_ASSERT_EQUAL(kill(job.pid, SIGSTOP), 0);
    CU_ASSERT(is_let_go(job.pid, "T"));
    look = catch_walk(&job, "60000", "1");
    done = atomic_load(job.done);
    CU_ASSERT_EQUAL(kill(look.daemon, SIGKILL), 0);
    CU_ASSERT(is_let_go(job.pid, "T"));
    tool_end(look.tool);
    CU_ASSERT_EQUAL(thread_state(job.pid, job.pid), 'T');
    CU_ASSERT_EQUAL(atomic_load(job.done), done);
    CU_ASSERT_EQUAL(kill(job.pid, SIGCONT), 0);
    CU_ASSERT(job_goes_on(&job));
    job_end(&job);
}

/* If a daemon is stopped while it holds a process, its guard kills it. */
TEST(a_stopped_daemon_is_ended)
{
    struct job job = job_start();
    struct look look = catch_walk(&job, "50", "1");

    CU_ASSERT(is_let_go(job.pid, "RS"));
    CU_ASSERT(has_ended(look.daemon));
    CU_ASSERT(job_goes_on(&job));
    tool_end(look.tool);
    job_end(&job);
}

/* Kill a process while a daemon holds it, and check that its parent can wait
 * for it. Returns whether the daemon is alive afterwards: if it was stopped for
 * too long, it was lost, and the check proves nothing. */
static bool a_killed_job_is_seen(void)
{
    struct job job = job_start();
    struct look look = catch_walk(&job, "60000", "1");
    pid_t found;
    bool lives;

    CU_ASSERT_EQUAL(kill(job.pid, SIGKILL), 0);
    CU_ASSERT(has_ended(job.pid));
    CU_ASSERT_EQUAL(waitpid(job.pid, NULL, WNOHANG), 0); /* not yet */
    CU_ASSERT_EQUAL(kill(look.daemon, SIGCONT), 0);
    AWAIT((found = waitpid(job.pid, NULL, WNOHANG)) != 0);
    CU_ASSERT_EQUAL(found, job.pid);
    lives = is_alive(look.daemon);
    tool_kill(look.tool);
    CU_ASSERT(has_ended(look.daemon));
    if (found != job.pid)
        waitpid(job.pid, NULL, 0);
    munmap(job.done, sizeof(*job.done));
    return lives;
}

/* If a process is killed while a daemon holds it, its parent can wait for it at
 * once: the daemon reaps all of its threads, and goes on. */
TEST(a_killed_job_is_its_parents)
{
    int round = 0;

    while (!a_killed_job_is_seen() && ++round < ROUNDS)
        ;
    CU_ASSERT(round < ROUNDS);
}

/* The guard also releases threads that stop late, if the daemon itself is
 * stopped and no longer waits for them. */
TEST(a_late_thread_is_let_go)
{
    struct stuck stuck = stuck_start("/proc/self/exe");
    pid_t tool = tool_start(stuck.pid, SCHED_OTHER, FOR_EVER, "50", "3600000");
    pid_t daemon = await_late(stuck.pid);
    struct timespec pause = {1, 0};

    nanosleep(&pause, NULL); /* longer than a walk: the daemon waits */
    CU_ASSERT_EQUAL(kill(daemon, SIGSTOP), 0);
    CU_ASSERT(stuck_goes_on(&stuck));
    CU_ASSERT(has_ended(daemon));
    if (is_alive(daemon))
        kill(daemon, SIGKILL);
    tool_kill(tool);
    stuck_end(&stuck);
}

/* The file with a program's names does not answer: the look ends, and what stops
 * late is let go all the same. */
TEST(a_look_ends_without_names)
{
    char folder[] = "/tmp/test_release.XXXXXX";
    char program[64], debug[64];
    struct stuck stuck;
    pid_t tool;
    int status;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(program, sizeof(program), "%s/stuck", folder);
    snprintf(debug, sizeof(debug), "%s/names", folder);
    copy_without_names(program, debug);
    stuck = stuck_start(program);
    tool = tool_start(stuck.pid, SCHED_OTHER, "1", "50", "1");
    CU_ASSERT_EQUAL(waitpid(tool, &status, 0), tool);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT(WEXITSTATUS(status) <= 3); /* as documented */
    CU_ASSERT(stuck_goes_on(&stuck));
    stuck_end(&stuck);
    unlink(program);
    unlink(debug);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return stuck_run();
    return check_run("release");
}
