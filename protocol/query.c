/* query.c - what a driver and an application may ask of the machine. */
#include <errno.h>

#include "protocol/state.h"

bool node_has_room(const struct node *node, uint32_t stream_id, size_t len)
{
    const struct stream *stream = node_stream(node, stream_id);

    if (!stream || node->ended)
        return false;
    if (node->role != NODE_FRONTEND)
        return upward_accepts(node, stream, len);
    return stream->down.feed.store.bytes + stream->down.in.bytes <
           LIMIT_UNSTABLE;
}

bool node_can_send(const struct node *node, uint32_t stream_id)
{
    return node_has_room(node, stream_id, FRAME_HEADER_LEN);
}

bool node_is_marked(const struct node *node)
{
    return node->markers > 0;
}

const struct ranks *node_backends(const struct node *node)
{
    return &node->backends;
}

bool node_is_gathered(const struct node *node)
{
    return !suspect_is_any(node);
}

const struct ranks *node_astray(const struct node *node)
{
    return &node->astray;
}

const struct ranks *node_members(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return stream ? &stream->definition.members : NULL;
}

enum stream_guarantee node_kind(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return stream ? stream->definition.kind : STREAM_PLAIN;
}

bool node_delivers_waves_only(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return stream && stream->root && stream->definition.waves_only;
}

uint32_t node_epoch(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    if (!stream)
        return 0;
    return node->role == NODE_FRONTEND ? stream->root->sent.epoch
                                       : stream->up.epoch;
}

bool node_is_deserted(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return node->role == NODE_FRONTEND && stream && !stream->root->opening &&
           stream->definition.members.count == 0;
}

bool node_is_drained(const struct node *node, uint32_t stream_id)
{
    return node_is_deserted(node, stream_id) &&
           stream_is_drained(node, node_stream(node, stream_id));
}

const struct ranks *node_losers(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return stream && stream->root ? &stream->root->losers : NULL;
}

bool node_is_recoverable(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    if (!stream)
        return false;
    return stream->root ? stream->root->recoverable
                        : stream->filters.recoverable;
}

bool node_is_replayable(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return stream && stream_is_replayable(stream);
}

uint64_t node_sent(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    return stream && stream->root ? stream->root->packets : 0;
}

int node_unfinal(const struct node *node,
                 uint32_t stream_id,
                 uint64_t *packets,
                 uint64_t *bytes)
{
    const struct stream *stream = node_stream(node, stream_id);
    struct kept_sum kept;

    if (!stream || !stream->kind->kept)
        return -ENOENT;
    kept = stream->kind->kept(stream);
    *packets = kept.count - kept.overs;
    *bytes = kept.bytes;
    return 0;
}

int node_unsettled(const struct node *node,
                   uint32_t stream_id,
                   struct ranks *out)
{
    const struct stream *stream = node_stream(node, stream_id);
    struct ranks left = {0};
    int r;

    if (!stream || !stream->root)
        return 0;
    r = ranks_copy(&left, &stream->definition.members);
    for (uint32_t slot = 0; r == 0 && slot < stream->branch_count; slot++)
        if (node_child(node, slot) &&
            stream->branches[slot].claim.settled.number >= stream->root->sync)
            r = ranks_subtract(&left, &stream->branches[slot].claim.members);
    if (r == 0)
        r = ranks_copy(out, &left);
    ranks_fini(&left);
    return r;
}

uint32_t node_rank(const struct node *node)
{
    return node->rank;
}

uint32_t node_depth(const struct node *node)
{
    return node->depth;
}

uint32_t node_parent_link(const struct node *node)
{
    return node->parent ? node->parent->link : UINT32_MAX;
}

bool node_internal(const struct node *node,
                   size_t index,
                   uint32_t *rank,
                   const char **address)
{
    if (index >= node->roster.internal_count)
        return node->heal.table &&
               table_joined(node->heal.table,
                            (uint32_t)(index - node->roster.internal_count),
                            rank, address);
    *rank = node->roster.internals[index].rank;
    *address = node->roster.internals[index].address;
    return true;
}

bool node_has_failed(const struct node *node, uint32_t rank)
{
    struct table_entry entry;

    return node->heal.table &&
           table_entry(node->heal.table, rank, &entry) == 0 && entry.failed;
}

bool node_missing(const struct node *node,
                  size_t index,
                  uint32_t *rank,
                  const char **host,
                  const char **reason)
{
    const struct roster_note *missing = node->roster.missing.list;

    if (index >= node->roster.missing.count)
        return false;
    *rank = missing[index].rank;
    *host = missing[index].host;
    *reason = missing[index].text;
    return true;
}

uint64_t node_table_version(const struct node *node)
{
    return node->heal.table ? table_version(node->heal.table) : 0;
}

uint64_t node_held_bytes(const struct node *node, uint32_t stream_id)
{
    const struct stream *stream = node_stream(node, stream_id);

    if (!stream)
        return 0;
    return stream->down.feed.store.bytes + stream->down.in.bytes +
           stream->up.out.bytes + stream->up.late_out.bytes +
           upward_bytes(stream) + totals_bytes(stream);
}
