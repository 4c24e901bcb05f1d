/* helm.h - which thread drives a driver's loop (PROTOCOL 14.1).
 *
 * One lock, one loop. A thread that waits takes the helm: it does the work that
 * is due, then polls. The lock is released only in the poll and between
 * helm_yield() and helm_resume(). If no thread has had the helm for some
 * milliseconds, a background thread takes it, and gives it back to the first
 * thread that waits.
 *
 * The background thread sleeps in a poll of a timerfd. A thread that leaves the
 * helm sets the timer, unless it is set already. So the background thread costs
 * nothing while some thread waits, and almost nothing while one thread comes
 * and goes. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/libev.h"

struct helm; /* opaque */

struct helm_ops {
    /* Do the work that is due, before each poll. May yield. Sets `*next_ms` to
     * when it must be called again at the latest; UINT64_MAX: never. Returns
     * whether the poll must not block. */
    bool (*work)(void *arg, uint64_t *next_ms);

    /* The time of helm_due() has passed while another thread polls. */
    void (*overdue)(void *arg);

    /* In a forked child: close descriptors, and do nothing else. */
    void (*forked)(void *arg);
};

/* Make a helm with its own loop.
 *
 * mask  set to the signals that the calling thread blocks; may be NULL
 *
 * Returns 0, -ENOMEM, or the system's error. */
int helm_new(struct helm **out,
             const struct helm_ops *ops,
             void *arg,
             sigset_t *mask);

/* End the background threads. The lock must not be held. */
void helm_stop(struct helm *helm);

/* Whether the application has closed our descriptors, for example by
 * closefrom(). Their numbers may belong to other files by now: close none, and
 * do not call helm_free(). */
bool helm_is_broken(const struct helm *helm);

/* Free `helm`, after helm_stop(). In a forked child, frees only the memory.
 * NULL is fine. */
void helm_free(struct helm *helm);

/* The helm's own loop, never libev's default loop. */
struct ev_loop *helm_loop(struct helm *helm);

/* Take the lock. A thread that drives the loop and waits for the lock goes
 * first. Returns 0, or -EPERM in a forked child. */
int helm_lock(struct helm *helm);
void helm_unlock(struct helm *helm);

/* Take the lock again after helm_unlock(), before threads in helm_lock(). */
void helm_relock(struct helm *helm);

/* For a process that has crashed without the lock: take it and never release
 * it. Returns whether that succeeded before `until_ms`. */
bool helm_seize(struct helm *helm, uint64_t until_ms);

/* Whether this process is a forked child. */
bool helm_is_forked(const struct helm *helm);

/* All functions below need the lock. -------------------------------------- */

/* Whether another thread is polling: then no watcher may be touched. */
bool helm_polling(const struct helm *helm);

/* Have the polling thread return from its poll, and work. */
void helm_wake(struct helm *helm);

/* The condition of a waiting thread may be true: have all of them check. */
void helm_notify(struct helm *helm);

/* Monotonic milliseconds, as of the last poll or helm_clock(). */
uint64_t helm_now_ms(const struct helm *helm);
uint64_t helm_clock(struct helm *helm);

/* Microseconds of the same clock, read now. */
uint64_t helm_clock_us(void);

typedef bool helm_done_fn(void *arg);

/* Work and poll, or wait for the thread that does, until `done`. With a
 * `timeout_ms` of 0 it polls once without waiting; COP_FOREVER means no
 * timeout. Returns 0, -EAGAIN, or -EBADF: see helm_is_broken(). */
int helm_wait(struct helm *helm,
              helm_done_fn *done,
              void *done_arg,
              int timeout_ms);

/* Have work() called within `ms` milliseconds, even if no thread waits. */
void helm_due(struct helm *helm, uint32_t ms);

/* From now on the background thread takes an abandoned helm quickly. */
void helm_attended(struct helm *helm);

/* Within work(): release the lock during a long operation, and take it again.
 * If the operation is `slow`, the background thread takes the helm from the
 * caller after 100 ms. */
void helm_yield(struct helm *helm, bool slow);
void helm_resume(struct helm *helm);
