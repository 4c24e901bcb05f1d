/* memory.c - see memory.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv() */
#endif
#include "stat/walk/memory.h"

#include <sys/uio.h>

bool memory_read(pid_t pid, uint64_t address, void *bytes, size_t len)
{
    struct iovec here = {bytes, len};
    struct iovec there = {(void *)(uintptr_t)address, len};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}
