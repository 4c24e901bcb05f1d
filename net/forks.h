/* forks.h - what becomes of locks when the process forks.
 *
 * fork() copies one thread only. So all locks are held over a fork, and in the
 * child each owner is told before its lock is free again. */
#pragma once

#include <pthread.h>

/* The owner's storage. */
struct forks_guard {
    struct forks_guard *prev;
    struct forks_guard *next;
    pthread_mutex_t *lock;
    void (*in_child)(void *arg); /* with the lock held */
    void *arg;
};

/* From now on hold `guard->lock` over forks, until forks_remove(). */
void forks_add(struct forks_guard *guard);
void forks_remove(struct forks_guard *guard);
