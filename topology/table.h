/* table.h - the topology table: a node's view of the internal nodes, which are
 * the front-end and the commnodes: the present parent of each, and whether it
 * has failed.
 *
 * It is filled once, after the launch:
 *
 *   table_new()  table_add() for each node, in any order  table_check()
 *
 * and then kept up to date by records (PROTOCOL 6.3). Its content does not
 * depend on the order of the records. Between the records of one move it may
 * contain a broken path or a circle: each function below says what it returns
 * then.
 *
 * Of back-ends, the table has only how many are children of each internal node.
 * The last record about a back-end is kept, to tell whether the next is news.
 *
 * Pure: no clock, no random, no log. */
#pragma once

#include "topology/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranks, also those of back-ends, are below this. */
#define TABLE_RANKS_MAX TOPOLOGY_NODES_MAX

/* In place of a parent: the node has none (the front-end), or has failed. */
#define TABLE_NONE   UINT32_MAX
#define TABLE_FAILED (UINT32_MAX - 1)

/* In the place of a depth: the node has no path to the front-end. */
#define TABLE_NO_PATH UINT32_MAX

struct table; /* opaque: fields are private to table.c */

/* One internal node. */
struct table_entry {
    uint32_t rank;
    uint32_t parent; /* a rank, TABLE_NONE or TABLE_FAILED */
    uint32_t incarnation;
    uint32_t fan_out;       /* its children: internal ones and back-ends */
    uint32_t backend_count; /* those of them that are back-ends */
    bool failed;
    bool awaited; /* it has joined, and no record of it has come yet; it counts
                     as failed */
};

/* The last record of one node, internal or not (PROTOCOL 6.3). */
struct table_record {
    uint32_t rank;
    uint32_t incarnation;
    uint32_t parent; /* a rank, or TABLE_FAILED */
};

/* ---- making one -------------------------------------------------------- */

/* Make an empty table; table_free() it. Returns 0 or -ENOMEM. */
int table_new(struct table **out);

/* Make the complete table of `topo`, which is of a whole network, with every
 * node at incarnation 0; table_free() it. Returns 0 or -ENOMEM. */
int table_from_topology(struct table **out, const struct topology *topo);

/* Free `table`. NULL is fine. */
void table_free(struct table *table);

/* Add one internal node to a table that is not complete yet. The values may
 * come from the network: table_check() finds what is wrong with the whole.
 *
 * parent   a rank, TABLE_NONE for the front-end (rank 0), or TABLE_FAILED; it
 *          may be added later than its children
 * fan_out  children, internal ones that have not failed and back-ends: at most
 *          TOPOLOGY_CHILDREN_MAX
 *
 * A node that has failed or has an incarnation above 0 counts as changed since
 * launch.
 *
 * Returns 0; -EBADMSG if the values are invalid, or the table is full or
 * complete; or -ENOMEM. */
int table_add(struct table *table,
              uint32_t rank,
              uint32_t parent,
              uint32_t incarnation,
              uint32_t fan_out);

/* Complete the table. Until then it is empty to the functions below.
 *
 * Returns 0; -EBADMSG if the nodes do not form a tree: no front-end, a rank
 * twice, an unknown parent, a circle, or more internal children than the
 * fan-out; or -ENOMEM. After an error only table_free() may be called. */
int table_check(struct table *table);

/* Make a complete table small, before the first record: it takes a few bytes
 * for each level of a regular tree, and 1 KiB for each 64 nodes of which one
 * has changed. A table that would not become half as large stays as it is.
 * Lookups take log(levels) steps more. Returns 0 or -ENOMEM. */
int table_pack(struct table *table);

/* ---- nodes that join (PROTOCOL 19) -------------------------------------- */

/* Add commnode `rank`, which has joined after the launch, at the end. Its first
 * record says where it is; that record's incarnation is at least 1. `address` is
 * copied. No pointer into the table is held meanwhile.
 *
 * Returns 1 if it is news, 0 if the node is known with this address; -EBADMSG if
 * the rank is TABLE_RANKS_MAX or more, that of a launched internal node, or known
 * with another address, or the table is not complete; or -ENOMEM. */
int table_join(struct table *table, uint32_t rank, const char *address);

/* Node number `index` that has joined, in the order of table_join(); its address
 * is borrowed. Returns false past the last. */
bool table_joined(const struct table *table,
                  uint32_t index,
                  uint32_t *rank,
                  const char **address);

/* The address of `rank` if that has joined, borrowed; else NULL. */
const char *table_address(const struct table *table, uint32_t rank);

/* ---- keeping it up to date --------------------------------------------- */

