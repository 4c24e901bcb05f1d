/* hung_mpi.c - jobs of MPI that hang, for test-judgement and the documents:
 *
 *     hung_mpi tag         one rank receives with the wrong tag
 *     hung_mpi collective  the last rank is in another collective
 *     hung_mpi loop        one rank computes, and the others wait for it */
#include <mpi.h>
#include <string.h>

/* So that each function keeps its own frame on the stack. */
#define FRAME __attribute__((noinline))

static volatile double cell;

/* A token goes round; rank size / 2 expects it with another tag. */
FRAME static void pass_on(int rank, int size)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int tag = rank == size / 2 ? 8 : 7, token = 0;

    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, right, 7, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0)
        MPI_Send(&token, 1, MPI_INT, right, 7, MPI_COMM_WORLD);
}

FRAME static double solve(double part)
{
    double sum = 0;

    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

FRAME static void refine(void)
{
    for (int i = 0; i < 1000; i++)
        cell = cell / 2 + 1;
}

/* Never ends. */
FRAME static void refine_cell(void)
{
    for (;;) {
        refine();
        cell = 0;
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "tag";
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "tag") == 0)
        pass_on(rank, size);
    else if (strcmp(what, "collective") == 0 && rank == size - 1)
        cell = solve(1);
    else if (strcmp(what, "loop") == 0 && rank == size / 2)
        refine_cell();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
