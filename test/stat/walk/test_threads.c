/* test_threads.c - processes with many threads, and walks with little time. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/walk/walk.h"
#include "test/check.h"

#define MANY       2000
#define STACK_SIZE ((size_t)256 << 10)
#define DEPTH      10000

/* Enough time on a slow machine. */
static const struct walk_options patiently = {
    .patience_ms = 5000, .max_stop_ms = 60000, .threads_max = WALK_THREADS_MAX};

/* Counts of what a walk has found. */
struct seen {
    unsigned stacks;
    unsigned named;    /* stacks that begin with "[thread io-#]" */
    unsigned running;  /* stacks that end with "[running]" */
    unsigned sleeping; /* stacks that end with "[sleeping" */
    unsigned given_up; /* stacks that begin with "[stopped for" */
    unsigned deep;     /* stacks given up that still have frames */
    char note[128];    /* the last stack that is only a note */
};

static pthread_barrier_t in_place;

static void *run_sleeper(void *arg)
{
    char name[16];

    if (arg) {
        snprintf(name, sizeof(name), "io-%ld", (long)arg);
        prctl(PR_SET_NAME, name);
    }
    pthread_barrier_wait(&in_place);
    for (;;)
        pause();
    return NULL;
}

static void *run_spinner(void *arg)
{
    pthread_barrier_wait(&in_place);
    for (;;)
        __asm__ volatile("" ::: "memory");
    return arg;
}

__attribute__((noinline)) static void run_deep(int depth, int ready)
{
    if (depth > 0)
        run_deep(depth - 1, ready);
    else if (write(ready, "!", 1) == 1)
        for (;;)
            pause();
    __asm__ volatile("" ::: "memory");
}

/* Start a process with `sleepers` and `spinners` besides its first thread,
 * which is `depth` calls deep. Returns when all threads are in place. */
static pid_t start(long sleepers, int spinners, int depth)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int ready[2];
    char byte;
    pid_t pid;
    long i;

    CU_ASSERT_FATAL(pipe(ready) == 0);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid > 0) {
        close(ready[1]);
        CU_ASSERT_EQUAL_FATAL(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_barrier_init(&in_place, NULL, (unsigned)(sleepers + spinners + 1));
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (i = 0; i < sleepers; i++)
        if (pthread_create(&thread, &attributes, run_sleeper, (void *)i) != 0)
            _exit(1);
    for (i = 0; i < spinners; i++)
        if (pthread_create(&thread, &attributes, run_spinner, NULL) != 0)
            _exit(1);
    pthread_barrier_wait(&in_place);
    run_deep(depth, ready[1]);
    _exit(0);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

static int look(void *arg, pid_t tid, const struct frame *frames, size_t count)
{
    struct seen *seen = arg;
    const char *first = frames[0].function;
    const char *last = frames[count - 1].function;

    CU_ASSERT(tid > 0);
    seen->stacks++;
    seen->named += strcmp(first, "[thread io-#]") == 0;
    seen->running += strcmp(last, "[running]") == 0;
    seen->sleeping += strncmp(last, "[sleeping", 9) == 0;
    if (strncmp(first, "[stopped for ", 13) == 0) {
        seen->given_up++;
        seen->deep += count > 1;
    }
    if (count == 1)
        snprintf(seen->note, sizeof(seen->note), "%s", first);
    return 0;
}

static void walk(pid_t pid,
                 const struct walk_options *options,
                 struct seen *seen,
                 uint64_t *stop_ns)
{
    struct cop_error error = {""};
    struct walker *walker;

    memset(seen, 0, sizeof(*seen));
    CHECK_OK(walker_new(&walker));
    CHECK_OK(walk_process(walker, pid, options, stop_ns, look, seen, &error));
    /* Threads that stop late are still held; another walker could not. */
    while (walker_release(walker) > 0)
        sched_yield();
    walker_free(walker);
}

/* The stack of a thread with its own name begins with it; digits are "#". */
TEST(threads_have_names)
{
    struct walk_options options = patiently;
    pid_t pid = start(4, 0, 0);
    struct seen seen;
    uint64_t stop_ns;

    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.stacks, 5);
    CU_ASSERT_EQUAL(seen.named, 0);
    options.names = true;
    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.stacks, 5);
    CU_ASSERT_EQUAL(seen.named, 3); /* thread 0 has no name of its own */
    end(pid);
}

/* Each stack says whether its thread ran or slept before the stop. */
TEST(threads_have_states)
{
    struct walk_options options = patiently;
    pid_t pid = start(2, 1, 0);
    struct seen seen;
    uint64_t stop_ns;

    options.states = true;
    /* Threads leave their barrier one by one; they continue after a walk. */
    for (int round = 0; round < 1000; round++) {
        walk(pid, &options, &seen, &stop_ns);
        if (seen.running == 1 && seen.sleeping == 3)
            break;
    }
    CU_ASSERT_EQUAL(seen.stacks, 4);
    CU_ASSERT_EQUAL(seen.running, 1);
    CU_ASSERT_EQUAL(seen.sleeping, 3);
    end(pid);
}

/* Thousands of threads are walked. Threads above the limit are counted. */
TEST(thousands_of_threads_are_walked)
{
    struct walk_options options = patiently;
    pid_t pid = start(MANY, 0, 0);
    struct seen seen;
    uint64_t stop_ns;

    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.stacks, MANY + 1);
    options.threads_max = MANY - 41;
    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.stacks, MANY - 41 + 1);
    CU_ASSERT_STRING_EQUAL(seen.note, "[42 other threads: not walked]");
    options.threads_max = 5;
    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.stacks, 6);
    CU_ASSERT_STRING_EQUAL(seen.note,
                           "[more than 1000 other threads: not walked]");
    end(pid);
}

/* A walk ends at its deadline, and passes on the frames found so far. */
TEST(a_walk_is_given_up)
{
    struct walk_options options = patiently;
    pid_t pid = start(0, 0, DEPTH);
    unsigned deep = 0;
    struct seen seen;
    uint64_t stop_ns, shortest_ns = UINT64_MAX;

    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.given_up, 0);
    options.max_stop_ms = 1;
    for (int round = 0; round < 20 || (deep == 0 && round < 10000); round++) {
        walk(pid, &options, &seen, &stop_ns);
        CU_ASSERT_EQUAL(seen.stacks, 1);
        CU_ASSERT_EQUAL(seen.given_up, 1);
        deep += seen.deep;
        shortest_ns = stop_ns < shortest_ns ? stop_ns : shortest_ns;
    }
    /* One walk found frames; on a busy machine others had no time for any. */
    CU_ASSERT(deep > 0);
    CU_ASSERT(shortest_ns > 0);
    options = patiently;
    walk(pid, &options, &seen, &stop_ns);
    CU_ASSERT_EQUAL(seen.given_up, 0);
    end(pid);
}
