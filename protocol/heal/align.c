/* align.c - the streams of a node that moves: up to which wave its packets go to
 * the old parent, and who knows of them (PROTOCOL 18.4, 18.6). */
#include <errno.h>
#include <stdlib.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* ALIGN: the streams, and for each 1 + the last epoch of which packets went to the
 * old parent, and whether RESUME was sent for it. */
#define ALIGN_FORMAT "%aud %auld"
#define ALIGN_SHIFT  1
#define ALIGN_COUNTS UINT64_C(1)

/* Its answer: streams, and the highest wave that was passed of each. */
#define LEVELS_FORMAT "%aud %auld %aud"

struct aligned {
    struct cop_packet *packet; /* has the arrays */
    const uint32_t *ids;
    const uint64_t *values;
    const uint32_t *generations; /* of an answer */
    uint32_t count;
};

static int read_list(struct aligned *out, struct payload *payload, bool levels)
{
    uint32_t counts[3] = {0};
    int r;

    if (!payload)
        return 0; /* no streams */
    r = packet_open(&out->packet, payload);
    if (r == 0 && levels)
        r = cop_packet_unpack(out->packet, LEVELS_FORMAT, &out->ids, &counts[0],
                              &out->values, &counts[1], &out->generations,
                              &counts[2]);
    else if (r == 0)
        r = cop_packet_unpack(out->packet, ALIGN_FORMAT, &out->ids, &counts[0],
                              &out->values, &counts[1]);
    if (r == 0 && (counts[0] > LIMIT_STREAMS || counts[0] != counts[1] ||
                   (levels && counts[0] != counts[2])))
        r = -EBADMSG;
    out->count = counts[0];
    if (r < 0)
        cop_packet_free(out->packet);
    return r == -EINVAL ? -EBADMSG : r;
}

/* Whether a node sends its packets of the stream wave by wave, so that its next
 * parent must not be ahead of it. */
static bool is_aligned(const struct stream *stream)
{
    return stream->definition.id != 0 && stream->active && !stream->closing &&
           stream->definition.sync == COP_WAIT_FOR_ALL &&
           stream->kind != &total_kind;
}

static bool counts(const struct stream *stream)
{
    return stream->waves ? stream->waves->counted : stream->up.counted;
}

/* The last wave that was passed here; or the begin of an epoch that is reached,
 * of which none was. */
static struct wave_number level_of(const struct node *node,
                                   const struct stream *stream)
{
    struct wave_number level = {.wave = stream->up.level};
    struct wave_number begin = {
        .wave = (uint64_t)stream->up.epoch << PACKET_WAVE_BITS,
    };

    if (stream->waves) {
        level = node->role == NODE_BACKEND ? stream->waves->retain.level
                                           : tally_level(stream->waves->tally);
        begin.generation = stream->waves->generation;
    } else if (node->role != NODE_BACKEND) {
        begin.wave = wave_level(stream->up.wave);
        if (wave_holds(stream->up.wave, begin.wave))
            return level; /* they wait for a filter call, or for credit */
    }
    return number_compare(level, begin) < 0 ? begin : level;
}

/* ---- the mover ---- */

/* Whether packets of waves wait here for the parent. */
static bool has_queued(const struct stream *stream)
{
    for (uint32_t i = 0; i < stream->up.out.count; i++) {
        const struct frame *frame = &fifo_at(&stream->up.out, i)->frame;

        if (frame->type == FRAME_DATA && frame->wave > 0)
            return true;
    }
    return false;
}

/* The last wave that went to the parent. */
static struct wave_number sent_level(const struct node *node,
                                     const struct stream *stream)
{
    return has_queued(stream) || !upward_is_idle(node, stream)
               ? stream->kind->stand(node, stream)
               : level_of(node, stream);
}

/* Send RESUME for the stream to the next parent, which counts this node from
 * then on, and passes no later wave without it. */
static void align_resume(struct node *node,
                         struct stream *stream,
                         struct peer *next)
{
    struct wave_number level = sent_level(node, stream);

    stream->up.aligned = true;
    stream->up.target = (struct wave_number){0};
    node_send(node, next,
              msg_resume_encode(&(struct msg_resume){
                  .stream = stream->definition.id,
                  .sender = node->rank,
                  .generation = level.generation,
                  .level = level.wave,
              }));
}

