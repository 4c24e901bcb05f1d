/* table.h - what a node believes of the internal nodes: the front-end and the
 * commnodes, who the parent of each is now, and who has failed.
 *
 * It is filled once, as the launch found the tree:
 *
 *   table_new()  table_add() for each node, in any order  table_check()
 *
 * and then kept up to date by records (PROTOCOL 6.3). What it holds after some
 * records does not depend on the order in which they came. Between records of
 * one move it may show a path that is broken, or one that runs in a circle:
 * the functions below say what they make of it.
 *
 * Back-ends are not in the table, only how many each internal node has. Of
 * those that a record named it keeps that record, so that the next one is
 * known to be news or not.
 *
 * Pure: no clock, no random, no log. */
#ifndef TOPOLOGY_TABLE_H
#define TOPOLOGY_TABLE_H

#include "topology/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranks are below this, back-ends' too. */
#define TABLE_RANKS_MAX TOPOLOGY_NODES_MAX

/* In the place of a parent: there is none (the front-end), or the node has
 * failed. */
#define TABLE_NONE   UINT32_MAX
#define TABLE_FAILED (UINT32_MAX - 1)

/* A depth where no path leads to. */
#define TABLE_NO_PATH UINT32_MAX

struct table; /* opaque: fields are private to table.c */

/* One internal node, as it is believed to be. */
struct table_entry {
    uint32_t rank;
    uint32_t parent; /* a rank, TABLE_NONE or TABLE_FAILED */
    uint32_t incarnation;
    uint32_t fan_out;       /* its children: internal ones and back-ends */
    uint32_t backend_count; /* those of them that are back-ends */
    bool failed;
};

/* What is known of one node, internal or not (PROTOCOL 6.3). */
struct table_record {
    uint32_t rank;
    uint32_t incarnation;
    uint32_t parent; /* a rank, or TABLE_FAILED */
};

/* ---- making one -------------------------------------------------------- */

/* Make an empty table; table_free() it. Returns 0 or -ENOMEM. */
int table_new(struct table **out);

/* Make the table of `topo`, a whole network's, complete, with every node at
 * incarnation 0; table_free() it. Returns 0 or -ENOMEM. */
int table_from_topology(struct table **out, const struct topology *topo);

/* Free `table`. NULL is fine. */
void table_free(struct table *table);

/* Add one internal node to a table that is not complete yet. The values may
 * come from anybody; what only the whole shows, table_check() finds.
 *
 * parent   a rank, TABLE_NONE for the front-end (rank 0), or TABLE_FAILED; it
 *          may be added later than its children
 * fan_out  children, internal ones that have not failed and back-ends: at most
 *          TOPOLOGY_CHILDREN_MAX
 *
 * A node that has failed or has an incarnation above 0 counts as changed since
 * launch.
 *
 * Returns 0; -EBADMSG if no node can be so, the table is full or complete; or
 * -ENOMEM. */
int table_add(struct table *table,
              uint32_t rank,
              uint32_t parent,
              uint32_t incarnation,
              uint32_t fan_out);

/* Complete the table. Until then it is empty to the functions below.
 *
 * Returns 0; -EBADMSG if what was added is no tree's table: no front-end, a
 * rank twice, a parent that is none of them, a circle, or more internal
 * children than the fan-out says; or -ENOMEM. After an error it is only good
 * for table_free(). */
int table_check(struct table *table);

/* ---- keeping it up to date --------------------------------------------- */

/* Take one record, of an internal node or a back-end. The higher incarnation
 * wins, at equal incarnation TABLE_FAILED does. Fan-outs of internal nodes
 * follow as far as internal children go.
 *
 * Returns 1 if it was news, 0 if not. Nothing is ever news of the front-end's
 * failure, which ends a network. Or, with nothing changed:
 *   -EBADMSG  the rank is TABLE_RANKS_MAX or more, the parent is no internal
 *             node or the node itself, the front-end is given a parent, or the
 *             table is not complete
 *   -ENOMEM   out of memory; only for back-ends */
int table_record(struct table *table,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent);

/* Say how many children of internal node `rank` are back-ends. It is not the
 * whole fan-out, so that it cannot count an internal child whose own record
 * comes sooner or later (PROTOCOL 6.6).
 *
 * Returns 1 if that is news, 0 if not; -EBADMSG above TOPOLOGY_CHILDREN_MAX;
 * -ENOENT if there is no such internal node. */
