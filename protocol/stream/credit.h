/* credit.h - how much may be sent on one stream over one link.
 *
 * The receiver grants a window in bytes, which starts full. Sending takes bytes
 * from it. The receiver returns consumed bytes in portions of half a window, so
 * up to half a window may be consumed but not returned. A frame of more than
 * half a window is sent when half the window is free: more might never become
 * free (PROTOCOL 3.4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One direction at its sender. All zero: nothing may be sent yet. */
struct credit {
    uint64_t window;
    uint64_t used;
};

/* The other end grants `window` bytes. */
void credit_grant(struct credit *credit, uint32_t window);

/* Whether a frame of `len` bytes may be sent now. */
bool credit_allows(const struct credit *credit, size_t len);

/* A frame of `len` bytes was sent. */
void credit_spend(struct credit *credit, size_t len);

/* The other end gave `len` bytes back. Returns 0, or -EPROTO if that is more
 * than was spent. */
int credit_return(struct credit *credit, uint64_t len);

/* One direction at its receiver. */
struct debit {
    uint32_t window;
    uint64_t owed;
    uint64_t taken; /* received and not yet returned */
};

/* A frame of `len` bytes has arrived, under a grant of `window` bytes. Returns
 * 0, or -EPROTO if no sender that keeps to its credit could have sent it. */
int debit_take(struct debit *debit, uint32_t window, size_t len);

/* `len` bytes were consumed here. Returns how many to give back now, 0 if it
 * is not worth a frame yet. */
uint32_t debit_consume(struct debit *debit, size_t len);
