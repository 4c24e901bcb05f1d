/* arguments.h - for the program that arguments.py writes. */
#pragma once

#define APART __attribute__((noinline))

struct part;

/* A function that makes a call. */
typedef int (*caller_fn)(void);

extern const caller_fn callers[];
extern const int caller_count;

/* Changes what `token` points to. */
void note(int *token);

/* Gives the rank of this thread, and the number of ranks; ignores `part`. */
void ask(int *rank, int *size, struct part *part);

/* Not of MPI, but with the types of MPICH. */
int MPI_Recv(void *buffer,
             int count,
             int type,
             int source,
             int tag,
             int communicator,
             void *status);