int table_set_backends(struct table *table,
                       uint32_t rank,
                       uint32_t backend_count);

/* The bytes that it keeps of internal nodes: 12 each, and 4 more where ranks
 * have gaps. (Records of back-ends are apart.) */
size_t table_bytes(const struct table *table);

/* What a node said of its own fan-out (PROTOCOL 6.6). */
struct table_fan_out {
    uint32_t rank;
    uint32_t version; /* which it counts itself, from 1 */
    uint32_t backend_count;
};

/* Take such a record: table_set_backends(), if its version is above the last.
 *
 * Returns 1 if it was news, 0 if not; -EBADMSG, -ENOENT as there; -ENOMEM. */
int table_fan_out(struct table *table, const struct table_fan_out *record);

/* What `rank` said last, with version 0 if it has said nothing since launch.
 * Returns 0 or -ENOENT. */
int table_fan_out_of(const struct table *table,
                     uint32_t rank,
                     struct table_fan_out *out);

/* Iterate over what was said since launch, as with table_changed(). */
bool table_fan_out_changed(const struct table *table,
                           uint32_t *cursor,
                           struct table_fan_out *out);

/* A number that is the same in two tables that hold the same records, in
 * whatever order these came, and, but for chance, in no others; 0 if none came
 * since launch (PROTOCOL 6.1). */
uint64_t table_version(const struct table *table);

/* ---- the nodes --------------------------------------------------------- */

/* How many internal nodes, failed ones included. */
uint32_t table_count(const struct table *table);

/* Node `index`, below table_count(); they stand by rank, the front-end is
 * index 0. */
void table_at(const struct table *table,
              uint32_t index,
              struct table_entry *out);

/* Internal node `rank`. Returns 0, or -ENOENT if there is no such one. */
int table_entry(const struct table *table,
                uint32_t rank,
                struct table_entry *out);

/* Iterate over all records that changed something since launch (PROTOCOL
 * 6.4): internal nodes by rank, then back-ends by rank. `*cursor` is 0 for the
 * first call, and then left alone; no record is taken meanwhile.
 *
 * Returns true and one record, or false after the last. */
bool table_changed(const struct table *table,
                   uint32_t *cursor,
                   struct table_record *out);

/* The last record of a node: of an internal one always, of a back-end where
 * one came. Returns 0 or -ENOENT. */
int table_latest(const struct table *table,
                 uint32_t rank,
                 struct table_record *out);

/* ---- the tree ---------------------------------------------------------- */

/* Links between internal node `rank` and the front-end. TABLE_NO_PATH if it or
 * a node on the path has failed, the path is a circle, or there is no such
 * internal node. */
uint32_t table_depth(const struct table *table, uint32_t rank);

/* The parent of internal node `rank`; of a failed one, the parent that it had
 * as far as this table knows, which may depend on what records came. TABLE_NONE
 * for the front-end, for one whose parent was never known, and for any other
 * rank. */
uint32_t table_last_parent(const struct table *table, uint32_t rank);

/* Where an internal node stands. */
struct table_site {
    uint32_t rank;
    uint32_t fan_out;
    uint32_t depth; /* from the front-end; TABLE_NO_PATH: no path to it */
};

/* Write the sites of all internal nodes, by index, to `sites`, which has room
 * for table_count() of them. The subtree of `cut` (TABLE_NONE: no such cut)
 * has no path. One pass, and a second one over nodes that moved. */
void table_sites(const struct table *table,
                 uint32_t cut,
                 struct table_site *sites);

/* Links between the front-end and the deepest back-end that has a path now; 0
 * where there is none. One pass. */
uint32_t table_height(const struct table *table);

/* Links between `rank` and the deepest back-end below it, whatever is above
 * it: 0 for a back-end. One pass, as long as there is memory for it. */
uint32_t table_subtree_height(const struct table *table, uint32_t rank);

/* Whether the path from internal node `rank` upwards meets `ancestor`. A node
 * is below itself; what is under a failed node is below it still, the failed
 * node itself is below nothing else. */
bool table_is_below(const struct table *table,
                    uint32_t rank,
                    uint32_t ancestor);

#endif
