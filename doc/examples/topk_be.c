/* topk_be.c - the back-end of topk: sends some numbers when told to. */
#include <coppice/coppice.h>
#include <err.h>

int main(void)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    int64_t rank;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    rank = cop_network_rank(network);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        int64_t numbers[] = {rank, 10 * rank, 100 * rank};

        cop_stream_send(stream, cop_packet_tag(packet), "%ald", numbers,
                        (uint32_t)3);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
