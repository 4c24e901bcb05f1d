/* app.c - the applications of the simulated world, and their calls. */
#include "sim/world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "wire/packet.h"

/* ---- packets in a queue ---- */

void world_queue_add(struct world_queue *queue,
                     uint32_t stream,
                     const struct frame *frame)
{
    memory_grow(&queue->list, &queue->room, queue->end, sizeof(*queue->list));
    queue->list[queue->end].stream = stream;
    queue->list[queue->end].frame = *frame;
    queue->end++;
}

bool world_queue_take(struct world_queue *queue, struct world_packet *out)
{
    return world_queue_take_stream(queue, 0, out);
}

bool world_queue_take_stream(struct world_queue *queue,
                             uint32_t stream,
                             struct world_packet *out)
{
    size_t i = queue->start;

    while (i < queue->end && stream && queue->list[i].stream != stream)
        i++;
    if (i == queue->end)
        return false;
    *out = queue->list[i];
    memmove(&queue->list[queue->start + 1], &queue->list[queue->start],
            (i - queue->start) * sizeof(*queue->list));
    queue->start++;
    if (queue->start == queue->end)
        queue->start = queue->end = 0;
    return true;
}

void world_queue_fini(struct world_queue *queue)
{
    for (size_t i = queue->start; i < queue->end; i++)
        frame_fini(&queue->list[i].frame);
    free(queue->list);
    *queue = (struct world_queue){0};
}

/* ---- calls of an application ---- */

static struct world_node *node_at(struct sim *sim, uint32_t index)
{
    return index < sim->count ? sim->nodes[index] : NULL;
}

static int ask_node(struct sim *sim,
                    uint32_t index,
                    struct event *event,
                    uint64_t *result,
                    const char *what)
{
    struct world_node *node = node_at(sim, index);
    int r;

    if (!node || node->state != WORLD_ALIVE) {
        frame_fini(&event->frame);
        return -ENOTCONN;
    }
    sim_note(sim, SIM_TRACE_ASK, "%d %s stream %u", (int)node->rank, what,
             event->stream);
    r = world_step(sim, node, event, result);
    if (r < 0)
        sim_note(sim, SIM_TRACE_ASK, "%d %s stream %u: %s", (int)node->rank,
                 what, event->stream, strerror(-r));
    return r;
}

int sim_open(struct sim *sim,
             const struct stream_definition *definition,
             uint32_t *stream)
{
    struct event event = {.type = EVENT_OPEN, .definition = definition};
    uint64_t result = 0;
    int r;

    r = ask_node(sim, 0, &event, &result, "open");
    if (r == 0)
        *stream = (uint32_t)result;
    return r;
}

int sim_close(struct sim *sim, uint32_t index, uint32_t stream)
{
    struct event event = {.type = EVENT_CLOSE, .stream = stream};

    return ask_node(sim, index, &event, NULL, "close");
}

/* Pack values into a payload; NULL if there are none, or they are malformed. */
static struct payload *pack_values(const char *format, va_list args)
{
    struct cop_packet *packet;
    struct payload *payload;

    if (cop_packet_new_va(&packet, 0, format, args) < 0)
        return NULL;
    payload = payload_ref(packet_frame(packet)->payload);
    cop_packet_free(packet);
    return payload;
}

int sim_parameters(struct sim *sim, uint32_t stream, const char *format, ...)
{
    struct event event = {.type = EVENT_PARAMETERS, .stream = stream};
    va_list args;

    va_start(args, format);
    event.frame.payload = pack_values(format, args);
    va_end(args);
    return ask_node(sim, 0, &event, NULL, "set parameters of");
}

int sim_sync(struct sim *sim, uint32_t stream, uint64_t *sequence)
{
    struct event event = {.type = EVENT_SYNC, .stream = stream};

    return ask_node(sim, 0, &event, sequence, "sync");
}

int sim_ask_state(struct sim *sim, uint32_t stream)
{
    struct event event = {.type = EVENT_STATE, .stream = stream};

    return ask_node(sim, 0, &event, NULL, "state");
}

