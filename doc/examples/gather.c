/* gather.c - a tool that survives: kill its commnodes while it works.
 *
 *     gather SHAPE BACK-END FILTER-DIRECTORY COUNT
 *
 * Each back-end sends COUNT numbers, a hundred a second. Rank R sends those from
 * R * COUNT; the filter takes numbers below 131,072. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG_GO COP_TAG_FIRST /* down, "%ud": so many; up: "%aud" */

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    const uint32_t *numbers;
    uint32_t count, died = 0;
    size_t total = 0;

    if (argc != 5)
        errx(2, "usage: gather SHAPE BACK-END FILTER-DIRECTORY COUNT");
    launch.topology_shape = argv[1];
    launch.backend_argv = (char *[]){argv[2], NULL};
    launch.filter_path = argv[3];
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);

    options.up_filter = "gather";
    options.guarantee = COP_GUARANTEE_COMPENSATION;
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    cop_stream_send(stream, TAG_GO, "%ud", (uint32_t)atoi(argv[4]));
    printf("gathering\n");
    fflush(stdout);

    /* Returns when all that was sent is here, whatever died meanwhile. The
     * filter at the front-end gives each number once. */
    if (cop_stream_sync(stream, COP_FOREVER, &error) != 0)
        errx(1, "%s", error.text);
    while (cop_stream_receive(stream, &packet, 0) == 0) {
        if (cop_packet_unpack(packet, "%aud", &numbers, &count) == 0)
            total += count;
        cop_packet_free(packet);
    }
    while (cop_network_event(network, &event, 0) == 0) {
        died += event.type == COP_EVENT_NODE_LOST;
        if (event.type == COP_EVENT_FILTER_ERROR)
            errx(1, "%s", event.text);
    }
    printf("%zu numbers of %zu back-ends; %u commnodes died\n", total,
           cop_stream_size(stream), died);
    cop_network_free(network);
    return 0;
}
