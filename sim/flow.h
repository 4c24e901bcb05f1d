/* flow.h - one direction of a simulated link: bytes in flight, in order.
 *
 * Bytes written together may arrive in pieces, and a piece may arrive together
 * with later bytes; the order never changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_piece {
    uint64_t at_ms; /* when it arrives; never before the previous piece */
    size_t len;
};

/* Caller's storage; all zero is an empty flow. */
struct flow {
    unsigned char *bytes;
    size_t start; /* of the bytes in flight */
    size_t end;
    size_t room;
    struct flow_piece *pieces;
    size_t piece_start;
    size_t piece_end;
    size_t piece_room;
    uint64_t last_ms; /* when the last piece, or the end, arrives */
    bool ended;       /* closed by the writer; the end follows */
    bool muted;       /* later writes are lost silently */
    uint64_t held_ms; /* later writes arrive no earlier than this */
    uint64_t free_us; /* when all bytes in flight have passed, by its rate */
};

/* Write `len` bytes that arrive at `at_ms`, or as soon after it as their order
 * allows. Returns that time; UINT64_MAX if the bytes are lost. */
uint64_t flow_write(struct flow *flow,
                    const void *bytes,
                    size_t len,
                    uint64_t at_ms);

/* How many milliseconds after `now_ms` another `len` bytes, written at
 * `now_ms`, have passed a link with the rate `bytes_per_ms`. */
uint64_t flow_pass_ms(struct flow *flow,
                      size_t len,
                      uint64_t now_ms,
                      uint32_t bytes_per_ms);

/* The writer has closed: the end arrives after the bytes, not before `at_ms`.
 * Returns when; UINT64_MAX if the end is lost. */
uint64_t flow_end(struct flow *flow, uint64_t at_ms);

/* The writer has died: only the first `kept` bytes in flight arrive. */
void flow_cut(struct flow *flow, size_t kept);

/* The writer has closed the connection, and the reader writes to it: a reset
 * arrives at `at_ms`, or when the flow is no longer held. Bytes not arrived by
 * `now_ms` are lost. Returns when; UINT64_MAX if the reset is lost, or the
 * end has arrived. */
uint64_t flow_reset(struct flow *flow, uint64_t now_ms, uint64_t at_ms);

/* How many bytes are in flight. */
size_t flow_len(const struct flow *flow);

/* The bytes that have arrived by `now_ms`; borrowed until the next call. */
const unsigned char *flow_arrived(const struct flow *flow,
                                  uint64_t now_ms,
                                  size_t *len);

/* The reader has taken `len` of the arrived bytes. */
void flow_take(struct flow *flow, size_t len);

/* Whether the end has arrived. */
bool flow_is_over(const struct flow *flow, uint64_t now_ms);

/* When the last of the arrived bytes that were not taken arrived; 0: none. */
uint64_t flow_waiting_ms(const struct flow *flow, uint64_t now_ms);

/* Free the storage. */
void flow_fini(struct flow *flow);
