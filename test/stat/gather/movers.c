/* movers.c - one process that does what its argument says, until it is killed:
 * "loop" computes in refine_cell(), "join" waits for a thread that computes there,
 * "nap" sleeps again and again at one place, "poll" polls inside an MPI call, and
 * "wait" waits for its input. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Each function must keep its own frame on the stack. */
#define FRAME          __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static volatile double cell;

FRAME static void coarsen(void)
{
    for (int i = 0; i < 1000; i++)
        cell = cell / 2;
}

FRAME static void refine(void)
{
    for (int i = 0; i < 1000; i++)
        cell = cell * 2 + 1;
}

/* Never ends. */
FRAME static void refine_cell(void)
{
    for (;;) {
        refine();
        coarsen();
    }
}

static void *refine_all(void *unused)
{
    refine_cell();
    return unused;
}

FRAME static void join(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, refine_all, NULL) == 0)
        pthread_join(thread, NULL);
    NO_TAIL_CALL();
}

FRAME static void doze(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    for (;;)
        nanosleep(&nap, NULL);
}

/* Waits as an MPI library does: it polls. A program that contains MPI has both
 * names of each call. */
int MPI_Barrier(int communicator);
int PMPI_Barrier(int communicator) __attribute__((alias("MPI_Barrier")));
FRAME int MPI_Barrier(int communicator)
{
    while (communicator)
        sched_yield();
    return 0;
}

FRAME static void finish(void)
{
    MPI_Barrier(1);
    NO_TAIL_CALL();
}

FRAME static void await_order(void)
{
    char order;

    while (read(STDIN_FILENO, &order, 1) > 0)
        ;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "wait";

    if (strcmp(what, "loop") == 0)
        refine_cell();
    else if (strcmp(what, "join") == 0)
        join();
    else if (strcmp(what, "nap") == 0)
        doze();
    else if (strcmp(what, "poll") == 0)
        finish();
    else
        await_order();
    return 0;
}
