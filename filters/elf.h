/* elf.h - whether a shared object is whole. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the file `path` ends before what its program headers name. The dynamic
 * linker maps that without looking at the length of the file, and an access
 * behind the end of a mapped file is a SIGBUS. Nothing is mapped here, and no
 * number in the file is trusted.
 *
 * has, needs  the bytes that the file has, and those that it must have; set if
 *             the result is true
 *
 * False too of a file that dlopen() refuses before it maps anything, and of one
 * that cannot be read. */
bool elf_is_cut(const char *path, uint64_t *has, uint64_t *needs);
