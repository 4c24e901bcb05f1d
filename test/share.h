/* share.h - how much of a busy machine there is for one of many.
 *
 * Between share_begin() and share_end() a thread is always busy. What it has
 * had of a core is the time for which a test may ask that something ends in
 * time: on a quiet machine it is nearly the clock's, on a busy one a part of
 * it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "test/check.h"

struct share {
    pthread_t thread;
    atomic_bool is_over;
    long ms;
};

static inline void *share_spend(void *arg)
{
    struct share *share = arg;
    struct timespec had;

    while (!atomic_load_explicit(&share->is_over, memory_order_relaxed))
        ;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
    share->ms = had.tv_sec * 1000 + had.tv_nsec / 1000000;
    return NULL;
}

static inline void share_begin(struct share *share)
{
    share->ms = 0;
    atomic_init(&share->is_over, false);
    CU_ASSERT_EQUAL_FATAL(
        pthread_create(&share->thread, NULL, share_spend, share), 0);
}

/* Milliseconds. */
static inline long share_end(struct share *share)
{
    atomic_store(&share->is_over, true);
    CU_ASSERT_EQUAL(pthread_join(share->thread, NULL), 0);
    return share->ms;
}
