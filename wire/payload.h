/* payload.h - the bytes behind a frame's header, shared by reference.
 *
 * Written once by whoever made it, read-only from then on: a multicast and a
 * forwarded packet share one (PROTOCOL 2.3). The count of references is atomic:
 * an application may free in one thread what the network still sends in
 * another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct payload {
    uint32_t refs;
    uint32_t len; /* at most LIMIT_FRAME */
    unsigned char bytes[];
};

/* Make a payload of `len` bytes, which the caller fills before anybody else
 * sees it. Returns 0, -EMSGSIZE above LIMIT_FRAME, or -ENOMEM. */
int payload_new(struct payload **out, size_t len);

/* Take one more reference. NULL is fine. Returns `payload`. */
struct payload *payload_ref(struct payload *payload);

/* Give one reference back; the last one frees. NULL is fine. Memory of large
 * payloads is kept for the next ones (spares.h). */
void payload_free(struct payload *payload);

/* Free kept memory that was not used for a while. `now_ms` is of a monotonic
 * clock. Each driver calls this about once a heartbeat. */
void payload_age(uint64_t now_ms);

/* Free all kept memory. */
void payload_give_back(void);
