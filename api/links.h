/* links.h - the lost links that orphans have reported: a lossy sync names them
 * (PROTOCOL 10.6). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/ranks.h"

struct links_entry {
    uint32_t child;
    uint32_t parent;
};

/* Caller's storage; all zero is empty. Above a limit the oldest links are
 * forgotten. */
struct links {
    struct links_entry *list;
    size_t count;
    uint64_t forgotten;
};

/* Free the list. */
void links_fini(struct links *links);

/* Record that `child` has lost its link to `parent`. Returns 0 or -ENOMEM. */
int links_add(struct links *links, uint32_t child, uint32_t parent);

/* How many links were ever recorded: the `place` for links_write(). */
uint64_t links_place(const struct links *links);

/* Write the links that `children` have lost since `place` as "7-3, 8-3", child
 * first, to the `len` bytes at `text`. Of a child without a link since then,
 * write the last one, or "7-?". If not all fit, the text says so. */
void links_write(const struct links *links,
                 uint64_t place,
                 const struct ranks *children,
                 char *text,
                 size_t len);
