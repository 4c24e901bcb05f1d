/* member.c - the back-end of the tests: does what it is told to. With the
 * argument "exit" it ends at once; with "session FILE" it attaches. */
#include "test/frontend/member.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void send_bytes(struct cop_stream *stream, int count)
{
    char *bytes = calloc(1, (size_t)count + 1);

    if (bytes)
        cop_stream_send(stream, TAG_BYTES, "%ac", bytes, (uint32_t)count);
    free(bytes);
}

static void send_many(struct cop_network *network,
                      struct cop_stream *stream,
                      int modulo)
{
    uint32_t count = cop_network_rank(network) % (uint32_t)modulo;

    while (count-- > 0)
        cop_stream_send(stream, TAG_MANY, "%d", 1);
}

/* Obey one packet. Returns false at the end. */
static bool obey(struct cop_network *network,
                 struct cop_stream *stream,
                 const struct cop_packet *packet)
{
    int32_t tag = cop_packet_tag(packet);
    int number = 0;

    cop_packet_unpack(packet, "%d", &number);
    switch (tag) {
    case TAG_ECHO:
        cop_stream_send(stream, tag, "%d", number);
        break;
    case TAG_RANK:
        cop_stream_send(stream, tag, "%d", (int)cop_network_rank(network));
        break;
    case TAG_PID:
        cop_stream_send(stream, tag, "%d", (int)getpid());
        break;
    case TAG_MANY:
        send_many(network, stream, number);
        break;
    case TAG_TEXT:
        cop_stream_send(stream, tag, "%s", "no number");
        break;
    case TAG_BYTES:
        send_bytes(stream, number);
        break;
    case TAG_LEAVE:
        return false;
    case TAG_STUCK:
        for (;;)
            pause();
    default:
        break;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    bool goes_on = true;

    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        return 3;
    if (argc > 2 && strcmp(argv[1], "session") == 0)
        join.session_path = argv[2];
    if (cop_network_join(&network, &join, &error) < 0)
        errx(1, "%s", error.text);
    while (goes_on &&
           cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        goes_on = obey(network, stream, packet);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
