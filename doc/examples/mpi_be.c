/* mpi_be.c - the ranks of an MPI job as back-ends:
 *
 *     mpirun -n 4 mpi_be SESSION-FILE
 *
 * The job computes and adds up until the tool ends; MPI rank 2 has three times
 * the work. Between two steps each rank answers what it was asked: by attach.c,
 * for the sum of all ranks, which it has from MPI; by mpi_profile.py, for its
 * times. */
#include <coppice/coppice.h>
#include <err.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum question {
    SUM = COP_TAG_FIRST,
    LONGEST,
    TIMES
};

struct job {
    int64_t sum;
    double seconds[2];
    int ended; /* the tool has */
};

static const char *const phases[] = {"compute", "MPI_Allreduce"};

/* `millions` of steps of work. */
static void compute(int millions)
{
    static volatile double sum;

    for (long i = 1; i <= millions * 1000000L; i++)
        sum += 1 / (double)i;
}

static void answer(struct cop_network *network, struct job *job)
{
    struct cop_stream *stream;
    struct cop_packet *packet;
    int32_t tag;
    int r;

    while ((r = cop_network_receive(network, &stream, &packet, 0)) == 0) {
        tag = cop_packet_tag(packet);
        if (tag == SUM)
            cop_stream_send(stream, tag, "%ld", job->sum);
        else if (tag == LONGEST)
            cop_stream_send(stream, tag, "%lf %ud %lf", job->seconds[0],
                            cop_network_rank(network), job->seconds[0]);
        else if (tag == TIMES)
            cop_stream_send(stream, tag, "%as %alf", phases, (uint32_t)2,
                            job->seconds, (uint32_t)2);
        cop_packet_free(packet);
    }
    job->ended = r != -EAGAIN;
}

/* One step of the job. All ranks see the end in the same one. */
static void step(int rank, struct job *job)
{
    int mine[2] = {rank, job->ended}, all[2];
    clock_t before = clock();
    double start;

    compute(rank == 2 ? 3 : 1);
    job->seconds[0] += (double)(clock() - before) / CLOCKS_PER_SEC;
    start = MPI_Wtime();
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    job->seconds[1] += MPI_Wtime() - start;
    job->sum = all[0];
    job->ended = all[1];
}

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_error error;
    struct job job = {0};
    char label[32];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2)
        errx(2, "usage: mpirun -n COUNT mpi_be SESSION-FILE");
    snprintf(label, sizeof(label), "MPI rank %d", rank);
    join.session_path = argv[1];
    join.label = label;
    join.timeout_ms = 60000;
    if (cop_network_join(&network, &join, &error) < 0)
        errx(1, "MPI rank %d: %s", rank, error.text);

    for (step(rank, &job); !job.ended; step(rank, &job))
        answer(network, &job);
    cop_network_free(network);
    MPI_Finalize();
    return 0;
}
