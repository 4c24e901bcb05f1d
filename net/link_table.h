/* link_table.h - the links of one node, by the numbers that its machine knows.
 */
#ifndef NET_LINK_TABLE_H
#define NET_LINK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct connection;

struct link_slot {
    struct connection *connection; /* borrowed; NULL: the number is free */
    uint32_t rank;
    bool is_parent;
};

/* Caller's storage; zeros are none. */
struct link_table {
    struct link_slot *slots;
    uint32_t count; /* of slots */
};

/* Give a number to `connection`. Returns it, or UINT32_MAX: out of memory. */
uint32_t link_table_add(struct link_table *links,
                        struct connection *connection,
                        uint32_t rank,
                        bool is_parent);

/* The slot of that number, which is free again when its connection is set to
 * NULL; or NULL: there is no such link. Borrowed until link_table_add(). */
struct link_slot *link_table_at(const struct link_table *links, uint32_t link);

/* The connection of that number, or NULL: it broke meanwhile. */
struct connection *link_table_connection(const struct link_table *links,
                                         uint32_t link);

/* Free the list, not the connections. */
void link_table_fini(struct link_table *links);

#endif
