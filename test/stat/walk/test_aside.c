/* test_aside.c - a process that is stuck is replaced, and the next one knows what
 * not to touch; one that works is not stuck. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stat/walk/aside.h"
#include "stat/walk/touch.h"
#include "test/stat/walk/process.h"

/* What a worker is told to do. */
enum order {
    OPEN = 1, /* the gate, which blocks until it has a writer */
    WORK,     /* at the gate, for longer than a stuck one waits */
    WAIT,     /* as long, without a look at anything */
    LOSE,     /* its life */
};

static char folder[] = "/tmp/test_aside.XXXXXX";
static char gate[sizeof(folder) + 8];

/* Make many short waits, and some work. */
static void work(void)
{
    struct timespec pause = {0, 20000000};
    uint64_t end_ms = clock_now_ms() + 2 * ASIDE_STUCK_MS;

    while (clock_now_ms() < end_ms)
        nanosleep(&pause, NULL);
}

static int32_t obey(enum order order)
{
    switch (order) {
    case OPEN:
        if (!touch_file(0, gate))
            return -EBUSY;
        return open(gate, O_RDONLY | O_CLOEXEC) < 0 ? -errno : 0;
    case WORK:
        if (!touch_file(0, gate))
            return -EBUSY;
        work();
        return 0;
    case WAIT:
        nanosleep(&(struct timespec){2 * ASIDE_STUCK_MS / 1000, 0}, NULL);
        return 0;
    case LOSE:
        raise(SIGKILL);
        break;
    }
    return -1;
}

/* The worker: answers each order with what it returns. */
static void run(struct channel *channel, bool restarted, void *arg)
{
    struct cop_packet *packet;
    int32_t number;

    (void)restarted;
    (void)arg;
    while (channel_receive(channel, &packet, &number, -1) == 0) {
        touch_begin();
        number = obey((enum order)number);
        touch_end();
        channel_send(channel, NULL, number, -1);
    }
}

/* Wait for the answer. Returns it, or -EPIPE: the worker is stuck or lost. */
static int32_t answer(struct aside *aside)
{
    struct pollfd ready = {aside_fd(aside), POLLIN, 0};
    struct cop_packet *packet;
    int32_t number = 0;
    int r;

    do {
        poll(&ready, 1, ASIDE_LOOK_MS);
        r = aside_receive(aside, &packet, &number);
        if (r == -EAGAIN && aside_check(aside) < 0)
            r = -EPIPE;
    } while (r == -EAGAIN);
    return r < 0 ? r : number;
}

static int32_t order(struct aside *aside, enum order order)
{
    int r = aside_send(aside, NULL, (int32_t)order);

    return r < 0 ? r : answer(aside);
}

TEST(a_stuck_process_is_replaced_and_its_file_not_touched_again)
{
    struct aside *aside;

    CHECK_OK(aside_new(&aside, run, NULL));
    CHECK_IS(order(aside, OPEN), -EPIPE);
    CHECK_OK(aside_restart(aside));
    CHECK_IS(order(aside, OPEN), -EBUSY);
    aside_free(aside);
}

TEST(a_process_that_works_is_not_stuck)
{
    struct aside *aside;

    CHECK_OK(aside_new(&aside, run, NULL));
    CHECK_IS(order(aside, WORK), 0);
    aside_free(aside);
}

/* What is late, as /proc may be on a busy machine, cannot be left out. */
TEST(a_process_that_looks_at_nothing_is_not_stuck)
{
    struct aside *aside;

    CHECK_OK(aside_new(&aside, run, NULL));
    CHECK_IS(order(aside, WAIT), 0);
    aside_free(aside);
}

TEST(a_process_that_was_killed_is_not_replaced)
{
    struct aside *aside;

    CHECK_OK(aside_new(&aside, run, NULL));
    CHECK_IS(order(aside, LOSE), -EPIPE);
    CHECK_IS(aside_restart(aside), -ECHILD);
    aside_free(aside);
}

/* Without a watcher nothing is refused. */
TEST(a_process_that_is_not_watched_may_touch_all)
{
    CU_ASSERT(!touch_is_watched() && touch_owner() == getpid());
    CU_ASSERT(touch_process(1) && touch_memory(1) && touch_file(0, gate));
}

/* The file system of a path is known without a touch. */
TEST(the_device_of_a_path_is_that_of_its_mount)
{
    CU_ASSERT(touch_device(0, "/proc/1/maps") == touch_device(0, "/proc"));
    CU_ASSERT(touch_device(0, "/proc") != touch_device(0, "/"));
    CU_ASSERT(touch_device(0, "/") == touch_device(0, "/process"));
    CU_ASSERT(touch_device(0, "relative") == 0);
}

int main(void)
{
    int failed;

    if (!mkdtemp(folder))
        return 1;
    snprintf(gate, sizeof(gate), "%s/gate", folder);
    if (mkfifo(gate, 0600) < 0)
        return 1;
    failed = check_run("aside");
    unlink(gate);
    rmdir(folder);
    return failed;
}
