/* attach_be.c - a back-end that attaches by itself: attach_be SESSION-FILE */
#include <coppice/coppice.h>
#include <err.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;

    if (argc != 2)
        errx(2, "usage: attach_be SESSION-FILE");
    join.session_path = argv[1];
    join.timeout_ms = 60000;
    if (cop_network_join(&network, &join, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        cop_stream_send(stream, cop_packet_tag(packet), "%ld",
                        (int64_t)getpid());
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
