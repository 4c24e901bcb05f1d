/* requests.c - ranks that wait for requests, each in a different way, for
 * messages that the last rank never sends. test-requests compiles it. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int cells[3], indices[3];
static MPI_Comm other;

static void receive(MPI_Request *request, int peer, int tag, int cell)
{
    MPI_Irecv(cells + cell, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, request);
}

static void wait_one(int last)
{
    MPI_Request request;

    receive(&request, last, 40, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_all(int last)
{
    MPI_Request requests[3];

    for (int i = 0; i < 3; i++)
        receive(requests + i, last - i, 41, i);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* One of the two requests is complete. */
static void wait_rest(int last)
{
    MPI_Request requests[2];
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    receive(requests, rank, 99, 0);
    receive(requests + 1, last, 42, 1);
    MPI_Send(cells + 2, 1, MPI_INT, rank, 99, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* The other requests are MPI_REQUEST_NULL. */
static void wait_any(int last)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                               MPI_REQUEST_NULL};

    receive(requests + 1, last, 43, 0);
    MPI_Waitany(3, requests, indices, MPI_STATUS_IGNORE);
}

static void wait_some(int last)
{
    MPI_Request requests[2];
    int done;

    receive(requests, last, 44, 0);
    receive(requests + 1, 0, 44, 1);
    MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
}

static void wait_for_any(int last)
{
    MPI_Request request;

    (void)last;
    receive(&request, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_for_send(int last)
{
    MPI_Request request;

    MPI_Issend(cells, 1, MPI_INT, last, 46, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* In `other` the ranks have different numbers. */
static void wait_elsewhere(int last)
{
    MPI_Request request;

    MPI_Irecv(cells, 1, MPI_INT, last - 1, 47, other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_again(int last)
{
    MPI_Request request;

    MPI_Recv_init(cells, 1, MPI_INT, last, 48, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    /* The ways that coppice-stat can read in both MPIs come first. */
    static void (*const ways[])(int) = {
        wait_one, wait_all,  wait_rest,     wait_for_any, wait_elsewhere,
        wait_any, wait_some, wait_for_send, wait_again};
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &other);
    printf("rank %d is there\n", rank);
    fflush(stdout);
    if (rank == size - 1)
        for (;;)
            pause();
    ways[rank](size - 1); /* at most ten ranks */
    return 1;
}
