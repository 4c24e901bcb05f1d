/* spares.h - large blocks of memory, which are kept for reuse.
 *
 * malloc() returns large blocks to the system and takes them back page by page.
 * For a stream of large packets the page faults cost more than all copying. So
 * large blocks come from the system directly. Within a bound, freed ones are
 * kept; those that were not used for a while go back to the system.
 *
 * Any thread may call at any time, also in a forked child: no call waits. While
 * another thread changes the set, a call works without it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shorter and longer blocks come from malloc(). */
#define SPARE_MIN ((size_t)64 << 10)
#define SPARE_MAX ((size_t)16 << 20)

/* How many blocks are kept, and how many bytes of them. */
#define SPARES_MAX       128
#define SPARES_BYTES_MAX ((size_t)64 << 20)

/* Time is counted in periods. Blocks shorter than SPARE_LONG are freed after one
 * without use; a new one is cheap. Others are freed after SPARE_LONG_PERIODS. Up
 * to one period more passes in both cases. */
#define SPARE_PERIOD_MS    500
#define SPARE_LONG         ((size_t)256 << 10)
#define SPARE_LONG_PERIODS 4

/* A kept block. */
struct spare {
    void *block;
    size_t len;
    uint64_t period; /* in which it was put */
};

/* Caller's storage; all zero is the empty set. */
struct spares {
    bool busy; /* a thread changes it */
    uint32_t count;
    size_t bytes;
    uint64_t period; /* counts up every SPARE_PERIOD_MS */
    uint64_t period_end_ms;
    struct spare list[SPARES_MAX]; /* the newest last */
};

/* The length of a block for `len` bytes, at most an eighth more; 0: use
 * malloc(). All blocks that are taken and put have such a length. */
size_t spare_len(size_t len);

/* A block of `block_len` bytes: the kept one that was put last, or a new one.
 * NULL: out of memory. */
void *spares_take(struct spares *spares, size_t block_len);

/* Put back a block from any set. The oldest go if there are too many. */
void spares_put(struct spares *spares, void *block, size_t block_len);

/* Free the blocks that were not used for long enough. Call this from time to
 * time. `now_ms` is of a monotonic clock. */
void spares_age(struct spares *spares, uint64_t now_ms);

/* Free all kept blocks. */
void spares_clear(struct spares *spares);
