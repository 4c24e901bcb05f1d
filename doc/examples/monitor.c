/* monitor.c - the loads of many hosts, as one line a period. Commnodes may die
 * meanwhile.
 *
 *     monitor LAUNCHER HOSTS PERIODS SECONDS BACK-END [FILE]
 *     monitor ssh 'n[1-64]' 60 1 /usr/local/bin/monitor_be
 *
 * FILE begins with the number that is watched: /proc/loadavg if none is given. */
#include <coppice/coppice.h>
#include <coppice/status.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What becomes of each value of the back-ends' packets. */
static const char *const words[] = {"min", "max",   "avg",
                                    "sum", "top:5", "with:4"};

static void print_period(struct cop_network *network,
                         const struct cop_packet *answer)
{
    uint32_t bin_count, top_count;
    double least, most, mean;
    const uint32_t *bins, *ranks;
    const double *top;

    if (cop_packet_unpack(answer, "%lf %lf %lf %aud %alf %aud", &least, &most,
                          &mean, &bins, &bin_count, &top, &top_count, &ranks,
                          &top_count) < 0)
        errx(1, "an answer of another format");
    printf("%u hosts: %.2f to %.2f, mean %.2f; below 1, 2, 4, 8, more:",
           cop_packet_contributors(answer), least, most, mean);
    for (uint32_t i = 0; i < bin_count; i++)
        printf(" %u", bins[i]);
    printf("; top:");
    for (uint32_t i = 0; i < top_count; i++) {
        struct cop_status_node node = COP_STATUS_NODE_INIT;

        cop_network_node(network, ranks[i], &node);
        printf(" %s %.2f", node.host ? node.host : "?", top[i]);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    int r;

    if (argc < 6 || argc > 7 || atoi(argv[3]) < 1 || atoi(argv[4]) < 0)
        errx(2, "usage: monitor LAUNCHER HOSTS PERIODS SECONDS BACK-END "
                "[FILE]");
    launch.launcher = argv[1];
    launch.hosts = argv[2];
    launch.topology_shape = "each:16"; /* a back-end on each host */
    launch.backend_argv = argv + 5;
    if (cop_network_launch(&network, &launch, &error) < 0 ||
        cop_packet_new(&packet, 0, "%as", words,
                       (uint32_t)(sizeof(words) / sizeof(words[0]))) < 0)
        errx(1, "%s", error.text);
    options.up_filter = "fields";
    options.parameters = packet;
    options.guarantee = COP_GUARANTEE_WAVES;
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    cop_packet_free(packet);
    for (int period = 0; period < atoi(argv[3]); period++) {
        r = cop_stream_send(stream, COP_TAG_FIRST, "");
        if (r == 0)
            r = cop_stream_receive(stream, &packet, COP_FOREVER);
        if (r < 0)
            errx(1, "no answer: %s", strerror(-r));
        print_period(network, packet);
        cop_packet_free(packet);
        sleep((unsigned)atoi(argv[4]));
    }
    cop_network_free(network);
    return 0;
}
