/* pending.c - controls that take effect behind a packet (PROTOCOL 3.1b). */
#include <string.h>

#include "protocol/state.h"

/* Remove the stream if it is closed and will not be needed again. */
static void try_remove_stream(struct node *node, struct stream *stream)
{
    if (!stream->closing || !upward_is_idle(node, stream))
        return;
    if (node->role != NODE_BACKEND &&
        (stream->down.passed < stream->close_at ||
         (stream_is_replayable(stream) &&
          stream->down.feed.stable < stream->close_at)))
        return;
    journal_add(node, &(struct frame){.type = FRAME_STABLE,
                                      .stream = stream->definition.id});
    node_remove_stream(node, stream);
}

static void close_stream(struct node *node,
                         struct stream *stream,
                         uint64_t after)
{
    if (stream->closing)
        return; /* a snapshot has closed it */
    stream->closing = true;
    stream->close_at =
        stream_is_replayable(stream) ? after : feed_last(&stream->down.feed);
    stream->kind->close(node, stream);
    if (node->role == NODE_BACKEND && stream->active)
        settle_send_claim(node, stream, stream->settle.told);
    if (node->role != NODE_COMMNODE)
        node_tell(node, TELL_CLOSED, node->rank, stream->definition.id, NULL);
}

/* The last packet that this node has forwarded, as numbered in CLOSE and
 * PARAMETERS. If filters renumber packets (5.5), the numbers of two nodes
 * differ: then a control takes effect as soon as no packet waits here. */
static uint64_t position_of(const struct node *node,
                            const struct stream *stream)
{
    if (stream->loaded && !stream_is_replayable(stream))
        return stream->down.in.count > 0 || downward_is_filtering(node, stream)
                   ? 0
                   : UINT64_MAX;
    return node->role == NODE_BACKEND ? stream->down.passed
                                      : feed_last(&stream->down.feed);
}

struct payload *downward_parameters(const struct stream *stream,
                                    uint64_t number)
{
    struct payload *found = stream->definition.parameters;

    for (size_t i = 0; i < stream->pending_count; i++) {
        const struct pending *pending = &stream->pending[i];

        if (pending->type == CONTROL_PARAMETERS &&
            (number > 0 ? pending->after < number : i < stream->applied))
            found = pending->parameters;
    }
    return found;
}

/* Drop the controls that precede every packet that may still come. Unstable
 * packets may be sent again, here or, after a snapshot, to a child. */
static void forget_applied_controls(const struct node *node,
                                    struct stream *stream)
{
    uint64_t upto = stream->down.feed.stable;
    size_t done = 0;

    if (node->role == NODE_BACKEND ||
        (stream->loaded && !stream_is_replayable(stream)))
        upto = UINT64_MAX;
    while (done < stream->applied) {
        struct pending *pending = &stream->pending[done];

        if (pending->type == CONTROL_PARAMETERS) {
            if (pending->after > upto)
                break;
            payload_free(stream->definition.parameters);
            stream->definition.parameters = pending->parameters;
        }
        done++;
    }
    stream->applied -= done;
    stream->pending_count -= done;
    if (done > 0 && stream->pending_count > 0)
        memmove(stream->pending, stream->pending + done,
                stream->pending_count * sizeof(*stream->pending));
}

void downward_pending(struct node *node, struct stream *stream)
{
    uint64_t position = position_of(node, stream);

    while (stream->applied < stream->pending_count) {
        const struct pending *pending = &stream->pending[stream->applied];

        if (stream->active && pending->after > position)
            break;
        stream->applied++;
        if (pending->type == CONTROL_CLOSE)
            close_stream(node, stream, pending->after);
        else
            stream->initing = stream->filters.inits;
    }
    forget_applied_controls(node, stream);
    if (!stream->closing)
        node_init_filters(node, stream);
    try_remove_stream(node, stream);
}

void pending_add(struct node *node, struct control *control)
{
    struct stream *stream = node_stream(node, control->stream);
    struct pending *last = NULL;

    if (!stream || control->stream == 0)
        return;
    if (stream->kind->close_read && control->type == CONTROL_CLOSE)
        stream->kind->close_read(stream);
    if (stream->pending_count > 0)
        last = &stream->pending[stream->pending_count - 1];
    if (last && last->type == control->type && last->after == control->after) {
        payload_free(last->parameters); /* the new ones replace them */
        last->parameters = control->parameters;
        control->parameters = NULL;
        return;
    }
    if (array_grow(&stream->pending, stream->pending_count, sizeof(*last)) <
        0) {
        node->failed = true;
        return;
    }
    stream->pending[stream->pending_count++] = (struct pending){
        .type = control->type,
        .after = control->after,
        .parameters = control->parameters,
    };
    control->parameters = NULL;
    skip_flush(node, stream);
    downward_pending(node, stream);
}
