/* memory.h - allocation for the simulator's own data.
 *
 * The simulator is a test instrument: without memory for its own data it prints
 * a message and ends the program. The machine's memory is not allocated
 * here. */
#pragma once

#include <stddef.h>

/* As calloc(1, len) and realloc(); never NULL. */
void *memory_new(size_t len);
void *memory_resize(void *block, size_t len);

/* Copy `text`; free() it. */
char *memory_text(const char *text);

/* Format a text as printf(), of at most 255 bytes; free() it. */
char *memory_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Make room for one more element of `size` bytes in `*list`, which has `count`
 * elements and room for `*room`. */
void memory_grow(void *list, size_t *room, size_t count, size_t size);
