/* pool.c - pool MODE: an OpenMP program that has never had threads ("none"),
 * has threads that wait for work ("idle"), or a thread that hangs in a region
 * ("stuck"). In each mode the first thread waits in wait_for_input(). test-pool
 * compiles it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int worked;

__attribute__((noinline)) static void work(int number, int stuck)
{
    worked++;
    while (stuck && number == 2)
        pause();
}

static void sweep(int stuck)
{
#pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int i = 0; i < 4; i++)
        work(i, stuck);
}

__attribute__((noinline)) static void wait_for_input(void)
{
    char byte;

    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

static void *sweep_thread(void *arg)
{
    sweep(1);
    return arg;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "none";
    pthread_t thread;

    if (strcmp(mode, "idle") == 0)
        sweep(0);
    else if (strcmp(mode, "stuck") == 0)
        pthread_create(&thread, NULL, sweep_thread, NULL);
    wait_for_input();
    return 0;
}
