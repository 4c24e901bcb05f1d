/* test_threads.c - who drives the network, and when (PROTOCOL 14). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity() */
#endif
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net/helm.h"
#include "test/check.h"
#include "test/net/shell.h"
#include "test/share.h"

/* ThreadSanitizer has a thread of its own, which wakes as it likes. */
#ifdef __SANITIZE_THREAD__
#define OWN_THREADS_ONLY false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OWN_THREADS_ONLY false
#endif
#endif
#ifndef OWN_THREADS_ONLY
#define OWN_THREADS_ONLY true
#endif

static struct shell shell;
static char backend[512];
static char *const echo_argv[] = {backend, (char[]){"echo"}, NULL};

static void pause_ms(uint32_t ms)
{
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
}

static uint32_t begin(const char *shape,
                      uint32_t first,
                      uint32_t last,
                      uint32_t failure_timeout_ms)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    int stream;

    launch.times.heartbeat_ms = failure_timeout_ms / 10;
    launch.times.failure_timeout_ms = failure_timeout_ms;
    CHECK_OK(shell_launch(&shell, shape, echo_argv, &launch));
    stream = shell_open(&shell, first, last);
    CHECK_OK(stream);
    return (uint32_t)stream;
}

static void take(uint32_t stream, int32_t tag, size_t count)
{
    struct frame frame;
    uint32_t from;

    while (count-- > 0) {
        CHECK_OK(shell_receive(&shell, &from, &frame, PATIENCE_MS));
        CU_ASSERT_EQUAL(from, stream);
        CU_ASSERT_EQUAL(frame.tag, tag);
        frame_fini(&frame);
    }
}

/* How many packets wait, without driving. */
static size_t waiting(void)
{
    size_t count;

    CHECK_OK(driver_lock(shell.driver));
    count = shell.last - shell.first;
    driver_unlock(shell.driver);
    return count;
}

/* The application computes for longer than the failure time-out: heartbeats
 * go on, nobody is lost (PROTOCOL 14.1). */
