/* table.h - uthash for programs that survive a lack of memory: adding an item
 * then leaves its `hh.tbl` NULL. */
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
