/* total.h - the total of a child, and the members in it: the message TOTAL of a
 * stream of totals (PROTOCOL 17.4). */
#pragma once

#include "wire/fifo.h"
#include "wire/ranks.h"

/* Caller's storage. All zero: the total of no member. */
struct total {
    struct ranks set;    /* the members whose part is in it */
    struct mark settled; /* by all of them; the total has what they had sent */
    uint64_t level;      /* the sender counts from the wave after it (4.5) */
    int32_t tag;         /* of the packet that follows */
    struct payload *payload; /* of the filter's `pack`; with `is_empty`: NULL */
    bool is_empty;           /* nothing was joined yet */
    bool is_doubted;         /* a member's part may be in it twice (17.5) */
};

/* Free the contents of `total`, which is then the total of no member. */
void total_fini(struct total *total);

/* Pack `total` on `stream`, of node `sender`, into a frame, whose payload is
 * the caller's. Returns 0 or -ENOMEM. */
int total_encode(const struct total *total,
                 uint32_t stream,
                 uint32_t sender,
                 struct frame *out);

/* Read a TOTAL from the network. `out` is untouched on error.
 * Returns 0, -EBADMSG or -ENOMEM. */
int total_decode(const struct frame *frame, struct total *out);
