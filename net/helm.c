/* helm.c - which thread drives a driver's loop. */
#include "net/helm.h"

#include <coppice/coppice.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "net/forks.h"
#include "net/timer.h"

/* How long the helm may be free before the background thread takes it: at
 * first; at most, if its owner keeps coming back; if the application polls a
 * descriptor instead of waiting here. */
#define ABANDONED_MS     5
#define ABANDONED_MAX_MS 50
#define ATTENDED_MS      1

/* A thread that waited this long is not expected back soon. It stops the timer,
 * to save a useless wake-up of the background thread. A thread that comes and
 * goes does not stop it, to save two system calls each time. */
#define LONG_MS 10

/* A call that lasts longer loses the helm (PROTOCOL 5.1). */
#define YIELD_MS 100

/* The memory beyond what is used is never touched. */
#define STACK_LEN (1 << 20)

/* One sleeps; a second one is needed if the first runs a slow call. */
#define THREADS_MAX 2

enum owner {
    OWNER_NONE,
    OWNER_FOREGROUND,
    OWNER_BACKGROUND,
};

struct helm {
    struct forks_guard guard;
    const struct helm_ops *ops;
    void *arg;
    struct ev_loop *loop;
    ev_async waker;
    ev_timer alarm;
    ev_io timer_io; /* watched while the background thread has the helm */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_cond_t passed; /* an urgent thread has got the lock */
    atomic_uint urgent;    /* threads that have priority for the lock */
    uint32_t aside;        /* threads that give way to them */
    enum owner owner;
    uint64_t ticket; /* of the owner; changes if the helm is taken away */
    bool polling;
    bool forked;
    bool stopping;
    bool broken;   /* the application has closed our descriptors */
    bool yielding; /* the owner is between helm_yield() and helm_resume() */
    bool slow;
    uint64_t yield_ms; /* since when it is yielding */
    uint32_t waiters;  /* foreground threads that wait for the helm */
    uint64_t now_ms;
    uint64_t alarm_ms;  /* when the alarm rings; UINT64_MAX: it does not */
    struct timer timer; /* wakes the background thread */
    uint64_t due_ms;    /* when work is due; UINT64_MAX: never */
    uint32_t abandoned_ms;
    bool patient; /* the last foreground thread waited for LONG_MS */
    bool attended;
    pthread_t threads[THREADS_MAX];
    uint32_t thread_count;
    uint32_t awake; /* of these, not in a poll of the timer */
};

/* This process is a forked child: the threads and the loop are the parent's. */
static void in_child(void *arg)
{
    struct helm *helm = arg;

    helm->forked = true;
    helm->thread_count = 0;
    helm->awake = 0;
    helm->polling = false;
    if (helm->broken)
        return;
    helm->ops->forked(helm->arg);
    close(helm->timer.fd);
}

/* ---- the clock, the alarm, the timer ---- */

uint64_t helm_clock(struct helm *helm)
{
    helm->now_ms = helm_clock_us() / 1000;
    return helm->now_ms;
}

uint64_t helm_clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void helm_wake(struct helm *helm)
{
    if (helm->polling)
        ev_async_send(helm->loop, &helm->waker);
}

void helm_notify(struct helm *helm)
{
    helm_wake(helm);
    if (helm->waiters > 0)
        pthread_cond_broadcast(&helm->changed);
}

uint64_t helm_now_ms(const struct helm *helm)
{
    return helm->now_ms;
}

static void on_alarm(struct ev_loop *loop, ev_timer *alarm, int events)
{
    struct helm *helm = alarm->data;

    (void)loop;
    (void)events;
    helm->alarm_ms = UINT64_MAX;
}

/* Have the next poll end at `at_ms`. An earlier alarm stays: it costs one turn,
 * but setting it each time would cost every turn. */
static void set_alarm(struct helm *helm, uint64_t at_ms)
{
    uint64_t ms;

    if (at_ms >= helm->alarm_ms)
        return;
    ms = at_ms > helm->now_ms ? at_ms - helm->now_ms : 0;
    ev_timer_stop(helm->loop, &helm->alarm);
    ev_now_update(helm->loop);
    ev_timer_set(&helm->alarm, (double)ms / 1e3, 0.);
    ev_timer_start(helm->loop, &helm->alarm);
    helm->alarm_ms = at_ms;
}

static void on_timer(struct ev_loop *loop, ev_io *io, int events)
{
    struct helm *helm = io->data;

    (void)loop;
    (void)events;
    if (!helm->stopping) /* else the timer stays set for the other thread */
        helm->broken |= !timer_rest(&helm->timer, helm->now_ms);
}

