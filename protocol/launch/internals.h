/* internals.h - a compact encoding of the internal nodes of a tree, for READY
 * and TABLE (PROTOCOL 12.2).
 *
 * Nodes are in order of rank. One level of a regular tree is one run: ranks are
 * consecutive, fan-outs are equal, and consecutive parents have `each` nodes
 * each. An address is encoded as the numbers in it that differ from the
 * previous address. So a node of a cluster takes 3 to 6 bytes, however many
 * addresses it has. */
#pragma once

#include "wire/limits.h"

#include <stddef.h>
#include <stdint.h>

struct roster_internal;

/* Bytes of a node's addresses as text, with the zero byte. */
#define INTERNALS_ADDRESS (4 * LIMIT_ADDRESS + 1)

/* Write `count` nodes, which are in order of rank. Returns 0, and `*bytes` is
 * the caller's to free(); or -ENOMEM. */
int internals_write(const struct roster_internal *list,
                    uint32_t count,
                    unsigned char **bytes,
                    size_t *len);

/* Reads the nodes one after the other; caller's storage. */
struct internals_reader {
    const unsigned char *at;
    const unsigned char *end;
    uint64_t left;     /* nodes not yet read */
    uint64_t in_run;   /* of these, in the current run */
    uint64_t position; /* in that run */
    uint64_t each;
    uint64_t next_rank;
    uint64_t first_parent; /* of the run: 1 + rank; 0: no parent */
    uint64_t last_parent;
    uint32_t fan_out;
    char address[INTERNALS_ADDRESS];
};

/* Begin to read `len` bytes, which may come from the network; borrowed. Returns
 * 0, or -EBADMSG if there would be more than LIMIT_NODES nodes. */
int internals_begin(struct internals_reader *reader,
                    const unsigned char *bytes,
                    size_t len);

/* Read one node. Its address is borrowed from `reader` until the next call.
 * Returns 1; 0 after the last; or -EBADMSG. */
int internals_next(struct internals_reader *reader,
                   struct roster_internal *out);
