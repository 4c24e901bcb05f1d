/* total.c - packs and reads totals. */
#include "protocol/stream/total.h"

#include <errno.h>
#include <string.h>

#include "wire/packet.h"

/* The set, the marker and its epoch, the kind, the bytes of the packet. */
#define TOTAL_FORMAT "%aud %uld %ud %uc %auc"

enum {
    TOTAL_EMPTY,      /* nothing was joined */
    TOTAL_BARE,       /* a packet without a payload */
    TOTAL_WITH_BYTES, /* a packet with one */
    TOTAL_KINDS,
    TOTAL_DOUBTED = 4 /* added to one of them */
};

void total_fini(struct total *total)
{
    ranks_fini(&total->set);
    payload_free(total->payload);
    memset(total, 0, sizeof(*total));
}

int total_encode(const struct total *total,
                 uint32_t stream,
                 uint32_t sender,
                 struct frame *out)
{
    const struct payload *bytes = total->payload;
    int kind = total->is_empty ? TOTAL_EMPTY
               : bytes         ? TOTAL_WITH_BYTES
                               : TOTAL_BARE;

    *out = (struct frame){.type = FRAME_TOTAL,
                          .stream = stream,
                          .tag = total->tag,
                          .origin = sender,
                          .sequence = total->level};
    return packet_pack(
        &out->payload, TOTAL_FORMAT, ranks_pairs(&total->set),
        (uint32_t)(2 * total->set.count), total->settled.number,
        total->settled.epoch, kind | (total->is_doubted ? TOTAL_DOUBTED : 0),
        bytes ? bytes->bytes : NULL, bytes ? bytes->len : (uint32_t)0);
}

static int copy_bytes(struct total *total, const void *bytes, uint32_t len)
{
    int r = payload_new(&total->payload, len);

    if (r == 0 && len > 0)
        memcpy(total->payload->bytes, bytes, len);
    return r;
}

int total_decode(const struct frame *frame, struct total *out)
{
    struct total total = {.level = frame->sequence, .tag = frame->tag};
    struct cop_packet *packet = NULL;
    const uint32_t *pairs;
    const void *bytes;
    uint32_t count, len;
    unsigned char kind;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, TOTAL_FORMAT, &pairs, &count,
                          &total.settled.number, &total.settled.epoch, &kind,
                          &bytes, &len);
    if (r < 0)
        goto out;
    r = -EBADMSG;
    total.is_doubted = kind & TOTAL_DOUBTED;
    kind &= (unsigned char)~TOTAL_DOUBTED;
    if (kind >= TOTAL_KINDS || (kind != TOTAL_WITH_BYTES && len > 0))
        goto out;
    r = ranks_from_pairs(&total.set, pairs, count);
    if (r < 0)
        goto out;
    total.is_empty = kind == TOTAL_EMPTY;
    if (kind == TOTAL_WITH_BYTES)
        r = copy_bytes(&total, bytes, len);
    if (r < 0)
        goto out;
    total_fini(out);
    *out = total;
    memset(&total, 0, sizeof(total));
out:
    total_fini(&total);
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}
