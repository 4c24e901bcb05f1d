/* test_motion.c - whether a process has moved between looks that stop it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getcpu() */
#endif
#include "stat/walk/motion.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/walk/thread.h"
#include "test/check.h"

#define SPIN_MS 20

static struct motion *motion;
static pid_t pid;
static int input;       /* each byte wakes the process once */
static uint64_t sleeps; /* of the process, at least */

static void spin(int signal_number)
{
    struct timespec begin, now;

    (void)signal_number;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 +
               (now.tv_nsec - begin.tv_nsec) / 1000000 <
           SPIN_MS);
}

static struct thread_efforts efforts_now(void)
{
    struct thread_efforts now = {.asleep = false};

    CHECK_OK(thread_efforts(&now, pid, pid));
    return now;
}

/* Wait until the process sleeps after `count` more sleeps, including stops. */
static void await_sleep(unsigned count)
{
    sleeps += count;
    while (!efforts_now().asleep || efforts_now().sleeps < sleeps)
        poll(NULL, 0, 1);
}

/* Wait until the process has run for SPIN_MS since `before`. */
static void await_run(struct thread_efforts before)
{
    while (efforts_now().run_ns < before.run_ns + SPIN_MS * 1000000ull)
        poll(NULL, 0, 1);
}

/* Wake the process once, and wait until it sleeps again. */
static void nudge(void)
{
    int left = 1;

    CU_ASSERT_FATAL(write(input, "", 1) == 1);
    while (left > 0) {
        poll(NULL, 0, 1);
        CU_ASSERT_FATAL(ioctl(input, FIONREAD, &left) == 0);
    }
    await_sleep(1);
}

static void begin(bool spins)
{
    int ends[2];
    char byte;

    CU_ASSERT_FATAL(pipe(ends) == 0);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        signal(SIGUSR1, spin);
        close(ends[1]);
        while (spins || read(ends[0], &byte, 1) == 1)
            continue;
        _exit(0);
    }
    close(ends[0]);
    input = ends[1];
    CHECK_OK(motion_new(&motion));
    sleeps = 0;
    if (!spins) {
        await_sleep(1);
        nudge();
    }
    CU_ASSERT_FATAL(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
}

static void end(void)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(input);
    motion_free(motion);
}

