/* flow.h - one direction of a simulated link: bytes on their way, in order.
 *
 * Bytes that were written together may arrive in pieces, and pieces together
 * with what was written later; never in another order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_piece {
    uint64_t at_ms; /* when it arrives; never before the piece ahead of it */
    size_t len;
};

/* Caller's storage; all zero is an empty flow. */
struct flow {
    unsigned char *bytes;
    size_t start; /* of what is still on its way */
    size_t end;
    size_t room;
    struct flow_piece *pieces;
    size_t piece_start;
    size_t piece_end;
    size_t piece_room;
    uint64_t last_ms; /* when the last piece, or the end, arrives */
    bool ended;       /* nothing more is written; the end follows */
    bool muted;       /* what is written from now on gets lost, silently */
    uint64_t held_ms; /* nothing that is written arrives before */
    uint64_t free_us; /* when all that is on its way has passed, by its rate */
};

/* Write `len` bytes that arrive at `at_ms`, or as early after as their order
 * allows. Returns that time; UINT64_MAX if they are lost. */
uint64_t flow_write(struct flow *flow,
                    const void *bytes,
                    size_t len,
                    uint64_t at_ms);

/* When `len` bytes more, written at `now_ms`, have passed a link that passes
 * `bytes_per_ms`: a number of milliseconds after they were written. */
uint64_t flow_pass_ms(struct flow *flow,
                      size_t len,
                      uint64_t now_ms,
                      uint32_t bytes_per_ms);

/* The writer has closed: the end arrives behind the bytes, not before
 * `at_ms`. Returns when; UINT64_MAX if that is lost too. */
uint64_t flow_end(struct flow *flow, uint64_t at_ms);

/* The writer has died: only the first `kept` bytes on their way arrive. */
void flow_cut(struct flow *flow, size_t kept);

/* The writer has closed the connection, and the reader writes to it: a reset
 * arrives at `at_ms`, or when the flow is no longer held. Bytes that have not
 * arrived by `now_ms` never do. Returns when; UINT64_MAX if that is lost, or the end is there. */
uint64_t flow_reset(struct flow *flow, uint64_t now_ms, uint64_t at_ms);

/* Bytes on their way. */
size_t flow_len(const struct flow *flow);

/* The bytes that have arrived by `now_ms`; borrowed until the next call. */
const unsigned char *flow_arrived(const struct flow *flow,
                                  uint64_t now_ms,
                                  size_t *len);

/* The reader has taken `len` of those. */
void flow_take(struct flow *flow, size_t len);

/* Whether the end has arrived. */
bool flow_is_over(const struct flow *flow, uint64_t now_ms);

/* When what has arrived and was not taken arrived last; 0 if nothing has. */
uint64_t flow_waiting_ms(const struct flow *flow, uint64_t now_ms);

/* Free the storage. */
void flow_fini(struct flow *flow);
