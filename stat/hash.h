/* hash.h - FNV-1a, for all of stat/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes. */
#define HASH_EMPTY UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` is of, and `len` more bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
