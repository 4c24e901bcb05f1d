/* forks.h - locks when the process forks.
 *
 * fork() copies only one thread. So all locks are held over a fork, and in the
 * child each owner's in_child() runs before its lock is released. */
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

/* Hold `guard->lock` over every fork, until forks_remove(). */
void forks_add(struct forks_guard *guard);
void forks_remove(struct forks_guard *guard);
