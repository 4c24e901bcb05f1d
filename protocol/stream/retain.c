/* retain.c - streams of whole waves at a back-end: packets are kept until they
 * are final, and sent again in each new generation (PROTOCOL 16.5 to 16.12). */

#include "protocol/state.h"
#include "protocol/stream/waves.h"
#include "wire/packet.h"

static struct wave_number level_of(const struct frame *frame)
{
    return (struct wave_number){frame->generation,
                                frame->flags & FRAME_OVER
                                    ? wave_epoch_after(frame->wave)
                                    : frame->wave};
}

/* Whether a packet is no longer needed: OVER accounts for its sender until its
 * whole epoch is final (16.10). */
static bool is_final(uint8_t flags, uint64_t wave, uint64_t final)
{
    if (flags & FRAME_OVER)
        return final >= wave_epoch_after(wave);
    return wave <= final;
}

void retain_put(struct node *node, struct stream *stream, struct frame *frame)
{
    struct retaining *retain = &stream->waves->retain;

    frame->flags |= FRAME_WAVES;
    frame->generation = stream->waves->generation;
    frame->check = 0;
    retain->unasked += frame_len(frame);
    if (frame->flags & FRAME_LAST) {
        frame->check = retain->hash;
        retain->level = level_of(frame);
        if (retain->unasked >= stream->definition.keep / 2) {
            frame->flags |= FRAME_ASK;
            retain->unasked = 0;
        }
    }
    /* A packet is final already only if the parent sent a wrong FINAL. */
    if (!retain->closed &&
        !is_final(frame->flags, frame->wave, stream->waves->final) &&
        kept_push(&retain->kept, frame) < 0)
        node->failed = true;
}

void retain_final(struct waves *waves)
{
    struct kept *kept = &waves->retain.kept;

    kept_forget(kept, waves->final);
    for (;;) {
        const struct kept_packet *oldest =
            kept_next(kept, &(struct kept_place){0});

        if (!oldest || !is_final(oldest->flags, oldest->wave, waves->final))
            return;
        kept_pop(kept);
    }
}

/* Send `kept` again, in the present generation. OVER follows the last final
 * wave of its epoch, as commnodes continue there (16.10). */
static void put_again(struct node *node,
                      struct stream *stream,
                      const struct kept_packet *kept)
{
    const struct waves *waves = stream->waves;
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = kept->flags,
        .stream = stream->definition.id,
        .tag = kept->tag,
        .origin = node->rank,
        .contributors = kept->contributors,
        .generation = waves->generation,
        .wave = kept->wave,
        .check = kept->flags & FRAME_LAST ? waves->retain.hash : 0,
    };

    if (kept_payload(kept, &frame.payload) < 0) {
        node->failed = true;
        return;
    }
    if (frame.flags & FRAME_OVER && frame.wave <= waves->final)
        frame.wave = waves->final + 1;
    if (frame.flags & FRAME_LAST)
        stream->waves->retain.level = level_of(&frame);
    if (fifo_push(&stream->up.out, &frame, 0) < 0)
        node->failed = true;
}

/* The wave after which this node begins in a new generation. */
static uint64_t begin_of(const struct waves *waves)
{
    const struct retaining *retain = &waves->retain;
    uint64_t begin = (uint64_t)retain->entered_epoch << PACKET_WAVE_BITS;

    if (!retain->entered)
        begin = retain->level.wave;
    return begin > waves->final ? begin : waves->final;
}

void retain_redo(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;
    struct wave_number begin = {waves->generation, begin_of(waves)};
    struct kept_place place = {0};
    const struct kept_packet *packet;

    waves->retain.level = begin;
    if (!stream->active)
        return;
    if (begin.wave > waves->final)
        upward_resume(node, stream, begin);
    while ((packet = kept_next(&waves->retain.kept, &place)))
        put_again(node, stream, packet);
}

/* Put OVER in each epoch before `epoch` that has none of this node. */
static void end_epochs(struct node *node, struct stream *stream, uint32_t epoch)
{
    while (stream->up.epoch < epoch) {
        upward_emit(
            node, stream,
            (struct frame){
                .type = FRAME_DATA,
                .flags = FRAME_EMPTY | FRAME_LAST | FRAME_OVER,
                .origin = node->rank,
                .wave = ((uint64_t)stream->up.epoch << PACKET_WAVE_BITS) +
                        stream->up.count + 1,
            });
        upward_begin_epoch(stream, stream->up.epoch + 1);
    }
}

void retain_settle(struct node *node, struct stream *stream, struct mark marker)
{
    end_epochs(node, stream, marker.epoch);
}

void retain_leave(struct node *node, struct stream *stream)
{
    if (!stream->waves->retain.entered || stream->closing)
        return;
    end_epochs(node, stream, stream->settle.settled.epoch + 1);
    upward_pump(node, stream);
}

void waves_names(const struct msg_marker *marker, struct ranks *out)
{
    struct cop_packet *packet = NULL;
    const uint32_t *pairs;
    uint32_t count;

    if (marker->payload && packet_open(&packet, marker->payload) == 0 &&
        cop_packet_unpack(packet, "%aud", &pairs, &count) == 0 &&
        ranks_from_pairs(out, pairs, count) < 0)
        ranks_fini(out);
    cop_packet_free(packet);
}

/* Whether the marker names this node. */
static bool is_named(const struct node *node, const struct msg_marker *marker)
{
    struct ranks named = {0};
    bool found;

    waves_names(marker, &named);
    found = ranks_has(&named, node->rank);
    ranks_fini(&named);
    return found;
}

bool retain_marker(struct node *node,
                   struct stream *stream,
                   const struct frame *frame)
{
    struct waves *waves = stream->waves;
    struct retaining *retain = &waves->retain;
    struct msg_marker marker;
    uint64_t begin;

    if (retain->entered || msg_marker_decode(frame, &marker) < 0)
        return false;
    retain->entered = is_named(node, &marker);
    begin = (uint64_t)marker.epoch << PACKET_WAVE_BITS;
    upward_begin_epoch(stream, marker.epoch);
    if (retain->entered)
        retain->entered_epoch = marker.epoch;
    else
        begin = wave_epoch_after(begin);
    if (begin > retain->level.wave)
        retain->level = (struct wave_number){waves->generation, begin};
    if (!retain->entered)
        upward_resume(node, stream,
                      (struct wave_number){waves->generation, begin});
    return true;
}

void retain_enter(struct node *node, struct stream *stream, uint32_t epoch)
{
    struct waves *waves = stream->waves;
    uint64_t begin = (uint64_t)epoch << PACKET_WAVE_BITS;

    upward_enter(stream, epoch, false);
    waves->retain.entered = false;
    waves->retain.level =
        (struct wave_number){waves->generation, wave_epoch_after(begin)};
    waves->counted = false;
    waves_announce(node, stream);
}

void retain_close(struct stream *stream)
{
    struct retaining *retain = &stream->waves->retain;

    retain->closed = true;
    kept_fini(&retain->kept);
}

struct kept_sum retain_kept(const struct stream *stream)
{
    return kept_now(&stream->waves->retain.kept);
}

bool retain_accepts(const struct node *node, const struct stream *stream)
{
    const struct retaining *retain = &stream->waves->retain;

    return retain->entered && upward_is_idle(node, stream) &&
           (retain->closed ||
            kept_now(&retain->kept).bytes < stream->definition.keep);
}

bool retain_is_done(const struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        struct kept_sum now = {0};

        if (node->streams[i]->waves)
            now = retain_kept(node->streams[i]);
        if (now.count > now.overs)
            return false;
    }
    return true;
}
