/* mpi_be.c - the ranks of an MPI job as back-ends:
 *
 *     mpirun -n 4 mpi_be SESSION-FILE
 *
 * Each rank answers with the sum of all ranks, which it has from MPI. The
 * front-end is attach.c. */
#include <coppice/coppice.h>
#include <err.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    char label[32];
    int rank;
    int sum;

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

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        cop_stream_send(stream, cop_packet_tag(packet), "%ld", (int64_t)sum);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    MPI_Finalize();
    return 0;
}
