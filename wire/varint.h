/* varint.h - numbers of variable length: seven bits in each byte, the lowest
 * first; the highest bit says that another byte follows. */
#pragma once

#include <stdint.h>

/* Bytes of the longest number. */
#define VARINT_MAX 10

/* Write `value` to `out`. Returns how many bytes. */
unsigned varint_write(unsigned char out[VARINT_MAX], uint64_t value);

/* Read one number, and advance `*at`, which is before `end`, past it. Returns
 * 0; or -EBADMSG, with `*at` as it was, if it does not end before `end`, or is
 * not the shortest form of a number of 64 bits. */
int varint_read(const unsigned char **at,
                const unsigned char *end,
                uint64_t *value);

/* A signed number as an unsigned one, small if it is near 0; and back. */
static inline uint64_t varint_fold(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value < 0 ? -1 : 0);
}

static inline int64_t varint_unfold(uint64_t folded)
{
    return (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
}
