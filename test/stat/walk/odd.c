/* odd.c - 17 threads that hang: 15 in a barrier, one in refill(), which is
 * never woken, and the first thread, which waits for the others to end.
 * test-odd compiles it. */
#include <pthread.h>
#include <stdint.h>

#define FRAME __attribute__((noinline))

#define THREADS 16

static pthread_barrier_t barrier;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

FRAME static void refill(void)
{
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&filled, &mutex);
}

FRAME static void meet(void)
{
    pthread_barrier_wait(&barrier);
}

static void *work(void *arg)
{
    if ((intptr_t)arg == 5)
        refill();
    else
        meet();
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS];
    intptr_t i;

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
