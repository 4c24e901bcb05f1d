/* upward_filter.c - upward packets through the upstream filter. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "protocol/state.h"

/* Send a set up without a filter call. */
static void upward_pass(struct node *node,
                        struct stream *stream,
                        struct wave_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct frame frame = set->frames[i];

        frame.flags &= (uint8_t)~FRAME_LAST;
        if (!set->late)
            frame.wave = set->sequence; /* of a timed set: 4.6 */
        if (i + 1 == set->count && !set->late && set->sequence > 0)
            frame.flags |= FRAME_LAST;
        upward_emit(node, stream, frame);
    }
}

/* Answer a wave with an empty frame (4.2). */
static void emit_empty(struct node *node,
                       struct stream *stream,
                       uint64_t wave,
                       uint32_t contributors)
{
    if (stream->definition.sync != COP_WAIT_FOR_ALL || wave == 0)
        return;
    upward_emit(node, stream,
                (struct frame){
                    .type = FRAME_DATA,
                    .flags = FRAME_EMPTY | FRAME_LAST,
                    .origin = node->rank,
                    .contributors = contributors,
                    .wave = wave,
                });
}

void node_begin_call(struct node *node)
{
    assert(!node->filter.is_out);
    node->filter.is_out = true;
    node->filter.expired = false;
    node->filter.late = false;
    node->filter.newcomer = false;
    node->filter.compensating = false;
    node->filter.credit = 0;
    node->filter.since_ms = node->now_ms;
    node->filter.deadline_ms = node->now_ms + node->times.filter_timeout_ms;
}

bool node_is_filtering(const struct node *node,
                       uint32_t *stream,
                       uint64_t *since_ms)
{
    if (!node->filter.is_out)
        return false;
    *stream = node->filter.what.stream;
    *since_ms = node->filter.since_ms;
    return true;
}

/* Have the upstream filter called with `set`. */
static void upward_call(struct node *node,
                        struct stream *stream,
                        struct wave_set *set)
{
    node_begin_call(node);
    node->filter.late = set->late;
    node->filter.newcomer = set->newcomer;
    node->filter.compensating = set->compensating;
    node->filter.what = (struct node_call){
        .stream = stream->definition.id,
        .upward = true,
        .sequence = set->sequence,
        .contributors = set->contributors,
        .child_count = node_child_count(node),
        .parameters = node_call_parameters(node, stream, 0),
        .inputs = set->frames,
        .inlets = set->inlets,
        .input_count = set->count,
        .slots = stream->kind->slots,
        .keys = set->links,
    };
    node_act(node, ACTION_FILTER)->call = &node->filter.what;
}

inline void upward_release(struct node *node,
                           struct stream *stream,
                           struct wave_set *set)
{
    if (set->count == 0)
        emit_empty(node, stream, set->late ? 0 : set->sequence,
                   set->contributors);
    else if (stream->filters.up &&
             (set->count > 1 || stream->filters.up_single))
        upward_call(node, stream, set);
    else
        upward_pass(node, stream, set);
}

/* Send the output of a filter: `count` frames with tag and payload. */
static void emit_outputs(struct node *node,
                         struct stream *stream,
                         struct frame *frames,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct frame frame = {
            .type = FRAME_DATA,
            .tag = frames[i].tag,
            .origin = node->rank,
            .contributors =
                node->filter.compensating ? 0 : node->filter.what.contributors,
            .wave = node->filter.what.sequence,
            .payload = frames[i].payload,
        };

        frames[i].payload = NULL;
        if (node->filter.newcomer || stream->up.newcomer)
            frame.flags |= FRAME_NEWCOMER;
        if (node->filter.compensating)
            frame.flags |= FRAME_COMPENSATING;
        else if (node->filter.late)
            frame.flags |= FRAME_LATE;
        else if (i + 1 == count && frame.wave > 0)
            frame.flags |= FRAME_LAST;
        upward_emit(node, stream, frame);
    }
}

void upward_drop_inputs(struct node *node)
{
    for (size_t i = 0; i < node->filter.what.input_count; i++)
        frame_fini(&node->filter.what.inputs[i]);
    node->filter.what.input_count = 0;
}

void upward_filtered(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, node->filter.what.stream);

    upward_drop_inputs(node);
    if (stream && stream->kind->missed && node->filter.expired)
        stream->kind->missed(node, stream);
    if (!stream || node->filter.expired)
        return;
    if (node->filter.what.state || node->filter.what.slots == CALL_PACK) {
        stream->kind->packed(node, stream, event);
        return;
    }
    if (event->text) {
        upward_fault(node, FAULT_FILTER, stream->definition.id, event->text);
        node->filter.what.contributors = 0; /* some input may be missing */
    }
    if (stream->kind->is_stale && stream->kind->is_stale(node, stream))
        return; /* a redo has begun during the call (16.8) */
    if (event->up_count > 0)
        emit_outputs(node, stream, event->up, event->up_count);
    else
        emit_empty(node, stream,
                   node->filter.late ? 0 : node->filter.what.sequence,
                   node->filter.what.contributors);
    for (size_t i = 0; i < event->down_count; i++) {
        struct frame frame = {
            .type = FRAME_DATA,
            .tag = event->down[i].tag,
            .origin = node->rank,
            .payload = event->down[i].payload,
        };

        event->down[i].payload = NULL;
        downward_aside(node, stream, frame);
    }
}

/* The call takes too long. A commnode ends, as all its streams would wait for
 * the call; elsewhere the wave continues without it. */
void upward_expire(struct node *node)
{
    struct stream *stream = node_stream(node, node->filter.what.stream);
    bool ends = node->role == NODE_COMMNODE;
    bool opens = node->filter.what.init && stream && !stream->loaded;
    char text[LIMIT_TEXT];

    node->filter.expired = true;
    node->filter.deadline_ms = UINT64_MAX;
    snprintf(text, sizeof(text),
             "node %u: a filter call of stream %u lasts longer than "
             "filter_timeout, %u ms; %s",
             node->rank, node->filter.what.stream,
             node->times.filter_timeout_ms,
             ends ? "the node ends, its children find other parents"
                  : "the calls of all streams wait for it there");
    if (ends || !opens)
        upward_fault(node, ends ? FAULT_HUNG : FAULT_FILTER,
                     node->filter.what.stream, text);
    if (ends) {
        launch_break(node, text);
        return;
    }
    if (opens)
        node_filters_inited(node, stream, text);
    if (node->filter.what.init)
        return;
    if (!stream)
        return;
    if (node->filter.what.state && node->role == NODE_FRONTEND)
        upward_tell_state(node, stream, NULL, -ETIMEDOUT);
    if (node->filter.what.upward)
        emit_empty(node, stream,
                   node->filter.late ? 0 : node->filter.what.sequence, 0);
    upward_pump(node, stream);
}
