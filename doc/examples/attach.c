/* attach.c - a front-end whose back-ends are started by somebody else.
 *
 *     attach SHAPE SESSION-FILE COUNT
 *
 * It starts the commnodes, writes the session file, waits until COUNT back-ends
 * have attached (attach_be SESSION-FILE), and adds up their process numbers. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;
    const struct cop_communicator *everyone;
    long long sum;
    int r = 0;

    if (argc != 4)
        errx(2, "usage: attach SHAPE SESSION-FILE COUNT");
    launch.topology_shape = argv[1];
    launch.session_path = argv[2];
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);

    everyone = cop_network_everyone(network);
    while (r == 0 &&
           cop_communicator_size(everyone) < strtoul(argv[3], NULL, 10))
        r = cop_network_event(network, &event, 30000 /* ms */);
    if (r < 0)
        errx(1, "not all have attached: %s", strerror(-r));

    options.up_filter = "sum";
    if (cop_stream_open(&stream, network, everyone, &options, &error) < 0)
        errx(1, "%s", error.text);
    r = cop_stream_send(stream, COP_TAG_FIRST, "");
    if (r == 0)
        r = cop_stream_receive(stream, &answer, 10000 /* ms */);
    if (r == 0)
        r = cop_packet_unpack(answer, "%ld", &sum);
    if (r < 0)
        errx(1, "no answer: %s", strerror(-r));
    printf("%u back-ends, sum %lld\n", cop_packet_contributors(answer), sum);

    cop_packet_free(answer);
    cop_network_free(network);
    return 0;
}
