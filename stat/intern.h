/* intern.h - texts of which there is one copy each. */
#pragma once

#include <stdint.h>

#include "stat/table.h"

/* One text. */
struct interned {
    UT_hash_handle hh;
    uint32_t mark; /* the user's */
    char text[];
};

/* Find the one copy of `text` in the table, which TABLE_FREE() frees; a new one
 * has the mark 0. NULL: no memory. */
struct interned *intern(struct interned **table, const char *text);
