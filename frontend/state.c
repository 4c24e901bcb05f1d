/* state.c - read the whole state of a stream from the front-end's filter. */
#include <errno.h>

#include "api/network.h"
#include "wire/packet.h"

struct asking {
    struct cop_stream *stream;
    uint64_t number;
};

static bool is_told(void *arg)
{
    const struct asking *asking = arg;
    const struct cop_stream *stream = asking->stream;

    return stream->root->state_number >= asking->number ||
           stream_error(stream) < 0 || stream->network->ended;
}

/* Wait for the answer. Entered. */
static int wait_told(struct asking *asking,
                     struct cop_packet **packet,
                     int timeout_ms)
{
    struct cop_stream *stream = asking->stream;
    struct frame frame;
    int r;

    r = network_wait(stream->network, is_told, asking,
                     network_deadline_ms(timeout_ms));
    if (stream->root->state_number < asking->number) {
        if (r != -EAGAIN)
            r = stream_error(stream);
        return r < 0 ? r : -ENOTCONN;
    }
    if (stream->root->state_code < 0)
        return stream->root->state_code;
    if (!stream->root->state.payload) {
        if (stream->root->state_code == 0)
            return -ENODATA;
        *packet = NULL;
        return stream->root->state_code;
    }
    frame = frame_ref(&stream->root->state);
    r = packet_from_frame(packet, &frame);
    return r < 0 ? r : stream->root->state_code;
}

int cop_stream_state(struct cop_stream *stream,
                     struct cop_packet **packet,
                     int timeout_ms)
{
    struct cop_network *network = stream->network;
    struct event event = {.type = EVENT_STATE, .stream = stream->id};
    struct asking asking = {.stream = stream};
    int r;

    r = network_enter(network);
    if (r < 0)
        return r;
    stream_enter(stream);
    r = stream_error(stream);
    if (r == 0)
        r = driver_step(network->driver, &event, &asking.number);
    if (r == 0)
        r = wait_told(&asking, packet, timeout_ms);
    stream_leave(stream);
    network_leave(network);
    return r == -ENOENT ? -EPIPE : r;
}
