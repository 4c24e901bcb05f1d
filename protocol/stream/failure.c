/* failure.c - streams that end with an error everywhere (PROTOCOL 11.5). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "protocol/state.h"
#include "wire/packet.h"

void failure_end(struct node *node,
                 struct stream *stream,
                 uint32_t rank,
                 const char *text)
{
    struct control control = {
        .type = CONTROL_FAIL,
        .stream = stream->definition.id,
    };

    if (stream->root->opening) {
        stream->root->opening = false;
        node_tell(node, TELL_OPENED, rank, control.stream, text)->code = -EIO;
    }
    node_tell(node, TELL_STREAM_FAILED, rank, control.stream, text);
    zero_send(node, &control);
}

void failure_take(struct node *node, uint32_t id)
{
    struct stream *stream = node_stream(node, id);

    if (!stream || id == 0)
        return;
    if (node->role == NODE_BACKEND && !stream->closing)
        node_tell(node, TELL_CLOSED, node->rank, id, NULL);
    stream->failed = true;
    stream->closing = true;
    if (upward_is_idle(node, stream))
        node_remove_stream(node, stream);
}

void failure_call_ended(struct node *node, uint32_t id)
{
    struct stream *stream = node_stream(node, id);

    if (!stream || !stream->failed)
        return;
    upward_drop_inputs(node); /* they belong to the stream */
    node_remove_stream(node, stream);
}

/* Describe `fault`, which is of kind FAULT_CRASHED. `stream` is its stream, or
 * NULL. */
static void write_crash(const struct msg_fault *fault,
                        const struct stream *stream,
                        char *text,
                        size_t len)
{
    char how[32] = "called exit()";
    char name[LIMIT_FILTER_NAME + 8] = "a filter";
    char where[96] = "";

    if (fault->about > 0)
        snprintf(how, sizeof(how), "crashed with signal %" PRIu32,
                 fault->about);
    if (stream && fault->wave > 0)
        snprintf(name, sizeof(name), "filter \"%s\"",
                 stream->definition.up_filter);
    if (fault->wave > 0)
        snprintf(where, sizeof(where), " in wave %" PRIu64 " of epoch %" PRIu64,
                 fault->wave & ((UINT64_C(1) << PACKET_WAVE_BITS) - 1),
                 fault->wave >> PACKET_WAVE_BITS);
    snprintf(text, len, "it has ended: %s of stream %" PRIu32 " %s%s", name,
             fault->stream, how, where);
}

void failure_reported(struct node *node,
                      const struct msg_fault *fault,
                      const char *text)
{
    struct stream *stream = node_stream(node, fault->stream);
    bool known = stream && fault->stream != 0 && !stream->closing;
    bool ends = known && (fault->kind >= FAULT_CRASHED || stream->root->hung ||
                          stream->root->opening);
    char said[LIMIT_TEXT];

    if (!text) {
        write_crash(fault, stream, said, sizeof(said));
        text = said;
    }
    if (fault->kind == FAULT_HUNG || !ends)
        node_tell(node, TELL_FILTER_ERROR, fault->reporter, fault->stream,
                  text);
    if (ends && stream->root->hung && fault->kind == FAULT_HUNG) {
        snprintf(said, sizeof(said),
                 "a filter of stream %" PRIu32
                 " has hung in a second node, so the stream has ended: %.200s",
                 fault->stream, text);
        text = said;
    }
    if (ends)
        failure_end(node, stream, fault->reporter, text);
    else if (known)
        stream->root->hung = true;
}

bool node_last_words(const struct node *node,
                     int signal,
                     uint32_t *link,
                     struct frame *frame)
{
    const struct node_call *call = &node->filter.what;

    if (!node->filter.is_out || node->filter.expired || node->ended ||
        !node->parent || node->parent->life.state != LINK_UP)
        return false;
    *link = node->parent->link;
    *frame = msg_fault_encode(&(struct msg_fault){
        .kind = FAULT_CRASHED,
        .stream = call->stream,
        .reporter = node->rank,
        .about = (uint32_t)signal,
        .wave = call->upward ? call->sequence : 0,
    });
    return true;
}
