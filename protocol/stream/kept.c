/* kept.c - the packets that a back-end keeps, in blocks. */
#include "protocol/stream/kept.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A payload above this is kept by reference. */
#define COPIED_MAX 256

/* Room of a block. A block is freed when its last packet is final, so small
 * blocks waste little memory. */
#define BLOCK_ROOM (8 * 1024 - (uint32_t)sizeof(struct kept_block))

/* Packets are contiguous from `begin` to `end`. */
struct kept_block {
    struct kept_block *next;
    struct kept_sum in; /* `in` of struct kept when this was full */
    uint64_t wave;      /* of the last packet */
    uint32_t begin;
    uint32_t end;
    bool plain; /* all payloads are copied, and there is no OVER */
    _Alignas(struct kept_packet) unsigned char bytes[];
};

/* Bytes of a packet in its block; the next one is aligned. */
static uint32_t room_of(uint32_t len)
{
    uint32_t bytes = len > COPIED_MAX ? sizeof(struct payload *) : len;
    uint32_t align = _Alignof(struct kept_packet);

    bytes += offsetof(struct kept_packet, bytes);
    return (bytes + align - 1) & ~(align - 1);
}

static struct kept_packet *packet_at(struct kept_block *block, uint32_t at)
{
    return (struct kept_packet *)(void *)(block->bytes + at);
}

static struct payload *reference_of(const struct kept_packet *packet)
{
    struct payload *payload;

    memcpy(&payload, packet->bytes, sizeof(payload));
    return payload;
}

static int add_block(struct kept *kept)
{
    struct kept_block *block = malloc(sizeof(*block) + BLOCK_ROOM);

    if (!block)
        return -ENOMEM;
    block->next = NULL;
    block->begin = 0;
    block->end = 0;
    block->plain = true;
    if (kept->last) {
        kept->last->in = kept->in;
        kept->last->next = block;
    } else {
        kept->first = block;
    }
    kept->last = block;
    return 0;
}

/* The two rare parts of kept_push(). They are not inlined, so that kept_push(),
 * which each packet calls, saves no registers. */

__attribute__((noinline)) static int push_in_new_block(
    struct kept *kept, const struct frame *frame)
{
    if (add_block(kept) < 0)
        return -ENOMEM;
    return kept_push(kept, frame);
}

__attribute__((noinline)) static int push_reference(struct kept_block *block,
                                                    struct kept_packet *packet,
                                                    struct payload *payload)
{
    block->plain = false;
    payload_ref(payload);
    memcpy(packet->bytes, &payload, sizeof(payload));
    return 0;
}

int kept_push(struct kept *kept, const struct frame *frame)
{
    struct payload *payload = frame->payload;
    uint32_t len = payload ? payload->len : 0, room = room_of(len);
    struct kept_block *block = kept->last;
    struct kept_packet *packet;

    if (!block || room > BLOCK_ROOM - block->end)
        return push_in_new_block(kept, frame);
    packet = packet_at(block, block->end);
    packet->wave = block->wave = frame->wave;
    packet->tag = frame->tag;
    packet->contributors = frame->contributors;
    packet->len = len;
    packet->flags = frame->flags;
    block->end += room;
    kept->in.count++;
    if (frame->flags & FRAME_OVER) {
        block->plain = false;
        kept->in.overs++;
    } else {
        kept->in.bytes += FRAME_HEAD_MAX + len;
    }
    if (len > COPIED_MAX)
        return push_reference(block, packet, payload);
    if (len > 0)
        memcpy(packet->bytes, payload->bytes, len);
    return 0;
}

const struct kept_packet *kept_next(const struct kept *kept,
                                    struct kept_place *place)
{
    const struct kept_packet *packet;

    if (!place->block) {
        place->block = kept->first;
        place->at = kept->first ? kept->first->begin : 0;
    }
    if (place->block && place->at == place->block->end && place->block->next) {
        place->block = place->block->next;
        place->at = 0;
    }
    if (!place->block || place->at == place->block->end)
        return NULL;
    packet = packet_at((struct kept_block *)place->block, place->at);
    place->at += room_of(packet->len);
    return packet;
}

/* The first block has no packets left. */
static void drop_block(struct kept *kept)
{
    struct kept_block *block = kept->first;

    if (!block->next) { /* reuse it for the next packet */
        block->begin = block->end = 0;
        block->plain = true;
        return;
    }
    kept->first = block->next;
    free(block);
}

void kept_pop(struct kept *kept)
{
    struct kept_block *block = kept->first;
    const struct kept_packet *packet = packet_at(block, block->begin);

    assert(kept->in.count != kept->out.count);
    kept->out.count++;
    if (packet->flags & FRAME_OVER)
        kept->out.overs++;
    else
        kept->out.bytes += FRAME_HEAD_MAX + packet->len;
    if (packet->len > COPIED_MAX)
        payload_free(reference_of(packet));
    block->begin += room_of(packet->len);
    if (block->begin == block->end)
        drop_block(kept);
}

void kept_forget(struct kept *kept, uint64_t wave)
{
    const struct kept_block *block;

    while ((block = kept->first) && block->next && block->plain &&
           block->wave <= wave) {
        kept->out = block->in;
        drop_block(kept);
    }
}

void kept_fini(struct kept *kept)
{
    while (kept_now(kept).count > 0)
        kept_pop(kept);
    free(kept->first);
    memset(kept, 0, sizeof(*kept));
}

int kept_payload(const struct kept_packet *packet, struct payload **out)
{
    *out = NULL;
    if (packet->len == 0)
        return 0;
    if (packet->len > COPIED_MAX) {
        *out = payload_ref(reference_of(packet));
        return 0;
    }
    if (payload_new(out, packet->len) < 0)
        return -ENOMEM;
    memcpy((*out)->bytes, packet->bytes, packet->len);
    return 0;
}
