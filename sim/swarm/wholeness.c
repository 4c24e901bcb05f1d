/* wholeness.c - traffic on streams of whole waves (PROTOCOL 16). */
#include "sim/swarm/wholeness.h"

#include <inttypes.h>

#include "wire/limits.h"

void exact_told_redo(const struct traffic *traffic,
                     struct traffic_stream *stream,
                     struct sim *sim)
{
    stream->redos++;
    if (traffic->calm)
        sim_fail(sim, "stream %u: a redo though nobody has failed", stream->id);
    if (stream->redos > traffic->causes)
        sim_fail(sim, "stream %u: redo %u has no cause", stream->id,
                 stream->redos);
}

/* The bytes that a back-end keeps; 0 if the stream is not exact. */
static uint64_t kept_bytes(const struct traffic_stream *stream,
                           struct sim *sim,
                           uint32_t index)
{
    uint64_t packets, bytes = 0;

    if (stream->exact && sim_role(sim, index) == NODE_BACKEND)
        node_unfinal(sim_node(sim, index), stream->id, &packets, &bytes);
    return bytes;
}

static uint64_t keep_of(const struct traffic_stream *stream)
{
    return stream->keep ? stream->keep : LIMIT_KEEP;
}

bool exact_is_full(const struct traffic_stream *stream,
                   struct sim *sim,
                   uint32_t index)
{
    uint64_t kept = kept_bytes(stream, sim, index);

    return stream->exact &&
           (kept >= keep_of(stream) || kept >= stream->least_window / 2);
}

void exact_look(const struct traffic_stream *stream,
                struct sim *sim,
                uint32_t index,
                uint64_t most)
{
    uint64_t bytes = kept_bytes(stream, sim, index);

    if (bytes >= keep_of(stream) + most)
        sim_fail(sim, "%u keeps %" PRIu64 " bytes of stream %u, not %" PRIu64,
                 sim_rank(sim, index), bytes, stream->id, keep_of(stream));
}
