/* memory.c - allocation that ends the program on failure. */
#include "sim/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_end(void *block)
{
    if (!block) {
        fputs("sim: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return block;
}

void *memory_new(size_t len)
{
    return or_end(calloc(1, len ? len : 1));
}

void *memory_resize(void *block, size_t len)
{
    return or_end(realloc(block, len ? len : 1));
}

char *memory_text(const char *text)
{
    return or_end(strdup(text));
}

char *memory_format(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return memory_text(text);
}

void memory_grow(void *list, size_t *room, size_t count, size_t size)
{
    void *block;

    if (count < *room)
        return;
    *room = *room ? *room * 2 : 8;
    memcpy(&block, list, sizeof(block));
    block = memory_resize(block, *room * size);
    memcpy(list, &block, sizeof(block));
}
