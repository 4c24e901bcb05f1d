/* arguments.c - calls each of `callers` (arguments.py) in a separate thread.
 * MPI_Recv() prints the number of the caller and its arguments, and never
 * returns. test-arguments compiles it. */
#include "arguments.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static __thread int number;

void note(int *token)
{
    token[0] += 3;
}

void ask(int *rank, int *size, struct part *part)
{
    (void)part;
    *rank = number * 7 % 23;
    *size = 23 + number % 3;
}

int MPI_Recv(void *buffer,
             int count,
             int type,
             int source,
             int tag,
             int communicator,
             void *status)
{
    (void)buffer, (void)count, (void)type, (void)communicator, (void)status;
    printf("%d %d %d\n", number, source, tag);
    /* Like a real MPI_Recv(), it uses the callee-saved registers. */
    __asm__ volatile("xor %%rbx, %%rbx; xor %%r12, %%r12; xor %%r13, %%r13;"
                     "xor %%r14, %%r14; xor %%r15, %%r15" ::
                         : "rbx", "r12", "r13", "r14", "r15");
    for (;;)
        pause();
}

/* A program that contains MPI has both names of each call. */
extern __typeof__(MPI_Recv) PMPI_Recv __attribute__((alias("MPI_Recv")));

static void *run(void *arg)
{
    number = (int)(long)arg;
    callers[number]();
    return NULL;
}

int main(void)
{
    pthread_t thread;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (long i = 0; i < caller_count; i++)
        pthread_create(&thread, NULL, run, (void *)i);
    for (;;)
        pause();
}
