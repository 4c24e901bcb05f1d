/* list.c - see list.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* reallocarray() */
#endif
#include "stat/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int list_grow(void *list, size_t count, size_t size)
{
    void *old, *grown;

    if ((count & (count - 1)) != 0)
        return 0; /* the capacity, the next power of two, is not used up */
    memcpy(&old, list, sizeof(old));
    grown = reallocarray(old, count ? 2 * count : 1, size);
    if (!grown)
        return -ENOMEM;
    memcpy(list, &grown, sizeof(grown));
    return 0;
}
