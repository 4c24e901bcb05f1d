/* array.c - arrays on the heap that grow. */
#include "topology/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_resize(void *list, size_t count, size_t size)
{
    void *old, *grown;

    memcpy(&old, list, sizeof(old));
    if (count > SIZE_MAX / size)
        return -ENOMEM;
    /* not reallocarray(): the searches replace realloc() (test/models/arena.c) */
    grown = realloc(old, count * size);
    if (!grown)
        return -ENOMEM;
    memcpy(list, &grown, sizeof(grown));
    return 0;
}

int array_grow(void *list, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return 0; /* below the next power of two */
    if (count > SIZE_MAX / 2)
        return -ENOMEM;
    return array_resize(list, count ? 2 * count : 1, size);
}

int array_reach(void *list, uint32_t *count, uint32_t index, size_t size)
{
    size_t room = *count ? *count : 2;
    char *grown;

    if (index < *count)
        return 0;
    while (room <= index)
        room *= 2;
    if (array_resize(list, room, size) < 0)
        return -ENOMEM;
    memcpy(&grown, list, sizeof(grown));
    memset(grown + *count * size, 0, (room - *count) * size);
    *count = (uint32_t)room;
    return 0;
}
