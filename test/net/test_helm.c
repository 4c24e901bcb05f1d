/* test_helm.c - the lock and the loop of a driver (PROTOCOL 14.1). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity() */
#endif
#include "net/helm.h"

#include <coppice/coppice.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/check.h"
#include "test/patience.h"
#include "test/share.h"

#define ROUNDS 50

static struct helm *helm;
static uint32_t turns; /* calls of work() */
static bool stopping;
static atomic_int owner_id;

static bool work(void *arg, uint64_t *next_ms)
{
    (void)arg;
    *next_ms = UINT64_MAX;
    turns++;
    return false;
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct helm_ops ops = {
    .work = work,
    .overdue = nothing,
    .forked = nothing,
};

static bool is_stopping(void *arg)
{
    (void)arg;
    return stopping;
}

/* Own the helm until the end. */
static void *own(void *arg)
{
    (void)arg;
    atomic_store(&owner_id, (int)syscall(SYS_gettid));
    helm_lock(helm); /* CUnit supports one thread: nothing is checked here */
    helm_wait(helm, is_stopping, NULL, COP_FOREVER);
    helm_unlock(helm);
    return NULL;
}

/* Whether the owner sleeps, in the poll or for the lock. */
static bool owner_sleeps(void)
{
    char path[64], line[512], state = 0;
    const char *end = NULL;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
             atomic_load(&owner_id));
    file = fopen(path, "re");
    if (file) {
        end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
        fclose(file);
    }
    return end && sscanf(end, ") %c", &state) == 1 && state == 'S';
}

static void await_owner(void)
{
    uint64_t deadline_us = helm_clock_us() + UINT64_C(1000) * PATIENCE_MS;

    while (!owner_sleeps()) {
        CU_ASSERT_FATAL(helm_clock_us() < deadline_us);
        sched_yield();
    }
}

/* With the lock held, wait until the owner is in its poll. */
static void await_poll(void)
{
    uint64_t deadline_us = helm_clock_us() + UINT64_C(1000) * PATIENCE_MS;

    while (!helm_polling(helm)) {
        CU_ASSERT_FATAL(helm_clock_us() < deadline_us);
        helm_unlock(helm);
        sched_yield();
        CHECK_OK(helm_lock(helm));
    }
}

#define ENDS 20

static bool is_driven(void)
{
    bool driven;

    CHECK_OK(helm_lock(helm));
    driven = helm_polling(helm);
    helm_unlock(helm);
    return driven;
}

/* The helm's timer, the only descriptor that a sleeping thread polls. */
static int timer_of_helm(void)
{
    char path[64], text[64];
    ssize_t len;

    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        len = readlink(path, text, sizeof(text) - 1);
        text[len > 0 ? len : 0] = '\0';
        if (strstr(text, "timerfd"))
            return fd;
    }
    CU_FAIL_FATAL("there is no timer");
    return -1;
}

/* At the end the thread that drives leaves the timer readable for other
 * sleepers. On one busy processor it learns of the end late. */
TEST(end_is_told_to_all)
{
    uint64_t deadline_us = helm_clock_us() + UINT64_C(1000) * PATIENCE_MS;
    struct share others[2];
    struct cop_error error;
    cpu_set_t all, one;

    CHECK_OK(libev_load(&error));
    CHECK_OK(sched_getaffinity(0, sizeof(all), &all));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK_OK(sched_setaffinity(0, sizeof(one), &one));
    for (int i = 0; i < 2; i++)
        share_begin(&others[i]);
    for (int i = 0; i < ENDS; i++) {
        struct pollfd timer = {.events = POLLIN};

        CHECK_OK(helm_new(&helm, &ops, NULL, NULL));
        timer.fd = timer_of_helm();
        CHECK_OK(helm_lock(helm));
        helm_due(helm, 0);
        helm_unlock(helm);
        while (!is_driven() && helm_clock_us() < deadline_us)
            poll(NULL, 0, 1);
        helm_stop(helm);
        CU_ASSERT_EQUAL(poll(&timer, 1, 1000), 1);
        helm_free(helm);
    }
    for (int i = 0; i < 2; i++)
        share_end(&others[i]);
    CHECK_OK(sched_setaffinity(0, sizeof(all), &all));
}

/* Put all threads on one processor, where a woken thread does not preempt: the
 * thread that unlocks continues. */
static void share_a_processor(void)
{
    const struct sched_param none = {0};
    int cpu = sched_getcpu();
    cpu_set_t one;

    CU_ASSERT_FATAL(cpu >= 0);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK_OK(sched_setaffinity(0, sizeof(one), &one));
    CHECK_OK(sched_setscheduler(0, SCHED_BATCH, &none));
}

/* The owner of the helm returns from its poll, and waits for the lock. It has a
 * turn before a thread that unlocks and locks again. */
TEST(the_owner_goes_first)
{
    pthread_t owner;
    uint32_t before, missed = 0;
    struct cop_error error;

    CHECK_OK(libev_load(&error));
    share_a_processor();
    CHECK_OK(helm_new(&helm, &ops, NULL, NULL));
    CHECK_OK(helm_lock(helm));
    CU_ASSERT_EQUAL_FATAL(pthread_create(&owner, NULL, own, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        await_poll();
        before = turns;
        helm_wake(helm);
        await_owner(); /* the poll is over: the owner sleeps for the lock */
        helm_unlock(helm);
        CHECK_OK(helm_lock(helm));
        missed += turns == before;
    }
    CU_ASSERT_EQUAL(missed, 0);
    stopping = true;
    helm_notify(helm);
    helm_unlock(helm);
    CU_ASSERT_EQUAL(pthread_join(owner, NULL), 0);
    helm_stop(helm);
    helm_free(helm);
}
