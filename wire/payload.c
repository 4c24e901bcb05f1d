/* payload.c - the bytes behind a frame's header, shared by reference. */
#include "wire/payload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "wire/limits.h"

/* malloc() gives large blocks back to the system and takes them from it
 * again, page by page: for a stream of 1 MiB arrays that costs more than all
 * copying. So a few of them are kept, in steps of one length, by the process:
 * who frees is mostly not the thread that makes. A sanitizer is to see every
 * use after free, so none are kept for it. */
#define SPARE_STEP ((size_t)64 << 10)
#define SPARE_MAX  ((size_t)2 << 20)
#if defined(__SANITIZE_ADDRESS__)
#define SPARES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPARES 0
#endif
#endif
#ifndef SPARES
#define SPARES 8
#endif

/* Blocks that nobody uses; NULL: none. Taken and put by exchange alone. */
static struct payload *spares[SPARES + 1];

/* Which step a block of `len` payload bytes is of; 0: it is not kept. */
static size_t payload_step(size_t len)
{
    size_t total = sizeof(struct payload) + len;

    if (total < SPARE_STEP || total > SPARE_MAX)
        return 0;
    return (total + SPARE_STEP - 1) / SPARE_STEP;
}

/* Keep `payload` for later. False if there is no room. */
static bool spare_put(struct payload *payload)
{
    struct payload *none;

    for (int i = 0; i < SPARES; i++) {
        none = NULL;
        if (__atomic_compare_exchange_n(&spares[i], &none, payload, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* A kept block of `wanted` steps, or NULL. */
static struct payload *spare_take(size_t wanted)
{
    struct payload *payload;

    for (int i = 0; i < SPARES; i++) {
        if (!__atomic_load_n(&spares[i], __ATOMIC_RELAXED))
            continue;
        payload = __atomic_exchange_n(&spares[i], NULL, __ATOMIC_ACQUIRE);
        if (!payload)
            continue;
        if (payload_step(payload->len) == wanted)
            return payload;
        /* Other lengths are in use now: let this one go. */
        free(payload);
    }
    return NULL;
}

int payload_new(struct payload **out, size_t len)
{
    struct payload *payload = NULL;
    size_t steps = payload_step(len);

    if (len > LIMIT_FRAME)
        return -EMSGSIZE;
    if (steps > 0)
        payload = spare_take(steps);
    if (!payload)
        payload =
            malloc(steps > 0 ? steps * SPARE_STEP : sizeof(*payload) + len);
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
    if (!payload ||
        __atomic_sub_fetch(&payload->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (payload_step(payload->len) == 0 || !spare_put(payload))
        free(payload);
}
