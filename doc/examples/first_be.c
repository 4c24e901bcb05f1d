/* first_be.c - the back-end: answers what it is asked, until the end. */
#include <coppice/coppice.h>
#include <err.h>

int main(void)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *question;
    struct cop_error error;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &question, COP_FOREVER) == 0) {
        cop_packet_free(question);
        cop_stream_send(stream, COP_TAG_FIRST, "%d",
                        (int)cop_network_rank(network));
    }
    cop_network_free(network);
    return 0;
}