TEST(network_lives_while_the_application_computes)
{
    uint32_t stream = begin("2x2", 3, 6, 4000);

    pause_ms(6000);
    CHECK_OK(shell_send(&shell, stream, 100, 16));
    take(stream, 100, 4);
    CU_ASSERT_EQUAL(shell.lost_count, 0);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* What is queued leaves by itself, and what answers it is taken, although
 * nobody calls again (PROTOCOL 14.3). */
TEST(queued_frames_leave_by_themselves)
{
    uint64_t deadline_ms = driver_now_ms() + PATIENCE_MS;
    uint32_t stream = begin("flat:2", 1, 2, 3000);

    for (int i = 0; i < 10; i++)
        CHECK_OK(shell_send(&shell, stream, 100, 16));
    while (waiting() < 20 && driver_now_ms() < deadline_ms)
        pause_ms(1);
    CU_ASSERT_EQUAL(waiting(), 20);
    take(stream, 100, 20);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* A filter that takes longer than the failure time-out is no death sentence:
 * another thread takes the helm meanwhile (PROTOCOL 5.1). */
TEST(slow_filter_stops_no_heartbeats)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    int stream;

    launch.times.heartbeat_ms = 400;
    launch.times.failure_timeout_ms = 4000;
    CHECK_OK(shell_launch(&shell, "2x2", echo_argv, &launch));
    shell.slow_ms = 6000;
    stream = shell_open(&shell, 3, 6);
    CHECK_OK(stream);
    CHECK_OK(shell_send(&shell, (uint32_t)stream, 100, 16));
    take((uint32_t)stream, 100, 4);
    CU_ASSERT_EQUAL(shell.lost_count, 0);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* The same while the application computes: then the background thread runs
 * the filter, and another one drives. */
TEST(slow_filter_in_the_background_stops_no_heartbeats)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    uint64_t deadline_ms = driver_now_ms() + PATIENCE_MS;
    int stream;

    launch.times.heartbeat_ms = 400;
    launch.times.failure_timeout_ms = 4000;
    CHECK_OK(shell_launch(&shell, "2x2", echo_argv, &launch));
    shell.slow_ms = 6000;
    stream = shell_open(&shell, 3, 6);
    CHECK_OK(stream);
    CHECK_OK(shell_send(&shell, (uint32_t)stream, 100, 16));
    while (waiting() < 4 && driver_now_ms() < deadline_ms)
        pause_ms(10);
    CU_ASSERT_EQUAL(waiting(), 4);
    take((uint32_t)stream, 100, 4);
    CU_ASSERT_EQUAL(shell.lost_count, 0);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* ---- the end
 * --------------------------------------------------------------------- */

#define ENDS 20

static struct helm *helm;

static bool do_work(void *arg, uint64_t *next_ms)
{
    (void)arg;
    *next_ms = UINT64_MAX;
    return false;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static bool is_driven(void)
{
    bool driven;

    CHECK_OK(helm_lock(helm));
    driven = helm_polling(helm);
    helm_unlock(helm);
    return driven;
}

/* The timer of the helm, which is all that a sleeping thread looks at. */
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

/* The thread that drives leaves the news of the end to any other that sleeps.
 * On one processor, which others want too, it hears of it late. */
TEST(end_is_told_to_all)
{
    static const struct helm_ops ops = {do_work, do_nothing, do_nothing};
    uint64_t deadline_ms = driver_now_ms() + PATIENCE_MS;
    struct share others[2];
    cpu_set_t all, one;

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
        while (!is_driven() && driver_now_ms() < deadline_ms)
            pause_ms(1);
        helm_stop(helm);
        CU_ASSERT_EQUAL(poll(&timer, 1, 1000), 1);
        helm_free(helm);
    }
    for (int i = 0; i < 2; i++)
        share_end(&others[i]);
    CHECK_OK(sched_setaffinity(0, sizeof(all), &all));
}

/* ---- several threads
 * --------------------------------------------------------- */

#define SENDS 500

struct sender {
    uint32_t stream;
    int32_t tag;
    int result;
};

static void *send_many(void *arg)
{
    struct sender *sender = arg;

    for (int i = 0; i < SENDS && sender->result == 0; i++)
        sender->result = shell_send(&shell, sender->stream, sender->tag, 1000);
    return NULL;
}

/* One waits while two send: each packet arrives once and whole. */
TEST(threads_share_a_network)
{
    struct sender senders[2] = {{.tag = 100}, {.tag = 101}};
    pthread_t threads[2];
    size_t counts[2] = {0, 0};
    uint32_t stream = begin("2x2", 3, 6, 20000);
    struct frame frame;
    uint32_t from;

    for (int i = 0; i < 2; i++) {
        senders[i].stream = stream;
        CHECK_OK(-pthread_create(&threads[i], NULL, send_many, &senders[i]));
    }
    for (int i = 0; i < 2 * 4 * SENDS; i++) {
        CHECK_OK(shell_receive(&shell, &from, &frame, PATIENCE_MS));
        CU_ASSERT_FATAL(frame.tag == 100 || frame.tag == 101);
        counts[frame.tag - 100]++;
        frame_fini(&frame);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK_OK(senders[i].result);
        CU_ASSERT_EQUAL(counts[i], 4 * SENDS);
    }
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* Two threads wait, each for a packet: both get one. */
static void *receive_one(void *arg)
{
    struct frame frame;
    uint32_t from;
    int *result = arg;

    *result = shell_receive(&shell, &from, &frame, PATIENCE_MS);
    if (*result == 0)
        frame_fini(&frame);
    return NULL;
}

TEST(two_threads_wait)
{
    pthread_t threads[2];
    int results[2] = {-1, -1};
    uint32_t stream = begin("flat:2", 1, 2, 20000);

    for (int i = 0; i < 2; i++)
        CHECK_OK(-pthread_create(&threads[i], NULL, receive_one, &results[i]));
    pause_ms(20);
    CHECK_OK(shell_send(&shell, stream, 100, 16));
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK_OK(results[i]);
    }
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* ---- quiet
 * ---------------------------------------------------------------------- */

/* Times that the other threads of this process have slept. */
static unsigned long other_switches(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    unsigned long total = 0;
    unsigned long number;
    char line[128];
    char path[300];
    FILE *file;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/status",
                 entry->d_name);
        file = fopen(path, "r");
        while (file && fgets(line, sizeof(line), file))
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &number) == 1)
                total += number;
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    return total;
}

static size_t thread_count(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count - 2;
}

/* While a thread waits the background thread is not woken, but for what was
 * set before; there is one of it. */
TEST(background_sleeps_while_somebody_waits)
{
    uint32_t stream = begin("flat:2", 1, 2, 3000);
    unsigned long before;
    struct frame frame;
    uint32_t from;

    CHECK_OK(shell_send(&shell, stream, 100, 16));
    take(stream, 100, 2);
    before = other_switches();
    CHECK_IS(shell_receive(&shell, &from, &frame, 1500), -EAGAIN);
    if (OWN_THREADS_ONLY) {
        CU_ASSERT(other_switches() - before <= 3);
        CU_ASSERT(thread_count() <= 2);
    }
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

int main(void)
{
    const char *build = getenv("BUILD");

    snprintf(backend, sizeof(backend), "%s/test/net/backend",
             build ? build : ".");
    return check_run("threads");
}
