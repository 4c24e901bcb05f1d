/* kept.h - the packets that a back-end keeps until they are final (PROTOCOL
 * 16.5), side by side.
 *
 * A packet is up to half a second old when it is dropped. So a small payload is
 * copied: its memory is free once it is sent, and the next packet reuses it
 * while it is in the cache. A large payload is kept by reference. */
#pragma once

#include "wire/frame.h"

/* The fields that differ between the packets of one back-end, and the payload.
 * A redo derives the frame's check from the flags, and uses the generation that
 * the stream has at that time. */
struct kept_packet {
    uint64_t wave;
    int32_t tag;
    uint32_t contributors;
    uint32_t len; /* of the payload */
    uint8_t flags;
    unsigned char bytes[]; /* a pointer to the payload, if it is large */
};

struct kept_block;

struct kept_sum {
    uint64_t bytes; /* as sent on a link, without OVER */
    uint32_t count;
    uint32_t overs; /* of these, how many are OVER */
};

/* Caller's storage; all zero is empty. */
struct kept {
    struct kept_block *first, *last;
    struct kept_sum in;  /* all that was ever kept ... */
    struct kept_sum out; /* ... and dropped */
};

/* A position in `kept`; all zero is before the oldest packet. */
struct kept_place {
    const struct kept_block *block;
    uint32_t at;
};

/* Drop and free all packets. */
void kept_fini(struct kept *kept);

/* The sums of the packets that are kept now. */
static inline struct kept_sum kept_now(const struct kept *kept)
{
    return (struct kept_sum){kept->in.bytes - kept->out.bytes,
                             kept->in.count - kept->out.count,
                             kept->in.overs - kept->out.overs};
}

/* Keep `frame`; the caller's reference stays. Returns 0 or -ENOMEM. */
int kept_push(struct kept *kept, const struct frame *frame);

/* The packet after `place`; `place` advances to it. NULL: there is none.
 * Borrowed until it is dropped. */
const struct kept_packet *kept_next(const struct kept *kept,
                                    struct kept_place *place);

/* Drop the oldest packet. There must be one. */
void kept_pop(struct kept *kept);

/* Drop packets up to `wave`, whole blocks only: stop at a block with OVER or a
 * large payload, and at the last block. */
void kept_forget(struct kept *kept, uint64_t wave);

/* Restore the payload of `packet`: `*out` is the caller's reference, NULL if
 * the packet has no payload. Returns 0 or -ENOMEM. */
int kept_payload(const struct kept_packet *packet, struct payload **out);
