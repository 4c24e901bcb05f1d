/* inlined.c - functions inlined in each other, in C and C++; two threads of an
 * OpenMP region that wait for each other's lock. test-inlined compiles it and
 * looks at it while it waits. */
#include <pthread.h>
#include <unistd.h>

#define INLINED static inline __attribute__((always_inline))

static pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t there = PTHREAD_MUTEX_INITIALIZER;
static volatile int waits, moved_here, moved_there;

INLINED void receive(void)
{
    while (waits)
        pause();
}

INLINED void wait_for_neighbour(void)
{
    receive();
    moved_here++;
}

INLINED void exchange(void)
{
    moved_there++;
    wait_for_neighbour();
}

INLINED void timestep(void)
{
    exchange();
    moved_here++;
}

INLINED void lock_second(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    moved_there++;
}

INLINED void from_here(void)
{
    pthread_mutex_lock(&here);
    while (!moved_there)
        usleep(1000);
    moved_here = 1;
    lock_second(&there);
}

INLINED void from_there(void)
{
    pthread_mutex_lock(&there);
    moved_there = 1;
    while (!moved_here)
        usleep(1000);
    lock_second(&here);
}

static void sweep(void)
{
    int i;

#pragma omp parallel for num_threads(2)
    for (i = 0; i < 2; i++) {
        if (i == 0)
            from_here();
        else
            from_there();
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    waits = argc == 1;
    if (waits)
        timestep();
    else
        sweep();
    return 0;
}
