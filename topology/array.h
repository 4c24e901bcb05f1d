/* array.h - arrays on the heap that grow.
 *
 * `list` is the address of the pointer to the array, which is NULL at first; the
 * array may move. `size` is that of one element, in bytes. On error, -ENOMEM, the
 * array is as it was. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Make room for exactly `count` elements, at least one. Returns 0 or -ENOMEM. */
int array_resize(void *list, size_t count, size_t size);

/* Make room for one more element after the first `count` of an array.
 *
 * The room is not stored. It is a power of two that is at least `count`, so
 * elements must be added through this function; elements may be removed freely.
 *
 * Returns 0 or -ENOMEM. */
int array_grow(void *list, size_t count, size_t size);

/* Make an array of `*count` elements hold element `index`: `*count` is doubled
 * until it does, from 2 on. The new elements are all zero. Returns 0 or -ENOMEM. */
int array_reach(void *list, uint32_t *count, uint32_t index, size_t size);