static void on_wake(struct ev_loop *loop, ev_async *waker, int events)
{
    (void)loop;
    (void)waker;
    (void)events;
}

/* ---- the lock ---- */

/* Take the lock before threads that wait in helm_lock(). */
static void lock_first(struct helm *helm)
{
    if (pthread_mutex_trylock(&helm->lock) == 0)
        return;
    atomic_fetch_add(&helm->urgent, 1);
    pthread_mutex_lock(&helm->lock);
    atomic_fetch_sub(&helm->urgent, 1);
    if (helm->aside > 0)
        pthread_cond_broadcast(&helm->passed);
}

/* ---- having the helm ---- */

static void before_poll(struct ev_loop *loop) EV_NOEXCEPT
{
    struct helm *helm = ev_userdata(loop);

    helm->polling = true;
    pthread_mutex_unlock(&helm->lock);
}

static void after_poll(struct ev_loop *loop) EV_NOEXCEPT
{
    struct helm *helm = ev_userdata(loop);

    lock_first(helm);
    helm->polling = false;
    helm_clock(helm);
}

static uint64_t helm_take(struct helm *helm, enum owner owner)
{
    helm->owner = owner;
    return ++helm->ticket;
}

static void poll_once(struct helm *helm, bool block, uint64_t until_ms)
{
    if (block)
        set_alarm(helm, until_ms);
    if (!libev_run(helm->loop, block ? EVRUN_ONCE : EVRUN_NOWAIT))
        helm->broken = true;
}

static void wait_turn(struct helm *helm, uint64_t deadline_ms)
{
    struct timespec until = {
        .tv_sec = (time_t)(deadline_ms / 1000),
        .tv_nsec = (long)(deadline_ms % 1000) * 1000000,
    };

    helm->waiters++;
    if (helm->owner == OWNER_BACKGROUND)
        helm_wake(helm);
    if (deadline_ms == UINT64_MAX)
        pthread_cond_wait(&helm->changed, &helm->lock);
    else
        pthread_cond_timedwait(&helm->changed, &helm->lock, &until);
    helm->waiters--;
    helm_clock(helm);
}

static void helm_leave(struct helm *helm)
{
    helm->owner = OWNER_NONE;
    if (helm->waiters > 0)
        pthread_cond_signal(&helm->changed);
    else
        helm_due(helm, helm->attended ? ATTENDED_MS : helm->abandoned_ms);
}

int helm_wait(struct helm *helm,
              helm_done_fn *done,
              void *done_arg,
              int timeout_ms)
{
    uint64_t deadline_ms = UINT64_MAX;
    uint64_t since_ms;
    uint64_t next_ms;
    uint64_t ticket = 0;
    bool polled = false;
    bool more;
    int r = -EAGAIN;

    since_ms = helm_clock(helm);
    if (timeout_ms != COP_FOREVER)
        deadline_ms = since_ms + (uint32_t)timeout_ms;
    for (;;) {
        if (helm->owner != OWNER_NONE && helm->ticket != ticket) {
            if (done(done_arg)) {
                r = 0;
                break;
            }
            if (helm->now_ms >= deadline_ms)
                break;
            wait_turn(helm, deadline_ms);
            continue;
        }
        if (helm->owner == OWNER_NONE) {
            ticket = helm_take(helm, OWNER_FOREGROUND);
            helm->due_ms = UINT64_MAX;
        }
        more = helm->ops->work(helm->arg, &next_ms);
        if (helm->waiters > 0)
            pthread_cond_broadcast(&helm->changed);
        if (helm->ticket != ticket)
            continue;
        if (done(done_arg)) {
            r = 0;
            break;
        }
        if (helm->broken) {
            r = -EBADF;
            break;
        }
        if (polled && helm->now_ms >= deadline_ms)
            break;
        if (next_ms > deadline_ms)
            next_ms = deadline_ms;
        if (helm->patient && !polled && !more && timeout_ms != 0 &&
            helm->timer.at_ms != UINT64_MAX)
            timer_stop(&helm->timer);
        poll_once(helm, !more && timeout_ms != 0, next_ms);
        polled = true;
    }
    helm->patient = helm->now_ms >= since_ms + LONG_MS;
    if (helm->owner != OWNER_NONE && helm->ticket == ticket)
        helm_leave(helm);
    return r;
}

/* ---- the background thread ---- */