int sim_settle(struct sim *sim, uint32_t index, uint32_t stream)
{
    struct event event = {.type = EVENT_SETTLE, .stream = stream};

    return ask_node(sim, index, &event, NULL, "settle");
}

int sim_move(struct sim *sim, uint32_t rank, uint32_t parent)
{
    struct event event = {.type = EVENT_MOVE, .rank = rank, .parent = parent};

    return ask_node(sim, 0, &event, NULL, "move");
}

int sim_drain(struct sim *sim, const char *host)
{
    struct event event = {.type = EVENT_DRAIN, .text = host};

    return ask_node(sim, 0, &event, NULL, "drain");
}

int sim_begin_end(struct sim *sim)
{
    struct event event = {.type = EVENT_ENDING};

    return ask_node(sim, 0, &event, NULL, "begin to end");
}

int sim_shutdown(struct sim *sim, uint32_t index)
{
    struct event event = {.type = EVENT_SHUTDOWN};

    if (index > 0 && node_at(sim, index))
        sim->nodes[index]->leaving = true;
    return ask_node(sim, index, &event, NULL, "shutdown");
}

/* Send `frame`, whose payload stays the caller's. */
static int send_frame(struct sim *sim,
                      struct world_node *node,
                      uint32_t stream,
                      const struct frame *frame)
{
    struct event event = {.type = EVENT_SEND, .stream = stream};
    int r;

    event.frame = frame_ref(frame);
    r = world_step(sim, node, &event, NULL);
    if (r == 0) {
        world_trace_packet(sim, SIM_TRACE_ASK, node, "sent", stream, frame);
        if (sim->watch.sent)
            sim->watch.sent(sim, node->index, stream, frame, sim->watch.arg);
    } else if (r != -EAGAIN) {
        sim_note(sim, SIM_TRACE_ASK, "%d send stream %u: %s", (int)node->rank,
                 stream, strerror(-r));
    }
    return r;
}

int sim_send(struct sim *sim,
             uint32_t index,
             uint32_t stream,
             int32_t tag,
             const char *format,
             ...)
{
    struct world_node *node = node_at(sim, index);
    struct frame frame = {.type = FRAME_DATA, .tag = tag};
    va_list args;
    int r;

    va_start(args, format);
    frame.payload = pack_values(format, args);
    va_end(args);
    r = send_frame(sim, node, stream, &frame);
    frame_fini(&frame);
    return r;
}

int sim_send_to(struct sim *sim,
                uint32_t stream,
                const uint32_t *ranks,
                size_t count,
                struct payload *payload)
{
    struct event event = {
        .type = EVENT_SEND,
        .stream = stream,
        .to = ranks,
        .to_count = count,
        .frame = {.type = FRAME_DATA, .tag = 100, .payload = payload},
    };
    struct frame sent = frame_ref(&event.frame);
    int r = ask_node(sim, 0, &event, NULL, "send to some on");

    if (r == 0 && sim->watch.sent)
        sim->watch.sent(sim, 0, stream, &sent, sim->watch.arg);
    frame_fini(&sent);
    return r;
}

int sim_send_bytes(struct sim *sim, uint32_t index, uint32_t stream, size_t len)
{
    char *bytes = memory_new(len);
    int r;

    r = sim_send(sim, index, stream, 100, "%ac", bytes, (uint32_t)len);
    free(bytes);
    return r;
}

void sim_post(struct sim *sim,
              uint32_t index,
              uint32_t stream,
              int32_t tag,
              struct payload *payload)
{
    struct world_node *node = sim->nodes[index];
    struct frame frame = {.type = FRAME_DATA, .tag = tag, .payload = payload};

    if (node->state != WORLD_ALIVE) {
        frame_fini(&frame);
        return;
    }
    world_queue_add(&node->unsent, stream, &frame);
    world_app(sim, node);
}

/* Tell the machine that receive was called on `stream`. */
static void call_receive(struct sim *sim,
                         struct world_node *node,
                         uint32_t stream)
{
    struct event event = {.type = EVENT_RECEIVE, .stream = stream};

    world_step(sim, node, &event, NULL);
}

