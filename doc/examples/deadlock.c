/* deadlock.c - a program whose threads wait for each other: find out where with
 * coppice-stat.
 *
 *     deadlock
 *
 * The bug: deposit() locks the account and then the journal, audit() the
 * journal and then the account. Two threads do so until each has one and waits
 * for the other; a third waits for both to end. A barrier between the two locks
 * makes it certain the first time.
 *
 * It writes "locked" when both have their first lock, and ends when its
 * standard input does. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAME          __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

FRAME static void deposit(void)
{
    pthread_mutex_lock(&account);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&journal);
    NO_TAIL_CALL();
}

FRAME static void audit(void)
{
    pthread_mutex_lock(&journal);
    pthread_barrier_wait(&both);
    printf("locked\n");
    fflush(stdout);
    pthread_mutex_lock(&account);
    NO_TAIL_CALL();
}

static void *cashier(void *arg)
{
    deposit();
    return arg;
}

static void *auditor(void *arg)
{
    audit();
    return arg;
}

/* Wait for both, which never end. */
static void *bank(void *arg)
{
    pthread_t threads[2];

    if (pthread_create(&threads[0], NULL, cashier, NULL) ||
        pthread_create(&threads[1], NULL, auditor, NULL))
        exit(EXIT_FAILURE);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return arg;
}

int main(void)
{
    pthread_t thread;
    char buffer[64];

    if (pthread_barrier_init(&both, NULL, 2) ||
        pthread_create(&thread, NULL, bank, NULL))
        return EXIT_FAILURE;
    while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
        ;
    return EXIT_SUCCESS; /* and all threads with it */
}
