/* stream.c - one stream, as the tool sees it, and sending on it. */
#include "api/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "api/network.h"
#include "wire/packet.h"

struct cop_stream *stream_find(struct cop_network *network, uint32_t id)
{
    struct cop_stream *stream;

    HASH_FIND(hh, network->streams, &id, sizeof(id), stream);
    return stream;
}

struct cop_stream *stream_make(struct cop_network *network, uint32_t id)
{
    struct cop_stream *stream = stream_find(network, id);

    if (stream)
        return stream;
    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    if (network->role == NODE_FRONTEND) {
        stream->root = calloc(1, sizeof(*stream->root));
        if (!stream->root) {
            free(stream);
            return NULL;
        }
    }
    stream->network = network;
    stream->id = id;
    stream->send_timeout_ms = COP_FOREVER;
    HASH_ADD(hh, network->streams, id, sizeof(stream->id), stream);
    return stream;
}

struct inbox *stream_inbox(const struct cop_stream *stream)
{
    struct cop_network *network = stream->network;

    if (stream->released)
        return &network->waste;
    return stream->poll ? &network->apart : &network->inbox;
}

/* The descriptor of cop_stream_fd() ends. A thread that polls it is woken. */
static void stream_unpoll(struct cop_stream *stream)
{
    struct stream_poll *poll = stream->poll;

    if (!poll)
        return;
    readiness_set(&poll->readiness, true);
    readiness_close(&poll->readiness);
    DL_DELETE(stream->network->polls, poll);
    free(poll);
    stream->poll = NULL;
}

void stream_free(struct cop_stream *stream)
{
    inbox_drop(stream_inbox(stream), &stream->first);
    stream_unpoll(stream);
    HASH_DEL(stream->network->streams, stream);
    if (stream->root) {
        free(stream->root->open_text);
        frame_fini(&stream->root->state);
    }
    free(stream->root);
    free(stream);
}

int stream_error(const struct cop_stream *stream)
{
    if (stream->failed)
        return -EIO;
    if (stream->network->ended)
        return -ENOTCONN;
    return stream->closed || stream->released ? -EPIPE : 0;
}

void stream_enter(struct cop_stream *stream)
{
    stream->users++;
}

/* A back-end keeps a stream until the front-end has closed it. Otherwise late
 * packets would look like those of a new stream. */
static bool is_over(const struct cop_stream *stream)
{
    bool is_frontend = stream->network->role == NODE_FRONTEND;

    if (stream->users > 0)
        return false;
    return stream->released ? stream->closed || is_frontend
                            : stream->closed && !stream->given &&
                                  !stream->first && !is_frontend;
}

void stream_leave(struct cop_stream *stream)
{
    stream->users--;
    if (is_over(stream))
        stream_free(stream);
}

void stream_release(struct cop_stream *stream)
{
    struct cop_network *network = stream->network;
    struct inbox *inbox = stream_inbox(stream);
    struct delivery *delivery = stream->first, *next;
    struct frame frame;

    for (; delivery; delivery = next) {
        next = delivery->stream_next;
        if (delivery->taken) {
            inbox_remove(inbox, &stream->first, delivery, &frame);
            frame_fini(&frame);
        } else {
            inbox_move(inbox, &network->waste, delivery);
        }
    }
    stream->untaken = NULL;
    stream->released = true;
    stream_unpoll(stream);
    network_signal(network);
    if (is_over(stream))
        stream_free(stream);
}

void stream_take_early(struct cop_stream *stream)
{
    struct event event = {.type = EVENT_TAKEN, .stream = stream->id};
    struct driver *driver = stream->network->driver;
    struct delivery *last = stream->first ? stream->first->stream_prev : NULL;
    struct delivery *delivery = NULL;

    while (stream->untaken && delivery != last && !stream->network->ended) {
        delivery = stream->untaken;
        delivery->taken = true;
        stream->untaken = delivery->stream_next;
        event.frame = frame_ref(&delivery->frame);
        driver_note(driver, &event, NULL);
        frame_fini(&event.frame);
    }
    if (delivery)
        driver_catch_up(driver);
}

