/* int_max_be.c - the back-end of int_max: draws numbers when told to. */
#include "int_max.h"

#include <err.h>
#include <stdlib.h>

int main(void)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    unsigned seed;
    int count, max;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    seed = cop_network_rank(network);

    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        if (cop_packet_tag(packet) == TAG_GO &&
            cop_packet_unpack(packet, "%d", &count) == 0) {
            for (max = 0; count > 0; count--) {
                int number = rand_r(&seed);

                max = number > max ? number : max;
            }
            cop_stream_send(stream, TAG_NUMBER, "%d", max);
        }
        cop_packet_free(packet);
    }
    cop_network_free(network); /* the network has ended */
    return 0;
}
