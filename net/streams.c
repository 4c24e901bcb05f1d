/* streams.c - a short list of stream numbers. */
#include "net/streams.h"

#include <errno.h>
#include <stdlib.h>

bool streams_have(const uint32_t *list, size_t count, uint32_t stream)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (list[i] == stream)
            return true;
    return false;
}

void streams_remove(uint32_t *list, size_t *count, uint32_t stream)
{
    size_t i;

    for (i = 0; i < *count; i++)
        if (list[i] == stream) {
            list[i] = list[--*count];
            return;
        }
}

int streams_add(uint32_t **list, size_t *count, uint32_t stream)
{
    uint32_t *grown = realloc(*list, (*count + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    grown[(*count)++] = stream;
    *list = grown;
    return 0;
}
