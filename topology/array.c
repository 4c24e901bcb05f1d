/* array.c - arrays on the heap that grow by one element at a time. */
#include "topology/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_grow(void *list, size_t count, size_t size)
{
    void *old, *grown;

    if ((count & (count - 1)) != 0)
        return 0; /* below the next power of two */
    memcpy(&old, list, sizeof(old));
    if (count > SIZE_MAX / 2 / size)
        return -ENOMEM;
    /* not reallocarray(): the searches replace realloc() (test/models/arena.c) */
    grown = realloc(old, (count ? 2 * count : 1) * size);
    if (!grown)
        return -ENOMEM;
    memcpy(list, &grown, sizeof(grown));
    return 0;
}
