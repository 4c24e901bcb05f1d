/* gather_be.c - the back-end of gather: sends numbers that nobody else has. */
#include <coppice/coppice.h>
#include <err.h>
#include <time.h>

int main(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    uint32_t count, number;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        if (cop_packet_unpack(packet, "%ud", &count) < 0)
            count = 0;
        for (uint32_t i = 0; i < count; i++) {
            number = cop_network_rank(network) * count + i;
            cop_stream_send(stream, cop_packet_tag(packet), "%aud", &number,
                            (uint32_t)1);
            nanosleep(&pause, NULL);
        }
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
