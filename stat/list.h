/* list.h - arrays that grow by one element at a time. */
#pragma once

#include <stddef.h>

/* Make room for one more element after the first `count` of an array. The
 * capacity is a power of two, so call this before adding each element; elements
 * may be removed.
 *
 * list  the address of the pointer to the array, NULL at first; it may move
 * size  of an element, in bytes
 *
 * Returns 0, or -ENOMEM with the array as it was. */
int list_grow(void *list, size_t count, size_t size);
