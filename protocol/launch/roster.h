/* roster.h - who is there: what READY says upwards and TABLE downwards.
 *
 * READY: the back-ends and internal nodes of a subtree that has started, and
 * what is missing of it (PROTOCOL 12.2). TABLE: the internal nodes of the
 * whole tree, when all are ready. */
#ifndef PROTOCOL_LAUNCH_ROSTER_H
#define PROTOCOL_LAUNCH_ROSTER_H

#include "wire/frame.h"
#include "wire/ranks.h"

struct roster_internal {
    uint32_t rank;
    uint32_t parent;  /* RANK_NONE at the front-end */
    uint32_t fan_out; /* children that it started */
    char *address;
};

struct roster_missing {
    uint32_t rank;
    char *host;
    char *reason;
};

/* Caller's storage; all zero is empty. */
struct roster {
    struct ranks backends;
    struct roster_internal *internals;
    uint32_t internal_count;
    struct roster_missing *missing;
    uint32_t missing_count;
};

/* Free what the roster holds; it is then empty. */
void roster_fini(struct roster *roster);

/* Add one; the texts are copied. Return 0 or -ENOMEM. */
int roster_add_internal(struct roster *roster,
                        uint32_t rank,
                        uint32_t parent,
                        uint32_t fan_out,
                        const char *address);
int roster_add_missing(struct roster *roster,
                       uint32_t rank,
                       const char *host,
                       const char *reason);

/* Where internal node `rank` listens; "" if that is not known. */
const char *roster_address(const struct roster *roster, uint32_t rank);

/* Take out whatever is said of `ranks`. */
int roster_remove(struct roster *roster, const struct ranks *ranks);

/* Put the missing in order of rank. */
void roster_sort_missing(struct roster *roster);

/* Add all of `other`. Returns 0 or -ENOMEM. */
int roster_merge(struct roster *roster, const struct roster *other);

/* Pack into a frame of `type`; the payload is the caller's. 0 or -ENOMEM. */
int roster_encode(const struct roster *roster,
                  enum frame_type type,
                  struct frame *out);

/* Read one from the network. `out` is untouched on error.
 * Returns 0, -EBADMSG or -ENOMEM. */
int roster_decode(const struct frame *frame, struct roster *out);

#endif
