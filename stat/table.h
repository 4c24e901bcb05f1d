/* table.h - hash tables of uthash in which a lack of memory is no end: a new
 * item has no `hh.tbl` then. */
#pragma once

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Free a table and its items, each of which is one block of memory. */
#define TABLE_FREE(head)                                                       \
    do {                                                                       \
        while (head) {                                                         \
            void *table_item_ = (head);                                        \
            HASH_DEL(head, head);                                              \
            free(table_item_);                                                 \
        }                                                                      \
    } while (0)
