/* receive.c - receiving from one stream or from any, and settling. */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "api/network.h"
#include "wire/packet.h"

/* One call of receive. */
struct receiving {
    struct cop_network *network;
    struct cop_stream *stream; /* NULL: any */
    bool told;                 /* the machine was told of this call */
};

static struct delivery *receive_next(const struct receiving *call)
{
    return call->stream ? (call->stream->released ? NULL : call->stream->first)
                        : call->network->inbox.first;
}

/* Whether no more packets can arrive. */
static bool is_over(const struct receiving *call)
{
    return call->network->ended ||
           (call->stream && stream_error(call->stream) < 0);
}

/* Whether no more packets can arrive unless a member joins. */
static bool is_deserted(const struct receiving *call)
{
    return call->stream && node_is_drained(driver_node(call->network->driver),
                                           call->stream->id);
}

/* Whether the machine must be told of this call (10.6). */
static bool must_tell(const struct receiving *call)
{
    return !call->told && call->network->role == NODE_BACKEND &&
           node_is_marked(driver_node(call->network->driver));
}

/* Whether the call returns without waiting. */
static bool is_ready(const struct receiving *call)
{
    return receive_next(call) || is_over(call) || is_deserted(call) ||
           call->network->out_of_memory;
}

static bool is_done(void *arg)
{
    return is_ready(arg) || must_tell(arg);
}

static void receive_tell(struct receiving *call)
{
    struct event event = {.type = EVENT_RECEIVE};

    if (call->stream)
        event.stream = call->stream->id;
    call->told = true;
    driver_step(call->network->driver, &event, NULL);
}

/* This receive returns no packet. An application that polls may not call again
 * before the marker arrives, so tell the machine now, once after each take. */
static void tell_beforehand(struct receiving *call)
{
    bool *untold =
        call->stream ? &call->stream->untold : &call->network->untold;

    if (call->network->role != NODE_BACKEND || !*untold)
        return;
    *untold = false;
    receive_tell(call);
}

static int receive(struct receiving *call,
                   struct cop_stream **from,
                   struct cop_packet **packet,
                   int timeout_ms)
{
    struct cop_network *network = call->network;
    uint64_t deadline_ms = network_deadline_ms(timeout_ms);
    struct delivery *delivery;
    struct cop_stream *stream;
    struct frame frame;
    int r = 0;

    while (r == 0) {
        if (must_tell(call))
            receive_tell(call);
        delivery = receive_next(call);
        if (delivery) {
            stream = delivery->stream;
            if (from) {
                stream->given = true;
                *from = stream;
            }
            stream_enter(stream);
            if (!inbox_split(delivery, &frame))
                network_take(network, delivery, &frame);
            stream_leave(stream);
            return packet_from_frame(packet, &frame);
        }
        if (network->out_of_memory) {
            network->out_of_memory = false;
            if (network->polls)
                network_signal_streams(network);
            return -ENOMEM;
        }
        if (is_over(call))
            return call->stream ? stream_error(call->stream) : -ENOTCONN;
        if (is_deserted(call))
            return -ENODEV;
        r = network_wait(network, is_done, call, deadline_ms);
        if (r == -ENOTCONN && receive_next(call))
            r = 0;
    }
    if (r == -EAGAIN) {
        tell_beforehand(call);
        if (!call->stream || !call->stream->poll)
            network->news.passed = true;
        network_signal(network);
    }
    return r;
}

int cop_network_receive(struct cop_network *network,
                        struct cop_stream **stream,
                        struct cop_packet **packet,
                        int timeout_ms)
{
    struct receiving call = {.network = network};
    int r;

    r = network_enter(network);
    if (r < 0)
        return r;
    r = receive(&call, stream, packet, timeout_ms);
    network_leave(network);
    return r;
}

int cop_stream_receive(struct cop_stream *stream,
                       struct cop_packet **packet,
                       int timeout_ms)
{
    struct receiving call = {.network = stream->network, .stream = stream};
    int r;

    r = network_enter(call.network);
    if (r < 0)
        return r;
    stream_enter(stream);
    r = receive(&call, NULL, packet, timeout_ms);
    stream_leave(stream);
    network_leave(call.network);
    return r;
}

/* ---- a descriptor for one stream ---- */

void stream_signal(struct cop_stream *stream)
{
    struct receiving call = {.network = stream->network, .stream = stream};

    if (stream->poll)
        readiness_set(&stream->poll->readiness, is_ready(&call));
}

/* From now on the stream's packets are apart from those of others. Returns 0,
 * -ENOMEM, or an error of the system. */
static int set_apart(struct cop_stream *stream)
{
    struct cop_network *network = stream->network;
    struct stream_poll *poll = malloc(sizeof(*poll));
    struct delivery *delivery;
    int r;

    if (!poll)
        return -ENOMEM;
    *poll = (struct stream_poll){.readiness = READINESS_INIT, .stream = stream};
    r = readiness_open(&poll->readiness);
    if (r < 0) {
        free(poll);
        return r;
    }
    for (delivery = stream->first; delivery; delivery = delivery->stream_next)
        inbox_move(&network->inbox, &network->apart, delivery);
    stream->poll = poll;
    DL_APPEND(network->polls, poll);
    driver_attended(network->driver);
    network_signal(network);
    return 0;
}

int cop_stream_fd(struct cop_stream *stream)
{
    int r;

    r = network_enter(stream->network);
    if (r < 0)
        return r;
    if (!stream->poll)
        r = set_apart(stream);
    if (r == 0) /* anew if the application had closed it */
        r = readiness_open(&stream->poll->readiness);
    network_signal_streams(stream->network);
    network_leave(stream->network);
    return r;
}

int cop_stream_settle(struct cop_stream *stream)
{
    struct event event = {.type = EVENT_SETTLE, .stream = stream->id};
    int r;

    r = network_enter(stream->network);
    if (r < 0)
        return r;
    r = driver_step(stream->network->driver, &event, NULL);
    network_leave(stream->network);
    return r == -ENOENT ? -EPIPE : r;
}
