/* roll_call.c - who is there, though some hosts may be dead.
 *
 *     roll_call TOPOLOGY BACK-END [SSH [ARGUMENT...]]
 *
 * BACK-END is int_max_be. TOPOLOGY is a topology file or, without a slash, a
 * shape such as 2x2. With an SSH command the nodes are started over it. What
 * does not start is left out and listed with the reason; the back-ends that are
 * there are counted. */
#include "int_max.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_absentee who = COP_ABSENTEE_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;
    int r;

    if (argc < 3)
        errx(2, "usage: roll_call TOPOLOGY BACK-END [SSH [ARGUMENT...]]");
    if (strchr(argv[1], '/'))
        launch.topology_path = argv[1];
    else
        launch.topology_shape = argv[1];
    launch.backend_argv = (char *[]){argv[2], NULL};
    launch.launcher = argc > 3 ? "ssh" : "local";
    launch.ssh_argv = argc > 3 ? argv + 3 : NULL;
    launch.missing = COP_MISSING_SKIP;
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);

    for (size_t i = 0; cop_network_missing(network, i, &who) == 0; i++)
        printf("rank %u on %s is missing: %s\n", who.rank, who.host,
               who.reason);

    options.up_filter = "max";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    r = cop_stream_send(stream, TAG_GO, "%d", 1);
    if (r == 0)
        r = cop_stream_receive(stream, &answer, 10000 /* ms */);
    if (r < 0)
        errx(1, "no answer: %s", strerror(-r));
    printf("%u back-ends have answered\n", cop_packet_contributors(answer));
    cop_packet_free(answer);
    cop_network_free(network);
    return 0;
}
