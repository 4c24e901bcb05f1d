/* streams.c - the streams of a node: found, made, removed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

struct stream *node_stream(const struct node *node, uint32_t id)
{
    size_t low = 0, high = node->stream_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct stream *stream = node->streams[middle];

        if (stream->definition.id == id)
            return stream;
        if (stream->definition.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void node_free_stream(struct stream *stream)
{
    if (!stream)
        return;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        ranks_fini(&stream->branches[slot].members);
        claim_fini(&stream->branches[slot].claim);
        fifo_fini(&stream->branches[slot].aside);
        slot_free(stream->branches[slot].slot);
    }
    if (stream->kind && stream->kind->end)
        stream->kind->end(stream);
    for (size_t i = 0; i < stream->pending_count; i++)
        payload_free(stream->pending[i].parameters);
    free(stream->branches);
    free(stream->pending);
    free(stream->error);
    feed_fini(&stream->down.feed);
    fifo_fini(&stream->down.in);
    fifo_fini(&stream->up.out);
    fifo_fini(&stream->up.late_out);
    fifo_fini(&stream->app.markers);
    if (stream->root) {
        ranks_fini(&stream->root->entering);
        ranks_fini(&stream->root->losers);
        ranks_fini(&stream->root->faulted);
    }
    free(stream->root);
    wave_free(stream->up.wave);
    claim_fini(&stream->settle.sent);
    ranks_fini(&stream->settle.loss.losers);
    definition_fini(&stream->definition);
    free(stream);
}

struct stream *node_add_stream(struct node *node,
                               const struct stream_definition *definition)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    enum cop_sync sync = definition->sync;

    if (stream)
        stream->kind = kind_of(definition);
    if (stream && node->role == NODE_FRONTEND)
        stream->root = calloc(1, sizeof(*stream->root));
    if (node->role == NODE_BACKEND)
        sync = COP_DO_NOT_WAIT; /* its own packets come one by one */
    if (array_grow(&node->streams, node->stream_count, sizeof(stream)) < 0 ||
        !stream || (node->role == NODE_FRONTEND && !stream->root) ||
        definition_copy(&stream->definition, definition) < 0 ||
        (stream->kind->begin && stream->kind->begin(stream, node) < 0) ||
        wave_new(&stream->up.wave, sync, definition->wave_timeout_ms) < 0) {
        node_free_stream(stream);
        node->failed = true;
        return NULL;
    }
    assert(node->stream_count == 0 ||
           node->streams[node->stream_count - 1]->definition.id <
               definition->id);
    node->streams[node->stream_count++] = stream;
    return stream;
}

void node_remove_stream(struct node *node, struct stream *stream)
{
    size_t i = 0;

    while (node->streams[i] != stream)
        i++;
    node_act(node, ACTION_UNLOAD)->stream = stream->definition.id;
    node->markers -= stream->app.markers.count > 0;
    node->stream_count--;
    memmove(node->streams + i, node->streams + i + 1,
            (node->stream_count - i) * sizeof(struct stream *));
    node_free_stream(stream);
}

struct branch *stream_branch(struct stream *stream, uint32_t slot)
{
    return array_reach(&stream->branches, &stream->branch_count, slot,
                       sizeof(*stream->branches)) < 0
               ? NULL
               : &stream->branches[slot];
}
