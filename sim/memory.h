/* memory.h - allocation for the simulator's own books.
 *
 * The simulator is a test instrument: when it has no memory for its own
 * books it says so and ends the program. What the machine allocates is not
 * allocated here. */
#pragma once

#include <stddef.h>

/* As calloc(1, len) and realloc(); never NULL. */
void *memory_new(size_t len);
void *memory_resize(void *block, size_t len);

/* A copy of `text`, to be freed. */
char *memory_text(const char *text);

/* A text as printf() has it, at most 255 bytes, to be freed. */
char *memory_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Make room for one more element of `size` bytes in `*list`, which holds
 * `count` and has room for `*room`. */
void memory_grow(void *list, size_t *room, size_t count, size_t size);
