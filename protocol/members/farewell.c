/* farewell.c - the totals of back-ends that leave (PROTOCOL 17.7). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* One element for each stream: its number, the tag of its total, the kind of
 * its word, and the length of its part of the bytes. */
#define FAREWELL_FORMAT "%aud %ad %auc %aud %auc"

enum {
    WORD_EMPTY, /* nothing was sent */
    WORD_BARE,  /* a packet without a payload */
    WORD_BYTES
};

/* The total of one stream. */
struct word {
    uint32_t stream;
    bool is_known;
    struct frame frame; /* FRAME_EMPTY: nothing was sent */
};

struct farewell {
    struct word *words;
    size_t count;
    uint32_t asked; /* the stream whose total is being packed; 0: none */
    bool said;
    struct frame frame; /* FAREWELL, once all totals are known */
};

void farewell_free(struct farewell *farewell)
{
    if (!farewell)
        return;
    for (size_t i = 0; i < farewell->count; i++)
        frame_fini(&farewell->words[i].frame);
    frame_fini(&farewell->frame);
    free(farewell->words);
    free(farewell);
}

/* Whether this back-end has a part in the totals of `stream`. */
static bool has_part(const struct stream *stream)
{
    return stream->totals && stream->active && stream->loaded &&
           !stream->closing;
}

void farewell_begin(struct node *node)
{
    struct farewell *farewell;
    size_t i, count = 0;

    for (i = 0; i < node->stream_count; i++)
        count += has_part(node->streams[i]);
    if (node->farewell || count == 0)
        return;
    farewell = calloc(1, sizeof(*farewell));
    if (farewell)
        farewell->words = calloc(count, sizeof(*farewell->words));
    if (!farewell || !farewell->words) {
        farewell_free(farewell);
        node->failed = true;
        return;
    }
    for (i = 0; i < node->stream_count; i++)
        if (has_part(node->streams[i]))
            farewell->words[farewell->count++].stream =
                node->streams[i]->definition.id;
    node->farewell = farewell;
}

void farewell_collect(struct node *node,
                      const struct stream *stream,
                      const struct event *event)
{
    struct farewell *farewell = node->farewell;

    if (!farewell || farewell->asked != stream->definition.id)
        return; /* an ordinary total: packets may still wait for a call */
    farewell->asked = 0;
    for (size_t i = 0; i < farewell->count; i++) {
        struct word *word = &farewell->words[i];

        if (word->stream != stream->definition.id || word->is_known)
            continue;
        word->is_known = true;
        if (event->up_count > 0)
            word->frame = frame_ref(&event->up[0]);
        else
            word->frame.flags = FRAME_EMPTY;
    }
}

/* Pack the next total that is not known. Returns false if all are known. */
static bool collect_next(struct node *node)
{
    struct farewell *farewell = node->farewell;

    for (size_t i = 0; i < farewell->count; i++) {
        struct word *word = &farewell->words[i];
        struct stream *stream = node_stream(node, word->stream);

        if (word->is_known)
            continue;
        if (!stream || stream->closing) {
            word->is_known = true; /* a closed stream has no total */
            word->frame.flags = FRAME_EMPTY;
            continue;
        }
        if (node->filter.is_out)
            return true;
        farewell->asked = word->stream;
        if (totals_call(node, stream))
            return true;
    }
    return false;
}

/* Pack all words into one payload. Returns 0, -EMSGSIZE or -ENOMEM. */
static int pack_words(const struct farewell *farewell, struct payload **out)
{
    uint32_t count = (uint32_t)farewell->count;
    uint32_t *streams = calloc(count, sizeof(*streams));
    uint32_t *lens = calloc(count, sizeof(*lens));
    int32_t *tags = calloc(count, sizeof(*tags));
    unsigned char *kinds = calloc(count, 1);
    unsigned char *bytes = NULL;
    uint64_t total = 0;
    int r = -ENOMEM;

    for (uint32_t i = 0; i < count; i++)
        total += frame_len(&farewell->words[i].frame) - FRAME_HEADER_LEN;
    if (total <= LIMIT_FRAME)
        bytes = malloc(total + 1);
    else
        r = -EMSGSIZE;
    if (!streams || !lens || !tags || !kinds || !bytes)
        goto out;
    total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame = &farewell->words[i].frame;

        streams[i] = farewell->words[i].stream;
        tags[i] = frame->tag;
        kinds[i] = frame->flags & FRAME_EMPTY ? WORD_EMPTY
                   : frame->payload           ? WORD_BYTES
                                              : WORD_BARE;
        lens[i] = frame->payload ? frame->payload->len : 0;
        if (lens[i] > 0)
            memcpy(bytes + total, frame->payload->bytes, lens[i]);
        total += lens[i];
    }
    r = packet_pack(out, FAREWELL_FORMAT, streams, count, tags, count, kinds,
                    count, lens, count, bytes, (uint32_t)total);