/* The timer has fired. Returns whether to take the helm. */
static bool to_take(struct helm *helm)
{
    if (helm->owner == OWNER_NONE) {
        if (helm->due_ms == UINT64_MAX)
            return false;
        if (helm->now_ms >= helm->due_ms)
            return true;
        timer_arm(&helm->timer, helm->due_ms, helm->now_ms);
        return false;
    }
    if (helm->yielding && helm->slow && !helm->polling) {
        if (helm->now_ms >= helm->yield_ms + YIELD_MS)
            return true;
        timer_arm(&helm->timer, helm->yield_ms + YIELD_MS, helm->now_ms);
        return false;
    }
    /* Another thread is there all the time: check less often. */
    if (helm->abandoned_ms < ABANDONED_MAX_MS)
        helm->abandoned_ms *= 2;
    if (helm->polling)
        helm->ops->overdue(helm->arg);
    return false;
}

/* Drive the loop until another thread waits for the helm, or takes it. */
static void helm_drive(struct helm *helm)
{
    uint64_t ticket = helm_take(helm, OWNER_BACKGROUND);
    uint64_t next_ms;
    bool more;

    helm->due_ms = UINT64_MAX;
    helm->abandoned_ms = ABANDONED_MS;
    ev_io_start(helm->loop, &helm->timer_io);
    for (;;) {
        more = helm->ops->work(helm->arg, &next_ms);
        if (helm->ticket != ticket)
            return; /* the other background thread has it */
        if (helm->waiters > 0 || helm->stopping || helm->broken)
            break;
        poll_once(helm, !more, next_ms);
    }
    ev_io_stop(helm->loop, &helm->timer_io);
    helm->owner = OWNER_NONE;
    pthread_cond_broadcast(&helm->changed);
}

static void *background(void *arg)
{
    struct helm *helm = arg;
    struct pollfd poller = {.fd = helm->timer.fd, .events = POLLIN};

    pthread_mutex_lock(&helm->lock);
    while (!helm->stopping && !helm->broken) {
        helm->awake--;
        pthread_mutex_unlock(&helm->lock);
        poll(&poller, 1, -1);
        lock_first(helm);
        helm->awake++;
        if (helm->stopping)
            break; /* the timer stays set for the other thread */
        helm_clock(helm);
        helm->broken |= !timer_rest(&helm->timer, helm->now_ms);
        if (helm->broken ? helm->owner == OWNER_NONE : to_take(helm))
            helm_drive(helm);
    }
    helm->awake--;
    pthread_cond_broadcast(&helm->changed);
    pthread_mutex_unlock(&helm->lock);
    return NULL;
}

/* The signals of faults. If a thread blocks one of these and causes it, the
 * kernel kills the process instead of calling the program's handler. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* Have `count` background threads. If one cannot start, try next time. */
static void stand_by(struct helm *helm, uint32_t count)
{
    pthread_attr_t attributes;
    sigset_t none;
    sigset_t old;

    if (helm->thread_count >= count || helm->stopping)
        return;
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, STACK_LEN);
    sigfillset(&none);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(&none, faults[i]);
    pthread_sigmask(SIG_SETMASK, &none, &old);
    if (pthread_create(&helm->threads[helm->thread_count], &attributes,
                       background, helm) == 0) {
        helm->thread_count++;
        helm->awake++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}

void helm_due(struct helm *helm, uint32_t ms)
{
    uint64_t at_ms = helm->now_ms + ms;

    stand_by(helm, 1);
    if (at_ms < helm->due_ms)
        helm->due_ms = at_ms;
    timer_arm(&helm->timer, at_ms, helm->now_ms);
}

void helm_attended(struct helm *helm)
{
    helm->attended = true;
    if (helm->owner == OWNER_NONE)
        helm_due(helm, ATTENDED_MS);
}

void helm_yield(struct helm *helm, bool slow)
{
    if (slow) {
        helm->yield_ms = helm_clock(helm);
        stand_by(helm, helm->owner == OWNER_BACKGROUND ? 2 : 1);
        timer_arm(&helm->timer, helm->yield_ms + YIELD_MS, helm->now_ms);
    }
    helm->yielding = true;
    helm->slow = slow;
    pthread_mutex_unlock(&helm->lock);
}

void helm_resume(struct helm *helm)
{
    lock_first(helm);
    helm->yielding = false;
}

/* ---- making one ---- */

struct ev_loop *helm_loop(struct helm *helm)
{
    return helm->loop;
}

