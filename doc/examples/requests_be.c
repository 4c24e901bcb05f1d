/* requests_be.c - a server: reports each request that it answers. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int left = argc > 1 ? atoi(argv[1]) : 0; /* requests, 200 a second */
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *start;
    struct cop_error error;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &start, COP_FOREVER) == 0) {
        cop_packet_free(start);
        for (; left > 0; left--, usleep(5000))
            cop_stream_send(stream, COP_TAG_FIRST, "%uld", (uint64_t)1);
    }
    cop_network_free(network);
    return 0;
}