/* Tell the machine and the watcher that `packet` was taken. */
static void tell_taken(struct sim *sim,
                       struct world_node *node,
                       const struct world_packet *packet)
{
    struct event event = {
        .type = EVENT_TAKEN,
        .stream = packet->stream,
        .frame = packet->frame,
    };

    if (sim->watch.taken)
        sim->watch.taken(sim, node->index, packet->stream, &packet->frame,
                         sim->watch.arg);
    world_step(sim, node, &event, NULL);
}

int sim_receive(struct sim *sim, uint32_t index, uint32_t stream)
{
    struct world_node *node = sim->nodes[index];
    struct world_packet packet;

    if (node->state != WORLD_ALIVE)
        return -ENOTCONN;
    call_receive(sim, node, stream);
    if (!world_queue_take_stream(&node->arrived, stream, &packet))
        return 0;
    tell_taken(sim, node, &packet);
    frame_fini(&packet.frame);
    return 1;
}

/* ---- an application that runs by itself ---- */

/* Send as much as possible. Returns whether everything is sent. */
static bool send_unsent(struct sim *sim, struct world_node *node)
{
    struct world_queue *queue = &node->unsent;
    struct world_packet packet;

    while (node->state == WORLD_ALIVE && queue->start < queue->end) {
        packet = queue->list[queue->start];
        /* The step may end the node, and free its packets. */
        packet.frame = frame_ref(&packet.frame);
        if (send_frame(sim, node, packet.stream, &packet.frame) == -EAGAIN) {
            frame_fini(&packet.frame);
            return false;
        }
        frame_fini(&packet.frame);
        /* After an error, such as a closed stream, drop the packet too. */
        if (node->state == WORLD_ALIVE && world_queue_take(queue, &packet))
            frame_fini(&packet.frame);
    }
    return true;
}

static void dealt_with(struct sim *sim, struct world_node *node)
{
    struct world_packet packet = node->in_hand;

    node->busy = false;
    if (node->app.taken)
        node->app.taken(sim, node->index, packet.stream, &packet.frame,
                        node->app.arg);
    frame_fini(&packet.frame);
}

/* Take the next packet. Returns false if there is none, or if it takes time. */
static bool take_next(struct sim *sim, struct world_node *node)
{
    struct agenda_entry entry = {
        .at_ms = sim->now_ms + node->app.take_ms,
        .type = AGENDA_APP,
        .node = node->index,
        .link = node->births,
    };
    struct world_packet packet;

    if (!world_queue_take(&node->arrived, &packet))
        return false;
    node->in_hand = packet;
    node->busy = true;
    node->in_receive = false;
    tell_taken(sim, node, &packet);
    if (node->state != WORLD_ALIVE)
        return false;
    if (node->app.take_ms > 0) {
        agenda_add(&sim->agenda, entry);
        return false;
    }
    dealt_with(sim, node);
    return true;
}

static void run_app(struct sim *sim, struct world_node *node)
{
    while (node->state == WORLD_ALIVE) {
        if (!send_unsent(sim, node) && !node->app.two_threads)
            return;
        if (node->state != WORLD_ALIVE || node->app.by_hand || node->busy ||
            node->leaving)
            return;
        if (!node->in_receive) {
            node->in_receive = true;
            call_receive(sim, node, 0);
        } else if (node->arrived.start == node->arrived.end &&
                   node_is_marked(node->machine)) {
            call_receive(sim, node, 0);
            if (node->state == WORLD_ALIVE && node_is_marked(node->machine))
                return;
        } else if (!take_next(sim, node)) {
            return;
        }
    }
}

void world_app(struct sim *sim, struct world_node *node)
{
    if (node->in_app)
        return;
    node->in_app = true;
    run_app(sim, node);
    node->in_app = false;
}

void world_app_done(struct sim *sim, struct world_node *node)
{
    node->in_app = true;
    dealt_with(sim, node);
    node->in_app = false;
    world_app(sim, node);
}