/* A mutex is not fair: a thread that calls again and again gets the lock back
 * before a woken thread runs. So a caller gives way to the threads that drive
 * the loop, but only once, so that it does not wait forever. */
int helm_lock(struct helm *helm)
{
    if (helm->forked)
        return -EPERM;
    pthread_mutex_lock(&helm->lock);
    if (atomic_load(&helm->urgent) > 0) {
        helm->aside++;
        pthread_cond_wait(&helm->passed, &helm->lock);
        helm->aside--;
    }
    return 0;
}

void helm_unlock(struct helm *helm)
{
    pthread_mutex_unlock(&helm->lock);
}

void helm_relock(struct helm *helm)
{
    lock_first(helm);
}

bool helm_seize(struct helm *helm, uint64_t until_ms)
{
    struct timespec pause = {.tv_nsec = 1000000};

    while (pthread_mutex_trylock(&helm->lock) != 0) {
        if (helm_clock_us() / 1000 >= until_ms)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

bool helm_is_forked(const struct helm *helm)
{
    return helm->forked;
}

bool helm_polling(const struct helm *helm)
{
    return helm->polling;
}

static void init_watchers(struct helm *helm)
{
    ev_set_userdata(helm->loop, helm);
    ev_set_loop_release_cb(helm->loop, before_poll, after_poll);
    ev_async_init(&helm->waker, on_wake);
    ev_async_start(helm->loop, &helm->waker);
    ev_init(&helm->alarm, on_alarm);
    helm->alarm.data = helm;
    ev_io_init(&helm->timer_io, on_timer, helm->timer.fd, EV_READ);
    helm->timer_io.data = helm;
}

static int init_locks(struct helm *helm)
{
    pthread_condattr_t attributes;
    int r;

    r = pthread_condattr_init(&attributes);
    if (r != 0)
        return -r;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    r = pthread_cond_init(&helm->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (r == 0)
        r = pthread_cond_init(&helm->passed, NULL);
    if (r == 0)
        r = pthread_mutex_init(&helm->lock, NULL);
    return -r;
}

int helm_new(struct helm **out,
             const struct helm_ops *ops,
             void *arg,
             sigset_t *mask)
{
    struct helm *helm = calloc(1, sizeof(*helm));
    int r;

    if (!helm)
        return -ENOMEM;
    helm->ops = ops;
    helm->arg = arg;
    helm->alarm_ms = UINT64_MAX;
    helm->due_ms = UINT64_MAX;
    helm->abandoned_ms = ABANDONED_MS;
    r = timer_open(&helm->timer);
    if (r < 0)
        goto out;
    r = init_locks(helm);
    if (r < 0)
        goto out;
    r = -ENOMEM;
    helm->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
    if (!helm->loop)
        goto out;
    init_watchers(helm);
    if (mask)
        pthread_sigmask(SIG_SETMASK, NULL, mask);
    helm_clock(helm);
    helm->guard = (struct forks_guard){
        .lock = &helm->lock, .in_child = in_child, .arg = helm};
    forks_add(&helm->guard);
    *out = helm;
    helm = NULL;
    r = 0;
out:
    if (helm) {
        if (helm->timer.fd >= 0)
            close(helm->timer.fd);
        free(helm);
    }
    return r;
}

void helm_stop(struct helm *helm)
{
    bool wakes;

    pthread_mutex_lock(&helm->lock);
    helm->stopping = true;
    wakes =
        helm->thread_count == 0 || (!helm->broken && timer_fire(&helm->timer));
    helm->broken |= !wakes;
    helm_wake(helm);
    while (!wakes && helm->awake > 0)
        pthread_cond_wait(&helm->changed, &helm->lock);
    pthread_mutex_unlock(&helm->lock);
    for (uint32_t i = 0; i < helm->thread_count; i++)
        if (wakes)
            pthread_join(helm->threads[i], NULL);
        else
            pthread_detach(helm->threads[i]); /* sleeps, or has ended */
    helm->thread_count = 0;
}

bool helm_is_broken(const struct helm *helm)
{
    return helm->broken;
}

void helm_free(struct helm *helm)
{
    if (!helm)
        return;
    forks_remove(&helm->guard);
    ev_loop_destroy(helm->loop);
    if (!helm->forked) {
        close(helm->timer.fd);
        /* In a forked child they still count the parent's waiters. */
        pthread_cond_destroy(&helm->changed);
        pthread_cond_destroy(&helm->passed);
        pthread_mutex_destroy(&helm->lock);
    }
    free(helm);
}
