/* forks.c - locks when the process forks. */
#include "net/forks.h"

#include <utlist.h>

static struct forks_guard *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    struct forks_guard *guard;

    pthread_mutex_lock(&all_lock);
    DL_FOREACH (all, guard)
        pthread_mutex_lock(guard->lock);
}

static void after_fork(void)
{
    struct forks_guard *guard;

    DL_FOREACH (all, guard)
        pthread_mutex_unlock(guard->lock);
    pthread_mutex_unlock(&all_lock);
}

static void in_child(void)
{
    struct forks_guard *guard;

    DL_FOREACH (all, guard)
        guard->in_child(guard->arg);
    after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

void forks_add(struct forks_guard *guard)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&all_lock);
    DL_APPEND(all, guard);
    pthread_mutex_unlock(&all_lock);
}

void forks_remove(struct forks_guard *guard)
{
    pthread_mutex_lock(&all_lock);
    DL_DELETE(all, guard);
    pthread_mutex_unlock(&all_lock);
}
