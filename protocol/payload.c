/* payload.c - the bytes behind a frame's header, shared by reference. */
#include "protocol/payload.h"

#include <errno.h>
#include <stdlib.h>

#include "protocol/limits.h"

int payload_new(struct payload **out, size_t len)
{
    struct payload *payload;

    if (len > LIMIT_FRAME)
        return -EMSGSIZE;
    payload = malloc(sizeof(*payload) + len);
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
    if (payload && __atomic_sub_fetch(&payload->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(payload);
}
