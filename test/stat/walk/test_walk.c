/* test_walk.c - stacks of real processes, which must continue as before. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/walk/names.h"
#include "stat/walk/walk.h"
#include "test/stat/walk/process.h"

#define THREADS 3

/* Enough time on a slow machine. */
#define PATIENTLY                                                              \
    {                                                                          \
        .patience_ms = 5000, .max_stop_ms = 60000,                             \
        .threads_max = WALK_THREADS_MAX                                        \
    }

/* A process to look at. It writes a byte to a pipe when it is in place, and
 * answers each byte with a byte. */
struct target {
    pid_t pid;
    int to;
    int from;
};

/* Most named places of one stack. */
#define PLACES_MAX 2048

/* Counts of what a walk has found. */
struct seen {
    struct names *names;
    unsigned stacks;
    unsigned deep; /* stacks with walk_target_inner() in walk_target_outer() */
    unsigned threads; /* stacks that begin with walk_target_thread() */
    unsigned mains;   /* stacks that begin with main() */
    unsigned stuck;   /* stacks of one frame: stuck */
    unsigned cut;     /* stacks cut in the middle */
    unsigned lines;   /* frames of this file with a line */
    unsigned stopped; /* stacks that begin with "[stopped by SIGSTOP]" */
    char note[128];   /* the last note but "[running]" */
};

static pthread_barrier_t in_place;