/* ---- sending ---- */

struct sending {
    struct cop_stream *stream;
    size_t len;
};

static bool can_send(void *arg)
{
    const struct sending *sending = arg;
    struct cop_stream *stream = sending->stream;

    return stream_error(stream) < 0 ||
           node_is_deserted(driver_node(stream->network->driver), stream->id) ||
           node_has_room(driver_node(stream->network->driver), stream->id,
                         sending->len);
}

/* Step `event` with `payload`, which is taken. Repeat while there is no credit,
 * until the send time-out. */
static int send_event(struct cop_stream *stream,
                      struct event event,
                      int32_t tag,
                      struct payload *payload)
{
    struct cop_network *network = stream->network;
    struct sending sending = {.stream = stream};
    uint64_t deadline_ms;
    int r;

    r = network_enter(network);
    if (r < 0)
        goto out;
    stream_enter(stream);
    deadline_ms = network_deadline_ms(stream->send_timeout_ms);
    do {
        r = stream_error(stream);
        if (r < 0)
            break;
        event.frame = (struct frame){
            .type = FRAME_DATA,
            .tag = tag,
            .payload = payload_ref(payload),
        };
        sending.len = frame_len(&event.frame);
        r = driver_step(network->driver, &event, NULL);
        if (r != -EAGAIN)
            break;
        r = network_wait(network, can_send, &sending, deadline_ms);
    } while (r == 0);
    stream_leave(stream);
    network_leave(network);
out:
    payload_free(payload);
    return r == -ENOENT ? -EPIPE : r;
}

static int send_payload(struct cop_stream *stream,
                        enum event_type type,
                        int32_t tag,
                        struct payload *payload)
{
    struct event event = {.type = type, .stream = stream->id};

    return send_event(stream, event, tag, payload);
}

int cop_stream_send(struct cop_stream *stream,
                    int32_t tag,
                    const char *format,
                    ...)
{
    struct payload *payload;
    va_list args;
    int r;

    if (tag < COP_TAG_FIRST)
        return -EINVAL;
    va_start(args, format);
    r = packet_pack_va(&payload, format, args);
    va_end(args);
    if (r < 0)
        return r;
    return send_payload(stream, EVENT_SEND, tag, payload);
}

int cop_stream_send_packet(struct cop_stream *stream,
                           const struct cop_packet *packet)
{
    const struct frame *frame = packet_frame(packet);

    if (frame->tag < COP_TAG_FIRST)
        return -EINVAL;
    return send_payload(stream, EVENT_SEND, frame->tag,
                        payload_ref(frame->payload));
}

int cop_stream_send_to(struct cop_stream *stream,
                       const uint32_t *ranks,
                       size_t count,
                       const struct cop_packet *packet)
{
    const struct frame *frame = packet_frame(packet);
    struct event event = {
        .type = EVENT_SEND,
        .stream = stream->id,
        .to = ranks,
        .to_count = count,
    };

    if (frame->tag < COP_TAG_FIRST || !ranks || count == 0)
        return -EINVAL;
    return send_event(stream, event, frame->tag, payload_ref(frame->payload));
}

int cop_stream_set_parameters(struct cop_stream *stream,
                              const char *format,
                              ...)
{
    struct payload *payload;
    va_list args;
    int r;

    va_start(args, format);
    r = packet_pack_va(&payload, format, args);
    va_end(args);
    if (r < 0)
        return r;
    return send_payload(stream, EVENT_PARAMETERS, 0, payload);
}

int cop_stream_set_parameters_packet(struct cop_stream *stream,
                                     const struct cop_packet *packet)
{
    return send_payload(stream, EVENT_PARAMETERS, 0,
                        payload_ref(packet_frame(packet)->payload));
}

