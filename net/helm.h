/* helm.h - which thread drives the loop of a driver (PROTOCOL 14.1).
 *
 * One lock, one loop. A thread that waits takes the helm: it does the work
 * that is due, then polls, with the lock released only in the poll and in
 * what helm_yield() brackets. When nobody has had the helm for some
 * milliseconds a background thread takes it, and gives it back to the first
 * thread that waits.
 *
 * The background thread sleeps in a read of a timerfd, which is set by a
 * thread that leaves the helm, and only if it is not set already. So it costs
 * nothing while some thread waits, and next to nothing while one thread comes
 * and goes. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/libev.h"

struct helm; /* opaque */

struct helm_ops {
    /* Do what is due, before each poll. May yield. Sets `*next_ms` to when
     * it is to be called again at the latest, UINT64_MAX for never. Returns
     * whether the poll must not block. */
    bool (*work)(void *arg, uint64_t *next_ms);

    /* helm_due() has run out while another thread polls. */
    void (*overdue)(void *arg);

    /* We are in a forked child: close descriptors, and nothing else. */
    void (*forked)(void *arg);
};

/* Make one, with a loop of its own.
 *
 * mask  set to the signals that the calling thread blocks; may be NULL
 *
 * Returns 0, -ENOMEM, or what the system gave. */
int helm_new(struct helm **out,
             const struct helm_ops *ops,
             void *arg,
             sigset_t *mask);

/* End the background thread. Not with the lock held. */
void helm_stop(struct helm *helm);

/* Whether the application has closed our descriptors, as closefrom() does.
 * Their numbers may belong to other files by now: close none, and do not call
 * helm_free(). */
bool helm_is_broken(const struct helm *helm);

/* Free it, stopped. In a forked child it frees the memory only. NULL is
 * fine. */
void helm_free(struct helm *helm);

/* Its loop: own, never the default one. */
struct ev_loop *helm_loop(struct helm *helm);

/* Take the lock; a thread that drives the loop and wants it goes first. Returns
 * 0, or -EPERM in a forked child. */
int helm_lock(struct helm *helm);
void helm_unlock(struct helm *helm);

/* Take it again, after a helm_unlock() in between, ahead of helm_lock(). */
void helm_relock(struct helm *helm);

/* For a process that has crashed outside of the lock: take it for good. Returns
 * whether that was possible before `until_ms`. */
bool helm_seize(struct helm *helm, uint64_t until_ms);

/* Whether we are in a forked child. */
bool helm_is_forked(const struct helm *helm);

/* All below with the lock held. ------------------------------------------- */

/* Whether another thread polls just now: then no watcher may be touched. */
bool helm_polling(const struct helm *helm);

/* Have that thread return from its poll, and work. */
void helm_wake(struct helm *helm);

/* What a thread waits for may have happened: have all threads look. */
void helm_notify(struct helm *helm);

/* Monotonic milliseconds, as of the last poll or helm_clock(). */
uint64_t helm_now_ms(const struct helm *helm);
uint64_t helm_clock(struct helm *helm);

/* Microseconds of the same clock, now. */
uint64_t helm_clock_us(void);

typedef bool helm_done_fn(void *arg);

/* Work and poll, or wait for the thread that does, until `done`. With a
 * `timeout_ms` of 0 it polls once without waiting, COP_FOREVER has no end.
 * Returns 0, -EAGAIN, or -EBADF: see helm_is_broken(). */
int helm_wait(struct helm *helm,
              helm_done_fn *done,
              void *done_arg,
              int timeout_ms);

/* work() is due within `ms` milliseconds even if no thread waits. */
void helm_due(struct helm *helm, uint32_t ms);

/* From now on an abandoned helm is to be taken quickly. */
void helm_attended(struct helm *helm);

/* Within work(): release the lock for something that takes long, and take it
 * again. If it is `slow` it may take very long: after 100 ms the background
 * thread takes the helm from us. */
void helm_yield(struct helm *helm, bool slow);
void helm_resume(struct helm *helm);
