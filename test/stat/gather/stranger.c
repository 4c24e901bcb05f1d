/* stranger.c - sends the daemon DAEMON a request of another version:
 *
 *     stranger DAEMON
 *
 * The exit status is 0 if the daemon then ends. */
#include <coppice/coppice.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat/request.h"

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_error error;
    int r;

    if (argc != 2) {
        fputs("Usage: stranger DAEMON\n", stderr);
        return 2;
    }
    launch.topology_shape = "flat:1";
    launch.backend_argv = (char *[]){argv[1], NULL};
    r = cop_network_launch(&network, &launch, &error);
    if (r < 0) {
        fprintf(stderr, "stranger: %s\n", error.text);
        return EXIT_FAILURE;
    }
    r = cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error);
    if (r == 0)
        r = cop_stream_send(stream, STAT_TAG_REQUEST, "%s", "of old");
    while (r == 0 && event.type != COP_EVENT_BACKEND_LOST)
        r = cop_network_event(network, &event, COP_FOREVER);
    cop_network_free(network);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
