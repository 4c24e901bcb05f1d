/* waves.c - a stream of whole waves (PROTOCOL 16) in the search: the back-ends'
 * packets, and the waves that the front-end must get. */
#include <stdlib.h>
#include <string.h>

#include "protocol/stream/waves.h"
#include "test/models/field.h"
#include "wire/packet.h"

void __real_upward_release(struct node *node,
                           struct stream *stream,
                           struct wave_set *set);
void __wrap_upward_release(struct node *node,
                           struct stream *stream,
                           struct wave_set *set);

/* Clear a released set, whose storage is reused: its remains of freed packets
 * are no part of the state. */
void __wrap_upward_release(struct node *node,
                           struct stream *stream,
                           struct wave_set *set)
{
    struct frame *frames = set->frames;
    size_t count = set->count;

    __real_upward_release(node, stream, set);
    if (count > 0)
        memset(frames, 0, count * sizeof(*frames));
}

void field_waves_open(struct field *field)
{
    static char none[] = "";
    struct stream_definition definition = {
        .kind = STREAM_WAVES,
        .sync = COP_WAIT_FOR_ALL,
        .up_filter = none,
        .up_filter_frontend = none,
        .up_filter_backend = none,
        .down_filter = none,
    };
    struct event event = {.type = EVENT_OPEN, .definition = &definition};

    if (ranks_add(&definition.members, 1, field->node_count - 1) < 0)
        field->wrong = "out of memory";
    field_step(field, 0, &event);
    ranks_fini(&definition.members);
    field->stream = 1;
}

bool field_waves_can_send(const struct field *field, uint32_t index)
{
    const struct field_node *node = &field->nodes[index];

    return field->stream > 0 && node->machine &&
           node->machine->role == NODE_BACKEND &&
           node->sent < field->bounds.waves &&
           node_can_send(node->machine, field->stream);
}

void field_waves_send(struct field *field, uint32_t index)
{
    struct event event = {
        .type = EVENT_SEND,
        .stream = field->stream,
        .frame = {.type = FRAME_DATA, .tag = 100},
    };
    uint32_t number = ++field->nodes[index].sent;

    if (packet_pack(&event.frame.payload, "%ud %ud", index, number) < 0)
        field->wrong = "out of memory";
    field_step(field, index, &event);
}

/* Whether a member's packet has not been delivered in this wave. */
static bool field_waves_missing(const struct field *field, uint64_t wave)
{
    for (uint32_t i = field->bounds.internal_count; i < field->node_count; i++)
        if (!(field->whole[wave] >> i & 1))
            return true;
    return false;
}

void field_waves_take(struct field *field, const struct action *action)
{
    uint64_t wave = action->frame.wave;
    struct cop_packet *packet = NULL;
    uint32_t rank = 0, number = 0;

    if (packet_open(&packet, action->frame.payload) < 0 ||
        cop_packet_unpack(packet, "%ud %ud", &rank, &number) < 0) {
        field->wrong = "a packet that nobody sent";
    } else if (number != wave) {
        field->wrong = "a packet in another wave than the one it was sent in";
    } else if (field->whole[wave] >> rank & 1) {
        field->wrong = "a packet that is twice in its wave";
    } else if (wave > 1 && field_waves_missing(field, wave - 1)) {
        field->wrong = "a wave behind one that is not whole";
    } else {
        field->whole[wave] |= UINT32_C(1) << rank;
    }
    cop_packet_free(packet);
}

void field_waves_tell(struct field *field, const struct action *action)
{
    if (action->tell == TELL_STREAM_FAILED)
        field->wrong = "the stream has failed";
    if (action->tell == TELL_OPENED && action->code < 0)
        field->wrong = "the stream does not open";
    if (action->tell != TELL_REDO)
        return;
    field->redos++;
    if (field->faults == 0)
        field->wrong = "a redo before any fault";
}

uint64_t field_waves_check(const struct field *field)
{
    uint64_t check = 0;

    for (uint32_t i = field->bounds.internal_count; i < field->node_count; i++)
        check += waves_hash(i);
    return check;
}

const char *field_waves_settled(const struct field *field)
{
    for (uint64_t wave = 1; wave <= field->bounds.waves; wave++)
        if (field_waves_missing(field, wave))
            return "a wave is not whole, and nothing is left to do";
    return NULL;
}