void cop_stream_set_send_timeout(struct cop_stream *stream, int timeout_ms)
{
    if (network_enter(stream->network) < 0)
        return;
    stream->send_timeout_ms = timeout_ms;
    network_leave(stream->network);
}

int cop_stream_flush(struct cop_stream *stream)
{
    int r;

    r = network_enter(stream->network);
    if (r < 0)
        return r;
    r = stream_error(stream);
    if (r == 0)
        driver_flush(stream->network->driver);
    network_leave(stream->network);
    return r;
}

/* ---- queries ---- */

uint32_t cop_stream_id(const struct cop_stream *stream)
{
    return stream->id;
}

size_t cop_stream_size(const struct cop_stream *stream)
{
    struct cop_network *network = stream->network;
    const struct ranks *members;
    size_t size = 0;

    if (network_enter(network) < 0)
        return 0;
    members = node_members(driver_node(network->driver), stream->id);
    if (members)
        size = (size_t)ranks_size(members);
    network_leave(network);
    return size;
}

int cop_stream_unfinal(const struct cop_stream *stream,
                       size_t *packets,
                       size_t *bytes)
{
    struct cop_network *network = stream->network;
    uint64_t packet_count = 0, byte_count = 0;
    int r;

    r = network_enter(network);
    if (r < 0)
        return r;
    r = network->role == NODE_BACKEND ? stream_error(stream) : -EPERM;
    if (r == 0 && node_unfinal(driver_node(network->driver), stream->id,
                               &packet_count, &byte_count) < 0)
        r = -EOPNOTSUPP;
    network_leave(network);
    if (r == 0 && packets)
        *packets = (size_t)packet_count;
    if (r == 0 && bytes)
        *bytes = (size_t)byte_count;
    return r;
}

int cop_stream_sent(const struct cop_stream *stream, uint64_t *packets)
{
    struct cop_network *network = stream->network;
    uint64_t count;
    int r;

    r = network_enter(network);
    if (r < 0)
        return r;
    r = network->role == NODE_FRONTEND ? stream_error(stream) : -EPERM;
    count = node_sent(driver_node(network->driver), stream->id);
    network_leave(network);
    if (r == 0)
        *packets = count;
    return r;
}

/* Entered. Sets `why` if there is no guarantee. */
static enum cop_guarantee guarantee_of(const struct cop_stream *stream,
                                       const char **why)
{
    const struct node *node = driver_node(stream->network->driver);

    *why = NULL;
    switch (node_kind(node, stream->id)) {
    case STREAM_WAVES:
        return COP_GUARANTEE_WAVES;
    case STREAM_TOTAL:
        return COP_GUARANTEE_TOTAL;
    case STREAM_PLAIN:
        break;
    }
    *why = filtering_why_not(stream->network->filtering, stream->id);
    if (!*why && !node_is_recoverable(node, stream->id))
        *why = "the filter of another node is not recoverable";
    if (!*why && node_delivers_waves_only(node, stream->id))
        *why = "it allows COP_GUARANTEE_COMPENSATION, which was not requested";
    return *why ? COP_GUARANTEE_NONE : COP_GUARANTEE_COMPENSATION;
}

enum cop_guarantee cop_stream_guarantee(const struct cop_stream *stream,
                                        const char **reason)
{
    enum cop_guarantee guarantee = COP_GUARANTEE_NONE;
    const char *why = "the network belongs to the parent process";

    if (network_enter(stream->network) == 0) {
        guarantee = guarantee_of(stream, &why);
        network_leave(stream->network);
    }
    if (reason)
        *reason = why;
    return guarantee;
}

bool cop_stream_replayable(const struct cop_stream *stream, const char **reason)
{
    struct cop_network *network = stream->network;
    const char *why = "the network belongs to the parent process";

    if (network_enter(network) == 0) {
        why = node_is_replayable(driver_node(network->driver), stream->id)
                  ? NULL
                  : "its downstream filter is not stateless and one-to-one";
        network_leave(network);
    }
    if (reason)
        *reason = why;
    return !why;
}
