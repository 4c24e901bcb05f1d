/* memory.h - the memory of another process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read `len` bytes of `pid` at `address`. Returns whether all could be read. */
bool memory_read(pid_t pid, uint64_t address, void *bytes, size_t len);

/* The pointer that `pid` has at `address`; 0 if it cannot be read. */
static inline uint64_t memory_pointer(pid_t pid, uint64_t address)
{
    uint64_t pointer;

    return memory_read(pid, address, &pointer, sizeof(pointer)) ? pointer : 0;
}
