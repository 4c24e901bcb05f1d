/* array.h - arrays on the heap that grow by one element at a time. */
#pragma once

#include <stddef.h>

/* Make room for one more element behind the first `count` of an array.
 *
 * The room is not stored: it is a power of two that is at least `count`. So each
 * element must be added through here; elements may be removed freely.
 *
 * list   the address of the pointer to the array, which was NULL at first; the
 *        array may move
 * size   bytes of one element
 *
 * Returns 0, or -ENOMEM with the array as it was. */
int array_grow(void *list, size_t count, size_t size);
