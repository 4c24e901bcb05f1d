/* integers.h - random integers that back-ends send, and the union of them: the
 * workload of the dissertation's chapter 8.
 *
 * Each is a function of its sender and of how many that has sent, so that the
 * front-end can compute what the union must be. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* They go from 0 to INTEGERS_RANGE - 1. */
#define INTEGERS_RANGE (UINT32_C(1) << 27)

/* Number `index` of those that `rank` sends. */
int32_t integers_draw(uint32_t rank, uint32_t index);

struct integers; /* opaque: a set of them, one bit for each that there is */

/* Returns 0 or -ENOMEM. */
int integers_new(struct integers **out);

/* Free `integers`. NULL is fine. */
void integers_free(struct integers *integers);

/* Add `count` numbers. Returns 0, or -EBADMSG if one is none of ours. */
int integers_add(struct integers *integers,
                 const int32_t *numbers,
                 size_t count);

/* How many different ones there are. */
size_t integers_count(const struct integers *integers);

/* How many of `wanted` are missing in `integers`. */
size_t integers_missing(const struct integers *integers,
                        const struct integers *wanted);
