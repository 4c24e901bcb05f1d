/* topk.c - a tool with a filter of its own: the largest numbers of all.
 *
 *     topk SHAPE BACK-END FILTER-DIRECTORY */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

enum {
    TAG_GO = COP_TAG_FIRST, /* down, and up again as "%ald" */
};

int main(int argc, char **argv)
{
    char *backend_argv[] = {argc > 2 ? argv[2] : NULL, NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *parameters, *answer;
    struct cop_error error;
    const int64_t *numbers;
    uint32_t count;
    int r;

    if (argc != 4)
        errx(2, "usage: topk SHAPE BACK-END FILTER-DIRECTORY");
    launch.topology_shape = argv[1];
    launch.backend_argv = backend_argv;
    launch.filter_path = argv[3];
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);

    r = cop_packet_new(&parameters, COP_TAG_FIRST, "%ud", (uint32_t)3);
    if (r < 0)
        errx(1, "parameters: %s", strerror(-r));
    options.up_filter = "topk";
    options.parameters = parameters;
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    cop_packet_free(parameters);

    r = cop_stream_send(stream, TAG_GO, "");
    if (r == 0)
        r = cop_stream_receive(stream, &answer, 10000 /* ms */);
    if (r < 0)
        errx(1, "no answer: %s", strerror(-r));
    r = cop_packet_unpack(answer, "%ald", &numbers, &count);
    if (r < 0)
        errx(1, "unpack: %s", strerror(-r));
    printf("the largest numbers of %u back-ends:",
           cop_packet_contributors(answer));
    for (uint32_t i = 0; i < count; i++)
        printf(" %lld", (long long)numbers[i]);
    printf("\n");

    cop_packet_free(answer);
    cop_network_free(network);
    return 0;
}
