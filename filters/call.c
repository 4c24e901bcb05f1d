/* call.c - one call of a filter: the functions of coppice/filter.h. */
#include "filters/call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/packet.h"

size_t cop_filter_packet_count(const struct cop_filter_call *call)
{
    return call->packet_count;
}

const struct cop_packet *cop_filter_packet(const struct cop_filter_call *call,
                                           size_t index)
{
    return index < call->packet_count ? call->packets[index] : NULL;
}

uint32_t cop_filter_inlet(const struct cop_filter_call *call, size_t index)
{
    return index < call->packet_count ? call->call->inlets[index] : RANK_NONE;
}

static int emit_packet(struct cop_filter_call *call,
                       struct cop_packet *packet,
                       bool upward)
{
    const struct frame *frame = packet_frame(packet);
    int32_t tag = frame->tag;
    int r;

    /* a filter that does not care: the tag of the wave, whose first packets may be
     * those of links without one (CALL_PACK) */
    for (size_t i = 0; tag == 0 && i < call->packet_count; i++)
        if (call->packets[i])
            tag = cop_packet_tag(call->packets[i]);
    r = loader_output_add(call->output, upward,
                          (struct frame){
                              .type = FRAME_DATA,
                              .tag = tag,
                              .origin = frame->origin == RANK_NONE
                                            ? call->node->rank
                                            : frame->origin,
                              .payload = payload_ref(frame->payload),
                          });
    cop_packet_free(packet);
    return r;
}

int cop_filter_emit(struct cop_filter_call *call, struct cop_packet *packet)
{
    return emit_packet(call, packet, call->call->upward);
}

int cop_filter_emit_against(struct cop_filter_call *call,
                            struct cop_packet *packet)
{
    return emit_packet(call, packet, !call->call->upward);
}

int cop_filter_fail(struct cop_filter_call *call, const char *format, ...)
{
    char *text = call->output->text;
    size_t room = sizeof(call->output->text);
    va_list args;
    int len;

    if (text[0] != '\0')
        return -EPROTO;
    len = snprintf(text, room, "%s: ", call->filter->name);
    if (len < 0 || (size_t)len >= room)
        return -EPROTO;
    va_start(args, format);
    vsnprintf(text + len, room - (size_t)len, format, args);
    va_end(args);
    return -EPROTO;
}

const struct cop_packet *cop_filter_parameters(
    const struct cop_filter_call *call)
{
    return *call->parameters;
}

bool cop_filter_is_upward(const struct cop_filter_call *call)
{
    return call->call->upward;
}

uint64_t cop_filter_wave(const struct cop_filter_call *call)
{
    return call->call->sequence & PACKET_WAVE_MASK;
}

uint32_t cop_filter_contributors(const struct cop_filter_call *call)
{
    return call->call->contributors;
}

uint32_t cop_filter_rank(const struct cop_filter_call *call)
{
    return call->node->rank;
}

uint32_t cop_filter_depth(const struct cop_filter_call *call)
{
    return call->node->depth;
}

uint32_t cop_filter_child_count(const struct cop_filter_call *call)
{
    return call->call->child_count;
}

bool cop_filter_is_root(const struct cop_filter_call *call)
{
    return call->node->role == NODE_FRONTEND && !call->is_partial;
}

bool cop_filter_is_leaf(const struct cop_filter_call *call)
{
    return call->node->role == NODE_BACKEND;
}

int call_new_state(void **state, struct cop_filter_call *call)
{
    size_t packet_count = call->packet_count;
    int r;

    *state = NULL;
    if (!call->filter->init)
        return 0;
    call->packet_count = 0;
    r = call_result(call, "init", call->filter->init(state, call));
    call->packet_count = packet_count;
    return r;
}

int call_fail(struct cop_filter_call *call, int code)
{
    return loader_output_fail(call->output, call->filter, code);
}

int call_result(struct cop_filter_call *call, const char *function, int result)
{
    if (result > 0) {
        cop_filter_fail(call,
                        "%s returned %d; it may return 0 or a negative errno",
                        function, result);
        return -EINVAL;
    }
    if (result < 0)
        cop_filter_fail(call, "%s: %s", function, strerror(-result));
    return result;
}
