/* integers.h - random integers sent by back-ends, and their union: the workload
 * of the dissertation's chapter 8.
 *
 * Each integer is a function of its sender and its number, so that the
 * front-end can compute the expected union. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The integers are from 0 to INTEGERS_RANGE - 1. */
#define INTEGERS_RANGE (UINT32_C(1) << 27)

/* The integer that `rank` sends as number `index`. */
int32_t integers_draw(uint32_t rank, uint32_t index);

struct integers; /* opaque: a set, with one bit for each integer */

/* Returns 0 or -ENOMEM. */
int integers_new(struct integers **out);

/* Free `integers`. NULL is fine. */
void integers_free(struct integers *integers);

/* Add `count` integers. Returns 0, or -EBADMSG if one is out of range. */
int integers_add(struct integers *integers,
                 const int32_t *numbers,
                 size_t count);

/* How many integers the set has. */
size_t integers_count(const struct integers *integers);

/* How many integers of `wanted` are missing in `integers`. */
size_t integers_missing(const struct integers *integers,
                        const struct integers *wanted);