static void stop(void)
{
    int status;

    CU_ASSERT_FATAL(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
    CU_ASSERT_FATAL(waitpid(pid, &status, __WALL) == pid);
}

static void let_go(void)
{
    CU_ASSERT_FATAL(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
}

/* Look at the process, which is in a function of the program. Returns whether it
 * has moved since the last look. */
static bool moves(bool stopped)
{
    const struct frame frame = {.function = "work", .file = "", .module = ""};
    struct evidence evidence;

    motion_sample(motion);
    CHECK_OK(motion_look(motion, pid, 1, stopped));
    CHECK_OK(motion_evidence(&evidence, motion, NULL, NULL, pid, &frame, 1));
    return evidence.ran;
}

TEST(a_sleeper_that_is_stopped_has_not_moved)
{
    begin(false);
    CU_ASSERT(!moves(false));
    for (int i = 0; i < 5; i++) {
        stop();
        let_go();
        await_sleep(2);
        CU_ASSERT(!moves(true));
    }
    end();
}

/* On a busy machine a process may fall asleep only after the next look. */
TEST(a_sleeper_that_falls_asleep_late_has_not_moved)
{
    begin(false);
    CU_ASSERT(!moves(false));
    for (int i = 0; i < 5; i++) {
        stop();
        CU_ASSERT(!moves(true));
        let_go();
        await_sleep(2);
        stop();
        let_go();
        await_sleep(2);
        CU_ASSERT(!moves(true));
    }
    end();
}

TEST(a_sleeper_that_wakes_between_two_looks_moves)
{
    begin(false);
    CU_ASSERT(!moves(false));
    for (int i = 0; i < 5; i++) {
        stop();
        let_go();
        await_sleep(2);
        nudge();
        CU_ASSERT(moves(true));
    }
    end();
}

/* A hypervisor or a signal handler used the time; the process did not go on. */
TEST(run_time_of_a_sleeper_is_no_motion)
{
    struct thread_efforts before;
    int status;

    begin(false);
    CU_ASSERT(!moves(false));
    before = efforts_now();
    CU_ASSERT(kill(pid, SIGUSR1) == 0);
    CU_ASSERT_FATAL(waitpid(pid, &status, __WALL) == pid);
    CU_ASSERT_FATAL(ptrace(PTRACE_CONT, pid, NULL, SIGUSR1) == 0);
    await_run(before);
    await_sleep(2);
    CU_ASSERT(!moves(true));
    end();
}

TEST(a_thread_that_runs_moves)
{
    struct thread_efforts before;

    begin(true);
    CU_ASSERT(!moves(false));
    stop();
    let_go();
    before = efforts_now();
    await_run(before);
    CU_ASSERT(moves(true));
    end();
}

/* It has no time to run between these looks. */
TEST(a_thread_that_gets_no_time_computes)
{
    begin(true);
    await_run((struct thread_efforts){.run_ns = 0});
    CU_ASSERT(!moves(false));
    for (int i = 0; i < 5; i++)
        CU_ASSERT(moves(false));
    end();
}

/* Whether the process moves, if it is at `pc` at two looks, outside of any function
 * of the program, and has had no time to run between them. */
static bool moves_at(struct kinds *kinds,
                     struct names *names,
                     struct modules *modules,
                     const void *pc)
{
    struct thread_efforts before;
    struct evidence evidence;
    struct frame frame;

    CHECK_OK(names_place(names, modules, (Dwarf_Addr)(uintptr_t)pc, &frame));
    do {
        before = efforts_now();
        for (int i = 0; i < 2; i++) {
            motion_sample(motion);
            CHECK_OK(motion_look(motion, pid, 1, false));
        }
    } while (efforts_now().run_ns > before.run_ns + 1000000);
    CHECK_OK(motion_evidence(&evidence, motion, kinds, names, pid, &frame, 1));
    return evidence.ran;
}

/* It does so in the C library, too, but not in a system call, to which a sleeper
 * returns after a stop. */
TEST(a_thread_that_gets_no_time_computes_in_the_c_library)
{
    static const unsigned char call[] = {0x0f, 0x05};
    const unsigned char *code = (const unsigned char *)(uintptr_t)syscall;
    struct modules *modules;
    struct names *names;
    struct kinds *kinds;
    cpu_set_t all, one;
    size_t at = 0;

    while (at < 64 && memcmp(code + at, call, sizeof(call)) != 0)
        at++;
    if (at == 64) /* another processor */
        return;
    /* Both share a processor, of which the other one gets little. */
    CU_ASSERT_FATAL(sched_getaffinity(0, sizeof(all), &all) == 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CU_ASSERT_FATAL(sched_setaffinity(0, sizeof(one), &one) == 0);
    begin(true);
    setpriority(PRIO_PROCESS, (id_t)pid, 19);
    await_run((struct thread_efforts){.run_ns = 0});
    CHECK_OK(modules_new(&modules, pid));
    CHECK_OK(names_new(&names));
    CHECK_OK(kinds_new(&kinds));
    CU_ASSERT(!moves(false));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(
            moves_at(kinds, names, modules, (const void *)(uintptr_t)qsort));
        CU_ASSERT(!moves_at(kinds, names, modules, code + at));
        CU_ASSERT(!moves_at(kinds, names, modules, code + at + 2));
    }
    kinds_free(kinds);
    names_free(names);
    modules_free(modules);
    end();
    sched_setaffinity(0, sizeof(all), &all);
}

/* Such a call has a name if it has ended in a jump, without a frame. */
TEST(a_named_call_of_the_c_library_is_no_python)
{
    static const struct {
        const char *module;
        enum weight weight;
    } cases[] = {{"", WEIGHT_PROGRAM},
                 {"python", WEIGHT_LIBRARY},
                 {"threads", WEIGHT_NATIVE},
                 {"system", WEIGHT_NATIVE}};

    CHECK_OK(motion_new(&motion));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct frame frame = {
            .function = "wait", .file = "", .module = cases[i].module};
        struct evidence evidence;

        CHECK_OK(motion_evidence(&evidence, motion, NULL, NULL, 1, &frame, 1));
        CU_ASSERT_EQUAL(evidence.weight, cases[i].weight);
    }
    motion_free(motion);
}

/* It may wake up as often as it likes at the same place. */
TEST(a_sleeper_with_a_time_out_polls)
{
    struct evidence evidence;

    CU_ASSERT_FATAL((pid = fork()) >= 0);
    if (pid == 0)
        for (;;)
            poll(NULL, 0, 1);
    CHECK_OK(motion_new(&motion));
    CU_ASSERT(!moves(false));
    do {
        sleeps = efforts_now().sleeps;
        await_sleep(2);
        motion_sample(motion);
        CHECK_OK(motion_look(motion, pid, 1, false));
        CHECK_OK(motion_evidence(&evidence, motion, NULL, NULL, pid, NULL, 0));
    } while (evidence.ran); /* until it is looked at while it sleeps */
    CU_ASSERT(evidence.polled);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    motion_free(motion);
}

/* Check that a process that sleeps in this way polls if it sleeps shortly. */
static void check_sleep(void (*sleep_once)(void), enum thread_sleep expected)
{
    struct evidence evidence;

    CU_ASSERT_FATAL((pid = fork()) >= 0);
    if (pid == 0)
        for (;;)
            sleep_once();
    while (thread_sleep(pid, pid) != expected || !efforts_now().asleep)
        poll(NULL, 0, 1);
    CHECK_OK(motion_new(&motion));
    motion_sample(motion);
    CHECK_OK(motion_look(motion, pid, 1, false));
    CHECK_OK(motion_evidence(&evidence, motion, NULL, NULL, pid, NULL, 0));
    CU_ASSERT(!evidence.ran);
    CU_ASSERT_EQUAL(evidence.polled, expected == SLEEP_SHORT);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    motion_free(motion);
}

static void poll_short(void)
{
    poll(NULL, 0, 20000);
}

static void poll_long(void)
{
    poll(NULL, 0, 3600000);
}

static void sleep_short(void)
{
    sleep(20);
}

static void sleep_long(void)
{
    sleep(3600);
}

static void sleep_for_ever(void)
{
    pause();
}

/* ... even if it does not wake up during the look, unless it sleeps for long. */
TEST(a_sleeper_of_seconds_polls)
{
    check_sleep(poll_short, SLEEP_SHORT);
    check_sleep(sleep_short, SLEEP_SHORT);
    check_sleep(poll_long, SLEEP_TIMED);
    check_sleep(sleep_long, SLEEP_TIMED);
    check_sleep(sleep_for_ever, SLEEP_FOREVER);
}