int align_ask(struct node *node, struct peer *next, struct payload **out)
{
    size_t count = node->stream_count;
    uint64_t *values = calloc(count, sizeof(*values));
    uint32_t *ids = calloc(count, sizeof(*ids));
    uint32_t n = 0;
    int r = -ENOMEM;

    if (!values || !ids)
        goto out;
    for (size_t i = 0; i < count; i++) {
        struct stream *stream = node->streams[i];

        if (stream->definition.id == 0 || !stream->active ||
            stream->opened_at > node->heal.orphan.known)
            continue;
        if (is_aligned(stream) && counts(stream) && !stream->up.aligned)
            align_resume(node, stream, next);
        ids[n] = stream->definition.id;
        values[n++] = (uint64_t)stream->up.put << ALIGN_SHIFT |
                      (stream->up.aligned ? ALIGN_COUNTS : 0);
    }
    r = packet_pack(out, ALIGN_FORMAT, ids, n, values, n);
out:
    free(values);
    free(ids);
    return r;
}

int align_take(struct node *node, struct payload *payload)
{
    struct aligned levels = {0};
    int r = read_list(&levels, payload, true);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < levels.count; i++) {
        struct stream *stream = node_stream(node, levels.ids[i]);
        struct wave_number level = {levels.generations[i], levels.values[i]};

        if (stream && stream->up.aligned)
            stream->up.target = level;
    }
    cop_packet_free(levels.packet);
    return 0;
}

bool align_is_open(const struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        const struct stream *stream = node->streams[i];

        if (is_aligned(stream) && counts(stream) && !stream->up.aligned)
            return true;
    }
    return false;
}

bool align_is_done(const struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        const struct stream *stream = node->streams[i];

        if (stream->up.split && stream->definition.id != 0)
            return false;
        if (stream->up.aligned && is_aligned(stream) && counts(stream) &&
            number_compare(sent_level(node, stream), stream->up.target) < 0)
            return false;
    }
    return true;
}

void align_end(struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++)
        node->streams[i]->up.aligned = false;
}

/* ---- the nodes above it ---- */

int align_pass(struct node *node, struct payload *payload, bool *passes)
{
    struct aligned list = {0};
    int r = read_list(&list, payload, false);

    if (r < 0)
        return r;
    *passes = true;
    for (uint32_t i = 0; i < list.count; i++) {
        struct stream *stream = node_stream(node, list.ids[i]);
        uint64_t put = list.values[i] >> ALIGN_SHIFT;

        if (!stream || stream->definition.id == 0)
            continue;
        if (put <= UINT32_MAX && stream->up.put < put)
            stream->up.put = (uint32_t)put;
        if (list.values[i] & ALIGN_COUNTS && is_aligned(stream) &&
            node->role != NODE_FRONTEND)
            *passes &= counts(stream) && stream->up.resumes == 0;
    }
    cop_packet_free(list.packet);
    return 0;
}

int align_answer(const struct node *node,
                 struct payload *payload,
                 struct payload **out)
{
    struct aligned list = {0};
    uint32_t *generations;
    uint64_t *values;
    int r = read_list(&list, payload, false);

    if (r < 0)
        return r;
    values = calloc(list.count + 1, sizeof(*values));
    generations = calloc(list.count + 1, sizeof(*generations));
    r = values && generations
            ? packet_pack(out, LEVELS_FORMAT, list.ids, list.count, values,
                          list.count, generations, list.count)
            : -ENOMEM;
    if (r == 0)
        r = align_raise(node, out);
    free(generations);
    free(values);
    cop_packet_free(list.packet);
    return r;
}

int align_raise(const struct node *node, struct payload **levels)
{
    struct aligned list = {0};
    struct payload *raised = NULL;
    uint32_t *generations;
    uint64_t *values;
    int r = read_list(&list, *levels, true);

    if (r < 0)
        return r;
    values = calloc(list.count + 1, sizeof(*values));
    generations = calloc(list.count + 1, sizeof(*generations));
    for (uint32_t i = 0; values && generations && i < list.count; i++) {
        const struct stream *stream = node_stream(node, list.ids[i]);
        struct wave_number level = {list.generations[i], list.values[i]};

        if (stream && is_aligned(stream) &&
            number_compare(level_of(node, stream), level) > 0)
            level = level_of(node, stream);
        generations[i] = level.generation;
        values[i] = level.wave;
    }
    r = values && generations
            ? packet_pack(&raised, LEVELS_FORMAT, list.ids, list.count, values,
                          list.count, generations, list.count)
            : -ENOMEM;
    free(generations);
    free(values);
    cop_packet_free(list.packet);
    if (r < 0)
        return r;
    payload_free(*levels);
    *levels = raised;
    return 0;
}

void align_tell(struct node *node, const struct peer *peer)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (stream->kind->owe && stream_branch(stream, peer->slot))
            stream->kind->owe(stream, peer->slot);
    }
}
