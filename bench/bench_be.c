/* bench_be.c - the back-end of all benchmarks: the tag says which job. It
 * sends as a tool would, and never flushes by hand. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_tags.h"

static int send_ints(struct cop_stream *stream, uint32_t count)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = cop_stream_send(stream, BENCH_INTS, "%d",
                            (int32_t)(i & BENCH_INT_MASK));
    return r;
}

static int send_arrays(struct cop_stream *stream, uint32_t count)
{
    double *array = malloc(BENCH_ARRAY_COUNT * sizeof(*array));
    int r = array ? 0 : -ENOMEM;

    for (uint32_t k = 0; array && k < BENCH_ARRAY_COUNT; k++)
        array[k] = 1;
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        array[0] = i;
        r = cop_stream_send(stream, BENCH_ARRAYS, "%alf", array,
                            BENCH_ARRAY_COUNT);
    }
    free(array);
    return r;
}

static int answer(struct cop_stream *stream, const struct cop_packet *packet)
{
    int32_t token;
    uint32_t count;
    int r;

    switch (cop_packet_tag(packet)) {
    case BENCH_PING:
        r = cop_packet_unpack(packet, "%d", &token);
        return r < 0 ? r : cop_stream_send(stream, BENCH_PING, "%d", 1);
    case BENCH_INTS:
        r = cop_packet_unpack(packet, "%ud", &count);
        return r < 0 ? r : send_ints(stream, count);
    case BENCH_ARRAYS:
        r = cop_packet_unpack(packet, "%ud", &count);
        return r < 0 ? r : send_arrays(stream, count);
    }
    return -EPROTO;
}

/* Until the network ends. */
static int serve(struct cop_network *network)
{
    struct cop_stream *stream;
    struct cop_packet *packet;
    int r;

    for (;;) {
        r = cop_network_receive(network, &stream, &packet, COP_FOREVER);
        if (r == 0) {
            r = answer(stream, packet);
            cop_packet_free(packet);
        }
        if (r < 0)
            return r == -ENOTCONN ? 0 : r;
    }
}

int main(void)
{
    struct cop_network *network = NULL;
    struct cop_join join = COP_JOIN_INIT;
    struct cop_error error;
    int r;

    r = cop_network_join(&network, &join, &error);
    if (r < 0)
        errx(EXIT_FAILURE, "bench_be: %s", error.text);
    r = serve(network);
    if (r < 0)
        warnx("bench_be: rank %u: %s", cop_network_rank(network), strerror(-r));
    cop_network_free(network);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
