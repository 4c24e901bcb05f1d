/* varint.c - numbers of variable length. */
#include "wire/varint.h"

#include <errno.h>

#define VARINT_BITS 7
#define VARINT_MORE 0x80u

unsigned varint_write(unsigned char out[VARINT_MAX], uint64_t value)
{
    unsigned count = 0;

    for (; value >= VARINT_MORE; value >>= VARINT_BITS)
        out[count++] = (unsigned char)(value | VARINT_MORE);
    out[count++] = (unsigned char)value;
    return count;
}

int varint_read(const unsigned char **at,
                const unsigned char *end,
                uint64_t *value)
{
    const unsigned char *byte = *at;
    uint64_t read = 0;
    unsigned shift = 0;

    for (; byte < end && *byte & VARINT_MORE; byte++) {
        if (shift + VARINT_BITS >= 64)
            return -EBADMSG;
        read |= (uint64_t)(*byte & ~VARINT_MORE) << shift;
        shift += VARINT_BITS;
    }
    if (byte == end || (shift > 0 && *byte == 0) ||
        (shift == VARINT_BITS * (VARINT_MAX - 1) && *byte > 1))
        return -EBADMSG;
    *value = read | (uint64_t)*byte << shift;
    *at = byte + 1;
    return 0;
}
