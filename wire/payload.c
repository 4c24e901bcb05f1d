/* payload.c - the bytes after a frame's header, shared by reference. */
#include "wire/payload.h"

#include <errno.h>
#include <stdlib.h>

#include "wire/limits.h"
#include "wire/spares.h"

/* A sanitizer must see every use after free: all memory is from malloc(). */
#if defined(__SANITIZE_ADDRESS__)
#define USES_SPARES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define USES_SPARES 0
#endif
#endif
#ifndef USES_SPARES
#define USES_SPARES 1
#endif

static struct spares spares;

/* The block length for a payload of `len` bytes; 0: it is from malloc(). */
static size_t block_len_of(size_t len)
{
    return USES_SPARES ? spare_len(sizeof(struct payload) + len) : 0;
}

int payload_new(struct payload **out, size_t len)
{
    struct payload *payload;
    size_t block_len;

    if (len > LIMIT_FRAME)
        return -EMSGSIZE;
    block_len = block_len_of(len);
    payload = block_len > 0 ? spares_take(&spares, block_len)
                            : malloc(sizeof(*payload) + len);
    if (!payload)
        return -ENOMEM;
    payload->refs = 1;
    payload->len = (uint32_t)len;
    *out = payload;
    return 0;
}

struct payload *payload_ref(struct payload *payload)
{
    if (payload)
        __atomic_fetch_add(&payload->refs, 1, __ATOMIC_RELAXED);
    return payload;
}

void payload_free(struct payload *payload)
{
    size_t block_len;

    if (!payload ||
        __atomic_sub_fetch(&payload->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    block_len = block_len_of(payload->len);
    if (block_len > 0)
        spares_put(&spares, payload, block_len);
    else
        free(payload);
}

void payload_age(uint64_t now_ms)
{
    spares_age(&spares, now_ms);
}

void payload_give_back(void)
{
    spares_clear(&spares);
}
