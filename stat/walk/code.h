/* code.h - the functions of a Python program, as its code objects describe
 * them. All that is read comes from a process that may be broken: it is bounded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/table.h"
#include "stat/tree/role.h"
#include "stat/walk/layout.h"

/* A function; one entry for each code object. */
struct code {
    UT_hash_handle hh;
    uint64_t address;
    char *function;
    char *file;
    enum role role;
    uint32_t first_line;
    uint8_t *lines; /* NULL: not known */
    size_t lines_size;
};

/* The functions that were read of a process; the caller sets the first two. */
struct codes {
    pid_t pid;
    const struct layout *layout; /* borrowed */
    size_t lines_size;           /* of all line tables together */
    struct code *table;
};

/* Free what `codes` holds. */
void codes_fini(struct codes *codes);

/* The function whose code object is at `address`; NULL if there is none. It is
 * valid as long as `codes`. */
const struct code *codes_find(struct codes *codes, uint64_t address);

/* The line of the instruction `offset` bytes from the beginning of the code; 0:
 * not known. */
uint32_t code_line(const struct code *code, int64_t offset);

/* Read the text object at `address`. Of a long text the end is read, the part
 * of a path that matters. Returns a copy, or NULL: no text, or no memory. */
char *code_text(const struct codes *codes, uint64_t address);
