/* requests.c - counts the requests that all servers answer, exactly, although
 * every commnode may die. Usage: requests SHAPE SERVER COUNT */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *total;
    struct cop_error error;
    uint64_t requests;
    int died = 0;

    if (argc != 4)
        errx(2, "usage: requests SHAPE SERVER COUNT");
    launch.topology_shape = argv[1];
    launch.backend_argv = argv + 2; /* SERVER COUNT */
    options.up_filter = "sum";
    options.guarantee = COP_GUARANTEE_TOTAL; /* each packet counts once */
    if (cop_network_launch(&network, &launch, &error) < 0 ||
        cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    cop_stream_send(stream, COP_TAG_FIRST, ""); /* begin */
    warnx("serving");
    if (cop_stream_sync(stream, COP_FOREVER, &error) != 0)
        errx(1, "%s", error.text);
    if (cop_stream_state(stream, &total, COP_FOREVER) != 0 ||
        cop_packet_unpack(total, "%uld", &requests) < 0)
        errx(1, "there is no exact total");
    while (cop_network_event(network, &event, 0) == 0)
        died += event.type == COP_EVENT_NODE_LOST;
    printf("%ju requests; %d commnodes died\n", (uintmax_t)requests, died);
    cop_packet_free(total);
    cop_network_free(network);
    return 0;
}