out:
    free(streams);
    free(lens);
    free(tags);
    free(kinds);
    free(bytes);
    return r;
}

/* Send FAREWELL. Each heartbeat repeats it, as a node may fail with it. */
static void say_farewell(struct node *node)
{
    if (node->parent && node->parent->life.state == LINK_UP)
        node_send(node, node->parent, frame_ref(&node->farewell->frame));
}

bool farewell_waits(struct node *node)
{
    struct farewell *farewell = node->farewell;
    int r;

    if (!farewell || node->failed)
        return false;
    if (farewell->said || collect_next(node))
        return true;
    farewell->frame =
        (struct frame){.type = FRAME_FAREWELL, .origin = node->rank};
    r = pack_words(farewell, &farewell->frame.payload);
    if (r == -ENOMEM)
        node->failed = true;
    if (r < 0)
        return false; /* too large: the back-end ends as if it had crashed */
    farewell->said = true;
    say_farewell(node);
    return true;
}

void farewell_beat(struct node *node)
{
    if (node->farewell && node->farewell->said)
        say_farewell(node);
}

/* ---- the front-end ---- */

/* The content of one FAREWELL; borrowed from its packet. */
struct words_read {
    const uint32_t *streams;
    const uint32_t *lens;
    const int32_t *tags;
    const unsigned char *kinds;
    const unsigned char *bytes;
    uint32_t count;
};

static int read_words(const struct cop_packet *packet, struct words_read *out)
{
    uint32_t tag_count, kind_count, len_count, byte_count;
    uint64_t total = 0;
    int r;

    r = cop_packet_unpack(packet, FAREWELL_FORMAT, &out->streams, &out->count,
                          &out->tags, &tag_count, &out->kinds, &kind_count,
                          &out->lens, &len_count, &out->bytes, &byte_count);
    if (r < 0)
        return r;
    if (tag_count != out->count || kind_count != out->count ||
        len_count != out->count || out->count > LIMIT_STREAMS)
        return -EBADMSG;
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->kinds[i] > WORD_BYTES ||
            (out->kinds[i] != WORD_BYTES && out->lens[i] > 0))
            return -EBADMSG;
        total += out->lens[i];
    }
    return total == byte_count ? 0 : -EBADMSG;
}

/* Keep the totals of `rank`, one on each stream of which it is a member. */
static int keep_words(struct node *node,
                      uint32_t rank,
                      const struct words_read *reading)
{
    const unsigned char *bytes = reading->bytes;
    struct ranks done = {0};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < reading->count; i++) {
        uint32_t id = reading->streams[i];
        struct stream *stream = node_stream(node, id);
        struct frame frame = {
            .type = FRAME_DATA,
            .flags = reading->kinds[i] == WORD_EMPTY ? FRAME_EMPTY : 0,
            .stream = id,
            .tag = reading->tags[i],
            .origin = rank,
        };

        if (stream && stream->totals && !ranks_has(&done, id) &&
            ranks_has(&stream->definition.members, rank)) {
            r = ranks_add(&done, id, id);
            if (r == 0 && reading->kinds[i] == WORD_BYTES)
                r = payload_new(&frame.payload, reading->lens[i]);
            if (r == 0 && reading->lens[i] > 0)
                memcpy(frame.payload->bytes, bytes, reading->lens[i]);
            if (r == 0)
                totals_part(node, stream, rank, &frame);
        }
        bytes += reading->lens[i];
    }
    ranks_fini(&done);
    return r;
}

/* The sender of FAREWELL has left: keep its totals, and report that it left. After
 * it was given up, or if this is a repetition, it is a member of no stream. */
static int part_with(struct node *node,
                     const struct frame *frame,
                     const struct words_read *reading)
{
    uint32_t rank = frame->origin;
    struct ranks ranks = {0};
    int r;

    if (ranks_has(&node->backends, rank))
        journal_add(node, frame);
    r = keep_words(node, rank, reading);
    if (r == 0)
        r = ranks_add(&ranks, rank, rank);
    if (r == 0)
        member_give_up(node, CONTROL_LEFT, &ranks, "it has left");
    ranks_fini(&ranks);
    return r;
}

int farewell_keep(struct node *node, const struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct words_read reading;
    int r = packet_open(&packet, frame->payload);

    if (r == 0)
        r = read_words(packet, &reading);
    if (r == 0)
        r = keep_words(node, frame->origin, &reading);
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}

int farewell_take(struct node *node,
                  const struct peer *peer,
                  const struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct words_read reading;
    int r;

    /* A claim precedes FAREWELL on each link. A back-end that has moved repeats
     * FAREWELL to its new parent. */
    if (!ranks_has(&peer->below, frame->origin))
        return 0;
    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = read_words(packet, &reading);
    if (r == 0 && node->role == NODE_FRONTEND)
        r = part_with(node, frame, &reading);
    else if (r == 0 && node->parent && node->parent->life.state == LINK_UP)
        node_send(node, node->parent, frame_ref(frame));
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}
