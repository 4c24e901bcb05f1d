/* wholeness.c - traffic on exact streams (PROTOCOL 16). */
#include "sim/swarm/wholeness.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/memory.h"
#include "wire/limits.h"
#include "wire/packet.h"

struct payload *exact_pack(struct traffic_stream *stream,
                           uint32_t rank,
                           uint32_t weight)
{
    uint64_t value = whole_value(rank, stream->serials[rank]++);
    struct payload *payload = NULL;
    char *ballast = memory_new(weight + 1);
    int r;

    if (stream->model.filter == MODEL_SUM)
        r = packet_pack(&payload, "%uld", value);
    else
        r = packet_pack(&payload, "%auld %ac", &value, UINT32_C(1), ballast,
                        weight);
    free(ballast);
    return r < 0 ? NULL : payload;
}

/* The sum of the values in a packet of an exact stream. */
static uint64_t sum_exact(const struct frame *frame)
{
    struct cop_packet *packet;
    struct cop_value value;
    uint64_t sum = 0;

    if (packet_open(&packet, frame->payload) < 0)
        return 0;
    if (cop_packet_value(packet, 0, &value) == 0 && value.type == COP_UINT64)
        for (uint64_t i = 0; i < value.count; i++)
            sum += ((const uint64_t *)value.data)[i];
    cop_packet_free(packet);
    return sum;
}

void exact_sent_up(struct traffic_stream *stream,
                   struct sim *sim,
                   uint32_t rank,
                   uint64_t wave,
                   const struct frame *frame)
{
    const char *wrong =
        whole_send(&stream->whole, rank, wave, sum_exact(frame));

    if (wrong)
        sim_fail(sim, "stream %u: %s", stream->id, wrong);
}

void exact_taken(struct traffic_stream *stream,
                 struct sim *sim,
                 const struct frame *frame)
{
    const char *wrong =
        whole_take(&stream->whole, frame->wave, sum_exact(frame));

    if (wrong)
        sim_fail(sim, "stream %u: %s", stream->id, wrong);
    if (frame->flags & FRAME_LATE)
        sim_fail(sim, "stream %u is exact, and has a late packet", stream->id);
}

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