/* Apply one record of an internal node or a back-end. The higher incarnation
 * wins; at equal incarnations TABLE_FAILED wins. The fan-outs of internal nodes
 * are updated for internal children.
 *
 * Returns 1 if the record was news, 0 if not. A failure of the front-end is
 * never news, as it ends the network. Or, with nothing changed:
 *   -EBADMSG  the rank is TABLE_RANKS_MAX or more, the parent is no internal
 *             node or the node itself, the front-end is given a parent, or the
 *             table is not complete
 *   -ENOMEM   out of memory */
int table_record(struct table *table,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent);

/* Set how many children of internal node `rank` are back-ends. Internal
 * children are counted by their own records (PROTOCOL 6.6).
 *
 * Returns 1 if that is news, 0 if not; -EBADMSG above TOPOLOGY_CHILDREN_MAX;
 * -ENOENT if there is no such internal node; or -ENOMEM. */
int table_set_backends(struct table *table,
                       uint32_t rank,
                       uint32_t backend_count);

/* The bytes of the launched internal nodes: 12 each, unless they are packed, and
 * 4 more if ranks have gaps. Records of back-ends are not counted. */
size_t table_bytes(const struct table *table);

/* A node's announcement of its own fan-out (PROTOCOL 6.6). */
struct table_fan_out {
    uint32_t rank;
    uint32_t version; /* counted by that node, from 1 */
    uint32_t backend_count;
};

/* Apply an announcement, by table_set_backends(), if its version is higher.
 *
 * Returns 1 if it was news, 0 if not; -EBADMSG, -ENOENT as there; -ENOMEM. */
int table_fan_out(struct table *table, const struct table_fan_out *record);

/* The last announcement of `rank`, or version 0. Returns 0 or -ENOENT. */
int table_fan_out_of(const struct table *table,
                     uint32_t rank,
                     struct table_fan_out *out);

/* Iterate over the announcements since launch, as with table_changed(). */
bool table_fan_out_changed(const struct table *table,
                           uint32_t *cursor,
                           struct table_fan_out *out);

/* A hash of all that changed since launch; 0: nothing (PROTOCOL 6.1). */
uint64_t table_version(const struct table *table);

/* ---- the nodes --------------------------------------------------------- */

/* The number of internal nodes, with failed ones. */
uint32_t table_count(const struct table *table);

/* Node `index`, below table_count(). Launched nodes are in order of rank: the
 * front-end is index 0. Those that have joined follow, in the order of
 * table_join(). */
void table_at(const struct table *table,
              uint32_t index,
              struct table_entry *out);

/* Internal node `rank`. Returns 0, or -ENOENT if there is no such node. */
int table_entry(const struct table *table,
                uint32_t rank,
                struct table_entry *out);

/* Iterate over all records that changed something since launch (PROTOCOL
 * 6.4): internal nodes by index, then back-ends by rank. `*cursor` is 0 before
 * the first call. No record may be applied between two calls.
 *
 * Returns true and one record, or false after the last. */
bool table_changed(const struct table *table,
                   uint32_t *cursor,
                   struct table_record *out);

/* The last record of a node: every internal node has one, a back-end only after
 * a record. Returns 0 or -ENOENT. */
int table_latest(const struct table *table,
                 uint32_t rank,
                 struct table_record *out);

/* ---- the tree ---------------------------------------------------------- */

/* Links between internal node `rank` and the front-end. TABLE_NO_PATH if it or
 * a node on the path has failed, the path is a circle, or there is no such
 * internal node. */
uint32_t table_depth(const struct table *table, uint32_t rank);

/* The parent of internal node `rank`; of a failed node, its last known parent,
 * which may depend on the order of the records. TABLE_NONE for the front-end,
 * for a node whose parent was never known, and for any other rank. */
uint32_t table_last_parent(const struct table *table, uint32_t rank);

/* The place of an internal node in the tree. */
struct table_site {
    uint32_t rank;
    uint32_t fan_out;
    uint32_t depth; /* from the front-end; TABLE_NO_PATH: no path to it */
};

/* Write the sites of all internal nodes, by index, to `sites`, which has room
 * for table_count() of them. The subtree of `cut` counts as without a path;
 * TABLE_NONE: none. Takes one pass, and a second one over nodes that moved. */
void table_sites(const struct table *table,
                 uint32_t cut,
                 struct table_site *sites);

/* Links between the front-end and the deepest back-end that has a path; 0 if
 * there is none. Takes one pass. */
uint32_t table_height(const struct table *table);

/* Links between `rank` and the deepest back-end below it, whether or not `rank`
 * has a path; 0 for a back-end. Takes one pass; without memory for that, time
 * proportional to nodes and depth. */
uint32_t table_subtree_height(const struct table *table, uint32_t rank);

/* Whether the path from internal node `rank` upwards meets `ancestor`. A node
 * is below itself. The subtree of a failed node is still below that node; the
 * failed node is below no other node. */
bool table_is_below(const struct table *table,
                    uint32_t rank,
                    uint32_t ancestor);
