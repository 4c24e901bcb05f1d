/* links.h - the links that were lost, as their orphans have reported: what a
 * lossy sync names (PROTOCOL 10.6). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct links_entry {
    uint32_t child;
    uint32_t parent;
};

/* Caller's storage; all zero is empty. The oldest are forgotten above a
 * limit. */
struct links {
    struct links_entry *list;
    size_t count;
    uint64_t forgotten;
};

/* Free what is noted. */
void links_fini(struct links *links);

/* Note that `child` has lost its link to `parent`. Returns 0 or -ENOMEM. */
int links_add(struct links *links, uint32_t child, uint32_t parent);

/* How many were ever noted: a place to go on from. */
uint64_t links_place(const struct links *links);

/* Write those noted since `place` as "7-3, 8-3", child first, to the `len`
 * bytes at `text`; "" if there are none. What does not fit is left out, and
 * the text says so. */
void links_write(const struct links *links,
                 uint64_t place,
                 char *text,
                 size_t len);
