/* ring_mpi.c - the job of ring.c in MPI: it hangs, find out where.
 *
 *     mpirun -np COUNT ./ring_mpi [RANK] &
 *     coppice-stat --mpir $!
 *
 * Each process posts a receive from its predecessor, sends to its successor,
 * waits for both, and meets all others in a barrier. Process RANK (1 if not
 * given) stalls in do_SendOrStall() before its send; so its successor waits
 * in MPI_Waitall() for ever, and all others in MPI_Barrier(). This is the
 * program of the dissertation's figure 5.3. It ends with its launcher. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void do_SendOrStall(int *token,
                                                     int to,
                                                     int stalls,
                                                     MPI_Request *request)
{
    while (stalls)
        pause();
    MPI_Isend(token, 1, MPI_INT, to, 0, MPI_COMM_WORLD, request);
}

int main(int argc, char **argv)
{
    int stall_rank = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int received = 0;
    int count;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (stall_rank < 0 || stall_rank >= count) {
        if (rank == 0)
            fprintf(stderr, "ring_mpi: no process %d among %d\n", stall_rank,
                    count);
        MPI_Finalize();
        return 2;
    }
    MPI_Irecv(&received, 1, MPI_INT, (rank + count - 1) % count, 0,
              MPI_COMM_WORLD, &requests[0]);
    do_SendOrStall(&rank, (rank + 1) % count, rank == stall_rank, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
