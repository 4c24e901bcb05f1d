/* kept.h - the packets that a back-end keeps until they are final (PROTOCOL
 * 16.5), close together.
 *
 * A packet is up to half a second old when it is forgotten. So a small payload
 * is copied: its own memory is free as soon as it is sent, and the next packet
 * gets it while it is in the cache. A large payload is kept by reference. */
#pragma once

#include "wire/frame.h"

/* What differs between the packets of one back-end, and the payload behind it. A
 * redo derives the frame's check from the flags, and takes the generation of the
 * stream at that time. */
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
    uint64_t bytes; /* on a link, without OVER */
    uint32_t count;
    uint32_t overs; /* of these, how many are OVER */
};

/* Caller's storage; all zero is empty. */
struct kept {
    struct kept_block *first, *last;
    struct kept_sum in;  /* all that was ever kept ... */
    struct kept_sum out; /* ... and forgotten */
};

/* A place in it; all zero is before the oldest. */
struct kept_place {
    const struct kept_block *block;
    uint32_t at;
};

/* Forget all, and free it. */
void kept_fini(struct kept *kept);

/* What is in it now. */
static inline struct kept_sum kept_now(const struct kept *kept)
{
    return (struct kept_sum){kept->in.bytes - kept->out.bytes,
                             kept->in.count - kept->out.count,
                             kept->in.overs - kept->out.overs};
}

/* Keep `frame`; the caller's reference stays. Returns 0 or -ENOMEM. */
int kept_push(struct kept *kept, const struct frame *frame);

/* The packet behind `place`, which moves there; NULL: there is none. Borrowed
 * until it is popped. */
const struct kept_packet *kept_next(const struct kept *kept,
                                    struct kept_place *place);

/* Forget the oldest, which must be there. */
void kept_pop(struct kept *kept);

/* Forget waves up to `wave`, as far as that is quick: no OVER, no large payload,
 * and not the last ones. */
void kept_forget(struct kept *kept, uint64_t wave);

/* Make the payload of `packet` again: `*out` is the caller's reference, NULL if
 * the packet has no payload. Returns 0 or -ENOMEM. */
int kept_payload(const struct kept_packet *packet, struct payload **out);
