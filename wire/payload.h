/* payload.h - the bytes after a frame's header, shared by reference.
 *
 * Written once by its creator, then read-only: the copies of a multicast or
 * forwarded packet share one payload (PROTOCOL 2.3). The reference count is
 * atomic: an application may free a packet in one thread while the network
 * still sends it in another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct payload {
    uint32_t refs;
    uint32_t len; /* at most LIMIT_FRAME */
    unsigned char bytes[];
};

/* Make a payload of `len` bytes, which the caller fills before it shares the
 * payload. Returns 0, -EMSGSIZE above LIMIT_FRAME, or -ENOMEM. */
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
