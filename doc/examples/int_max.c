/* int_max.c - the front-end of a first tool: the highest of many numbers.
 *
 *     int_max SHAPE BACK-END        such as: int_max 4x4 ./int_max_be */
#include "int_max.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;
    int max;
    int r;

    if (argc != 3)
        errx(2, "usage: int_max SHAPE BACK-END, such as 4x4 ./int_max_be");
    launch.topology_shape = argv[1];
    launch.backend_argv = &argv[2];
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);

    options.up_filter = "max";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);

    r = cop_stream_send(stream, TAG_GO, "%d", 1000);
    if (r < 0)
        errx(1, "send: %s", strerror(-r));
    r = cop_stream_receive(stream, &answer, 10000 /* ms */);
    if (r < 0)
        errx(1, "receive: %s", strerror(-r));
    r = cop_packet_unpack(answer, "%d", &max);
    if (r < 0)
        errx(1, "unpack: %s", strerror(-r));
    printf("the highest number of %u back-ends is %d\n",
           cop_packet_contributors(answer), max);

    cop_packet_free(answer);
    cop_network_free(network); /* ends all nodes */
    return 0;
}
