/* seen.h - the visited states: a set of 64-bit digests.
 *
 * Each digest has a mark of 32 bits, for the caller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Caller's storage; all zero is the empty set. */
struct seen {
    uint64_t *digests; /* 0: free */
    uint32_t *marks;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

/* Add `digest` with mark 0. Returns whether it is new. Ends the program if
 * memory is short. */
bool seen_add(struct seen *seen, uint64_t digest);

/* The mark of `digest`, which is in the set; valid until the next addition. */
uint32_t *seen_mark(struct seen *seen, uint64_t digest);

/* The sum of all digests in the set: equal sets have equal sums. */
uint64_t seen_sum(const struct seen *seen);

/* Empty the set and free what it holds. */
void seen_fini(struct seen *seen);
