/* topology.h - the tree that a network is launched with.
 *
 * A topology comes from a file in MRNet's grammar, from a shape over a host
 * list, or from the wire, and never changes. Its nodes are in breadth-first
 * order: index 0 is the root; the children of a node are one run of indices,
 * and so are the back-ends of a balanced tree. A node's rank is its index in
 * the topology of the whole network. A subtree keeps these ranks: there rank
 * and index differ, but ranks still rise with the index.
 *
 * The front-end (rank 0) is never a back-end, even if it is the only node.
 *
 * The present parent of each node is in the topology table: topology/table.h.
 *
 * Pure but for topology_read(): no clock, no random, no log. */
#pragma once

#include <coppice/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits: nodes of a topology, children of a node, bytes of a topology file. */
#define TOPOLOGY_NODES_MAX    (UINT32_C(1) << 21)
#define TOPOLOGY_CHILDREN_MAX (UINT32_C(1) << 17)
#define TOPOLOGY_FILE_MAX     ((size_t)256 << 20)

/* The highest instance number in `host:instance`. */
#define TOPOLOGY_INSTANCE_MAX (UINT32_MAX - 1)

/* No such node: the parent of the root, the index of an unknown rank. */
#define TOPOLOGY_NONE UINT32_MAX

struct hostlist;
struct topology; /* opaque: fields are private to topology/ */

/* The numbers of children of the nodes that have children. */
struct topology_fanouts {
    uint32_t node_count; /* of such nodes; 0: the other fields are 0 too */
    uint32_t min;
    uint32_t max;
    double mean;
};

/* Read the topology file `path`: "-" is standard input.
 *
 * Returns 0, and `*out` is the caller's; or, with a sentence in `error` (which
 * may be NULL) that begins "PATH:LINE:COLUMN: " where there is such a place:
 *   -EINVAL  the file is malformed, or does not describe a tree
 *   -E2BIG   it exceeds TOPOLOGY_FILE_MAX, TOPOLOGY_NODES_MAX or
 *            TOPOLOGY_CHILDREN_MAX
 *   -ENOMEM  out of memory
 *   others   from opening and reading the file */
int topology_read(struct topology **out,
                  const char *path,
                  struct cop_error *error);

/* As topology_read(), from the `len` bytes at `text`, which need not end in a
 * zero byte and are borrowed; `name` stands for the path in errors. */
int topology_parse(struct topology **out,
                   const char *text,
                   size_t len,
                   const char *name,
                   struct cop_error *error);

/* Make a tree of a shape, and place it on hosts.
 *
 * shape   "AxBxC"   balanced: A children at the root, B at each of those ...
 *         "F^D"     balanced: fan-out F, depth D
 *         "flat:N"  N back-ends right under the front-end
 *         "k:K@N"   k-nomial: N nodes in all, front-end included; in each
 *                   round every node there, in order, gets K-1 new children
 *         "each:F"  a back-end on each host, in their order; no node has more
 *                   than F children
 * hosts   rank i runs on host i modulo their number; NULL: "localhost".
 *         Instance numbers count up from 0 for each name. With each:F the
 *         front-end is on this host, and commnodes on the first host of those
 *         below them, or on those of `commnode_hosts` in turn
 * commnode_hosts  for each:F, or NULL
 *
 * Returns 0, and `*out` is the caller's; or with a sentence in `error`
 * -EINVAL (malformed), -E2BIG (above a limit) or -ENOMEM. */
int topology_from_shape(struct topology **out,
                        const char *shape,
                        const struct hostlist *hosts,
                        const struct hostlist *commnode_hosts,
                        struct cop_error *error);

/* Copy the part of `topo` from `rank` downwards. Ranks stay; index 0 of the
 * copy is `rank`, and its parent is TOPOLOGY_NONE.
 *
 * Returns 0, and `*out` is the caller's; -ENOENT if there is no such rank, or
 * -ENOMEM. */
int topology_subtree(struct topology **out,
                     const struct topology *topo,
                     uint32_t rank);

/* Free `topo`. NULL is fine. */
void topology_free(struct topology *topo);

/* ---- the nodes, by index: `index` is below topology_count() ------------ */

/* The number of nodes: 1 or more. */
uint32_t topology_count(const struct topology *topo);

/* The index of the node `rank`, or TOPOLOGY_NONE. Takes log(count) steps, or
 * one step if ranks and indices are the same. */
uint32_t topology_index(const struct topology *topo, uint32_t rank);

/* The rank of a node. */
uint32_t topology_rank(const struct topology *topo, uint32_t index);

/* The host of a node: 1 to HOSTNAME_MAX bytes. Borrowed from `topo`. */
const char *topology_host(const struct topology *topo, uint32_t index);

/* A node's instance number: unique among the nodes of its host. */
uint32_t topology_instance(const struct topology *topo, uint32_t index);

/* The index of a node's parent; TOPOLOGY_NONE for the root. */
uint32_t topology_parent(const struct topology *topo, uint32_t index);

/* The number of children of a node. */
uint32_t topology_child_count(const struct topology *topo, uint32_t index);

/* The index of child `nth` of a node, `nth` below topology_child_count();
 * it is that of child 0 plus `nth`. */
uint32_t topology_child(const struct topology *topo,
                        uint32_t index,
                        uint32_t nth);

/* Whether a node is a back-end: without children, and not rank 0. */
bool topology_is_leaf(const struct topology *topo, uint32_t index);

/* Links between a node and the root of `topo`: 0 for the root. */
uint32_t topology_depth(const struct topology *topo, uint32_t index);

/* ---- the whole tree ---------------------------------------------------- */

/* The depth of the deepest node: 0 if there is only one node. */
uint32_t topology_height(const struct topology *topo);

/* The number of back-ends. */
uint32_t topology_leaf_count(const struct topology *topo);

/* The fan-outs of the nodes that have children. */
void topology_fanouts(const struct topology *topo,
                      struct topology_fanouts *out);

/* Write `topo` as a topology file, in MRNet's grammar. Parsing it gives an
 * equal tree, with the same ranks where `topo` is a whole network's.
 *
 * Returns 0, and `*text` is the caller's to free(): `*len` bytes and a zero
 * byte; or -ENOMEM. `len` may be NULL. */
int topology_text(const struct topology *topo, char **text, size_t *len);

/* ---- the wire form: for a child that a parent starts ------------------- */

/* Write `topo` with its ranks for topology_decode(), as lines of text whose
 * format is private. Results as topology_text(). */
int topology_encode(const struct topology *topo, char **text, size_t *len);

/* Read what topology_encode() wrote: exactly the `len` bytes at `text`, which
 * need not end in a zero byte. The bytes may come from the network: everything
 * is checked, and memory stays proportional to `len`. Only one thing is not
 * checked: that no two nodes have the same host and instance. Ranks are unique.
 *
 * Returns 0, and `*out` is the caller's; or -EPROTO if the bytes are not a
 * topology; or -ENOMEM. */
int topology_decode(struct topology **out, const char *text, size_t len);
