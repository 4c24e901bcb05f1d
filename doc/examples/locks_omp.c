/* locks_omp.c - two threads of an OpenMP region wait for each other's lock, at
 * two lines of one function. The first thread is done and waits at the end of the
 * region. With an argument the locks are those of pthread.
 *
 *     gcc -g -O1 -fopenmp -o locks_omp locks_omp.c */
#include <omp.h>
#include <pthread.h>

#define INLINED static inline __attribute__((always_inline))

static omp_lock_t locks[2];
static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER,
                                     PTHREAD_MUTEX_INITIALIZER};
static volatile int held;

/* Go on when both threads hold a lock. */
INLINED void meet(void)
{
    __sync_fetch_and_add(&held, 1);
    while (held < 2)
        ;
}

INLINED void take(int which, int mutex)
{
    if (mutex)
        pthread_mutex_lock(&mutexes[which]);
    else
        omp_set_lock(&locks[which]);
}

int main(int argc, char **argv)
{
    int mutex = argc > 1;

    (void)argv;
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(3)
    {
        int number = omp_get_thread_num();

        if (number == 1) {
            take(0, mutex);
            meet();
            take(1, mutex);
        } else if (number == 2) {
            take(1, mutex);
            meet();
            take(0, mutex);
        }
    }
    return 0;
}
