/* image.h - the memory of a process that a fuzz target imitates: its input, from
 * IMAGE_BASE on. To be included by one file of a program. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "stat/walk/memory.h"

#define IMAGE_BASE UINT64_C(0x10000)

static const uint8_t *image;
static size_t image_len;

/* In place of that of the library, which reads processes. */
bool memory_read(pid_t pid, uint64_t address, void *bytes, size_t len)
{
    (void)pid;
    if (address < IMAGE_BASE || address - IMAGE_BASE > image_len ||
        len > image_len - (address - IMAGE_BASE))
        return false;
    memcpy(bytes, image + (address - IMAGE_BASE), len);
    return true;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Check that `text` has no control characters. */
static void must_be_text(const char *text)
{
    must(text != NULL);
    for (; *text; text++)
        must((unsigned char)*text >= ' ');
}