__attribute__((noinline)) static void walk_target_inner(int from, int to)
{
    char byte = '!';

    /* Tells the test that this function is on the stack. */
    if (write(to, &byte, 1) != 1)
        return;
    while (read(from, &byte, 1) == 1) {
        if (write(to, &byte, 1) != 1)
            break;
    }
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void walk_target_outer(int from, int to)
{
    walk_target_inner(from, to);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void *walk_target_thread(void *arg)
{
    pthread_barrier_wait(&in_place);
    for (;;)
        pause();
    return arg;
}

__attribute__((noinline)) static void walk_target_deep(int depth,
                                                       int from,
                                                       int to)
{
    if (depth > 0)
        walk_target_deep(depth - 1, from, to);
    else
        walk_target_outer(from, to);
    __asm__ volatile("" ::: "memory");
}

static _Noreturn void target_run(int from, int to, int depth, int threads)
{
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_barrier_init(&in_place, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread, NULL, walk_target_thread, NULL);
    pthread_barrier_wait(&in_place);
    if (depth)
        walk_target_deep(depth, from, to);
    else
        walk_target_outer(from, to);
    _exit(0);
}

static struct target target_start(int depth, int threads)
{
    struct target target;
    int down[2];
    int up[2];
    char byte;

    CU_ASSERT_FATAL(pipe(down) == 0 && pipe(up) == 0);
    target.pid = fork();
    CU_ASSERT_FATAL(target.pid >= 0);
    if (target.pid == 0) {
        close(down[1]);
        close(up[0]);
        target_run(down[0], up[1], depth, threads);
    }
    close(down[0]);
    close(up[1]);
    target.to = down[1];
    target.from = up[0];
    CU_ASSERT_FATAL(read(target.from, &byte, 1) == 1);
    return target;
}

/* Whether the process still answers. */
static bool target_answers(const struct target *target)
{
    char byte = '?';

    return write(target->to, "x", 1) == 1 &&
           read(target->from, &byte, 1) == 1 && byte == 'x';
}

/* Close the pipes; the process must then exit with status 0. */
static void target_end(struct target *target)
{
    int status;

    close(target->to);
    close(target->from);
    CU_ASSERT_EQUAL(waitpid(target->pid, &status, 0), target->pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Name the frames of one stack, also inlined ones. Returns their number. */
static size_t name_all(struct names *names,
                       struct frame *out,
                       const struct frame *frames,
                       size_t count)
{
    size_t named = 0, i, k, more;
    const struct frame *chain;

    for (i = 0; i < count; i++) {
        if (frames[i].function[0]) {
            out[named++] = frames[i];
            continue;
        }
        CHECK_OK(
            names_of(names, frames[i].module, frames[i].offset, &chain, &more));
        for (k = 0; k < more && named < PLACES_MAX; k++)
            out[named++] = chain[k];
        CU_ASSERT_FATAL(named < PLACES_MAX);
    }
    return named;
}

static int look(void *arg, pid_t tid, const struct frame *raw, size_t count)
{
    struct seen *seen = arg;
    struct frame frames[PLACES_MAX];

    CU_ASSERT(tid > 0);
    CU_ASSERT_FATAL(count > 0);
    seen->stacks++;
    seen->stuck += strncmp(raw[0].function, "[stuck", 6) == 0;
    seen->stopped += strcmp(raw[0].function, "[stopped by SIGSTOP]") == 0;
    for (size_t i = 0; i < count; i++) {
        seen->cut += strcmp(raw[i].function, FRAME_CUT) == 0;
        if (raw[i].function[0] == '[' &&
            strcmp(raw[i].function, FRAME_RUNNING) != 0)
            snprintf(seen->note, sizeof(seen->note), "%s", raw[i].function);
    }
    count = name_all(seen->names, frames, raw, count);
    for (size_t i = 0; i < count; i++) {
        seen->mains += strcmp(frames[i].function, "main") == 0;
        seen->threads += strcmp(frames[i].function, "walk_target_thread") == 0;
        if (strcmp(frames[i].file, "test_walk.c") == 0 && frames[i].line > 0)
            seen->lines++;
        if (i > 0 && strcmp(frames[i].function, "walk_target_inner") == 0 &&
            strcmp(frames[i - 1].function, "walk_target_outer") == 0)
            seen->deep++;
    }
    return 0;
}

static int walk(pid_t pid,
                uint32_t patience_ms,
                struct seen *seen,
                struct cop_error *error)
{
    struct walk_options options = PATIENTLY;
    struct walker *walker;
    uint64_t stop_ns = 0;
    int r;

    memset(seen, 0, sizeof(*seen));
    CHECK_OK(walker_new(&walker));
    seen->names = walker_names(walker);
    options.patience_ms = patience_ms;
    r = walk_process(walker, pid, &options, &stop_ns, look, seen, error);
    if (r == 0)
        CU_ASSERT_EQUAL(stop_ns > 0, strncmp(seen->note, "[zombie", 7) != 0);
    walker_free(walker);
    return r;
}

/* A walk gives each thread's stack with the names in the source, and the
 * process answers as before. */
TEST(all_threads_are_walked)
{
    struct target target = target_start(0, THREADS);
    struct cop_error error;
    struct seen seen;

    for (int round = 0; round < 5; round++) {
        CHECK_OK(walk(target.pid, 5000, &seen, &error));
        CU_ASSERT_EQUAL(seen.stacks, THREADS + 1);
        CU_ASSERT_EQUAL(seen.threads, THREADS);
        CU_ASSERT_EQUAL(seen.mains, 1);
        CU_ASSERT_EQUAL(seen.deep, 1);
        CU_ASSERT_EQUAL(seen.cut, 0);
        CU_ASSERT(seen.lines >= THREADS + 2);
        CU_ASSERT(target_answers(&target));
    }
    target_end(&target);
}

/* A stack deeper than the limit is cut in the middle, with a note. Both ends
 * are there. */
TEST(deep_stacks_are_cut_in_the_middle)
{
    struct target target = target_start(10000, 0);
    struct cop_error error;
    struct seen seen;

    CHECK_OK(walk(target.pid, 5000, &seen, &error));
    CU_ASSERT_EQUAL(seen.stacks, 1);
    CU_ASSERT_EQUAL(seen.cut, 1);
    CU_ASSERT_EQUAL(seen.mains, 1);
    CU_ASSERT_EQUAL(seen.deep, 1);
    CU_ASSERT(target_answers(&target));
    CU_ASSERT_EQUAL(kill(target.pid, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(target.pid, NULL, 0), target.pid);
    close(target.to);
    close(target.from);
}

/* A process stopped by job control stays stopped, and can be looked at. */
TEST(a_stopped_process_stays_stopped)
{
    struct target target = target_start(0, 1);
    struct cop_error error;
    struct seen seen;
    int status;

    CU_ASSERT_EQUAL(kill(target.pid, SIGSTOP), 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(target.pid, &status, WUNTRACED), target.pid);
    CU_ASSERT_FATAL(WIFSTOPPED(status));
    CHECK_OK(walk(target.pid, 5000, &seen, &error));
    CU_ASSERT_EQUAL(seen.deep, 1);
    CU_ASSERT_EQUAL(seen.stacks, 2);
    CU_ASSERT_EQUAL(seen.stopped, 2);
    /* It runs in the kernel between the two stops. */
    while (thread_state(target.pid, target.pid) != 'T')
        sched_yield();
    CU_ASSERT_EQUAL(kill(target.pid, SIGCONT), 0);
    CU_ASSERT_EQUAL(waitpid(target.pid, &status, WCONTINUED), target.pid);
    CU_ASSERT(WIFCONTINUED(status));
    CU_ASSERT(target_answers(&target));
    target_end(&target);
}

/* A thread that does not stop before the deadline has a stack of one frame that
 * says where it is. Here it waits in vfork() for its child's end. Later looks
 * find the same. When the thread can stop, it is released. */
TEST(a_stuck_thread_does_not_hold_us)
{
    struct walk_options options = PATIENTLY;
    struct seen seen = {0};
    struct cop_error error;
    struct walker *walker;
    uint64_t stop_ns;
    int ready[2];
    int end[2];
    char byte;
    pid_t pid;

    CU_ASSERT_FATAL(pipe(ready) == 0 && pipe(end) == 0);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(end[1]);
        if (vfork() == 0) {
            write(ready[1], "!", 1) == 1 ? read(end[0], &byte, 1) : 0;
            _exit(0);
        }
        byte = '?';
        write(ready[1], &byte, 1) == 1 ? pause() : 0;
        _exit(0);
    }
    close(end[0]);
    CU_ASSERT_FATAL(read(ready[0], &byte, 1) == 1);
    CHECK_OK(walker_new(&walker));
    seen.names = walker_names(walker);
    options.patience_ms = 50;
    for (unsigned round = 1; round < 4; round++) {
        CHECK_OK(
            walk_process(walker, pid, &options, &stop_ns, look, &seen, &error));
        CU_ASSERT(stop_ns < (uint64_t)options.patience_ms * 1000000 / 2 ||
                  round == 1);
        options.patience_ms = 20000; /* not used for a known straggler */
        CU_ASSERT_EQUAL(seen.stacks, round);
        CU_ASSERT_EQUAL(seen.stuck, round);
        CU_ASSERT_EQUAL(walker_release(walker), 1);
    }
    close(end[1]); /* the child ends, so that the parent can stop */
    while (walker_release(walker) > 0)
        sched_yield();
    /* The process continues: it writes a byte. */
    CU_ASSERT(read(ready[0], &byte, 1) == 1 && byte == '?');
    CU_ASSERT_EQUAL(walker_release(walker), 0);
    walker_free(walker);
    close(ready[0]);
    close(ready[1]);
    kill(pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, __WALL), pid);
}

/* If the first thread has ended, the other threads are walked. */
TEST(threads_outlive_the_first)
{
    struct cop_error error;
    struct seen seen;
    pid_t pid;

    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_barrier_init(&in_place, NULL, 1);
        pthread_create(&thread, NULL, walk_target_thread, NULL);
        pthread_exit(NULL);
    }
    while (thread_state(pid, pid) != 'Z')
        sched_yield();
    do {
        CHECK_OK(walk(pid, 5000, &seen, &error));
    } while (seen.threads == 0);
    CU_ASSERT_EQUAL(seen.stacks, 2);
    CU_ASSERT_STRING_EQUAL(seen.note, "[main thread has exited]");
    kill(pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* A missing process is reported. For a zombie, the note says how the process
 * ended. */
TEST(missing_processes_are_named)
{
    static const struct {
        int status; /* negative: a signal */
        const char *note;
    } ends[] = {{0, "[zombie: exited]"},
                {3, "[zombie: exited with status 3]"},
                {-SIGKILL, "[zombie: killed by SIGKILL]"}};
    struct cop_error error;
    struct seen seen;
    siginfo_t info;
    pid_t pid;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        pid = fork();
        CU_ASSERT_FATAL(pid >= 0);
        if (pid == 0) {
            if (ends[i].status < 0)
                kill(getpid(), -ends[i].status);
            _exit(ends[i].status);
        }
        CU_ASSERT_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        CHECK_OK(walk(pid, 1000, &seen, &error));
        CU_ASSERT_EQUAL(seen.stacks, 1);
        CU_ASSERT_STRING_EQUAL(seen.note, ends[i].note);
        CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    }
    CHECK_IS(walk(pid, 1000, &seen, &error), -ESRCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no such process"));
}

/* A process with another tracer is left alone, and the tracer is named. */
TEST(traced_processes_are_left_alone)
{
    struct target target = target_start(0, 0);
    struct cop_error error;
    struct seen seen;
    int ready[2];
    char name[64];
    char byte;
    pid_t tracer;

    CU_ASSERT_FATAL(pipe(ready) == 0);
    tracer = fork();
    CU_ASSERT_FATAL(tracer >= 0);
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        byte = ptrace(PTRACE_SEIZE, target.pid, NULL, NULL) == 0 ? '!' : '?';
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    CU_ASSERT_FATAL(read(ready[0], &byte, 1) == 1 && byte == '!');
    CHECK_IS(walk(target.pid, 1000, &seen, &error), -EPERM);
    snprintf(name, sizeof(name), "process %d (test_walk) traces it",
             (int)tracer);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, name));
    CU_ASSERT(target_answers(&target));
    kill(tracer, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(tracer, NULL, 0), tracer);
    close(ready[0]);
    close(ready[1]);
    target_end(&target);
}

/* Stopping loses no signal: the process receives each signal that is sent
 * between repeated looks. */
TEST(no_signal_is_lost)
{
    struct walk_options options = PATIENTLY;
    struct cop_error error;
    struct walker *walker;
    struct seen seen = {0};
    uint64_t stop_ns;
    sigset_t usr1;
    int status;
    pid_t pid;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < 100; i++)
            while (sigwaitinfo(&usr1, NULL) < 0)
                ;
        _exit(7);
    }
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
    CHECK_OK(walker_new(&walker));
    seen.names = walker_names(walker);
    for (int i = 0; i < 99; i++) {
        CU_ASSERT_EQUAL(kill(pid, SIGRTMIN), 0);
        CHECK_OK(
            walk_process(walker, pid, &options, &stop_ns, look, &seen, &error));
    }
    CU_ASSERT_EQUAL(kill(pid, SIGRTMIN), 0);
    walker_free(walker);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
