/* table.c - the internal nodes by rank, and the last records of back-ends.
 *
 * Parents and records refer to nodes by index. If ranks are indices, as in
 * balanced trees, the array of ranks is not kept. */
#include "topology/table.h"

#include "topology/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Records of back-ends are kept in pages of this many ranks, made as needed. */
#define PAGE_RANKS 512
#define PAGE_COUNT (TABLE_RANKS_MAX / PAGE_RANKS)

/* Instead of a depth, while depths are computed: on the path that is being
 * walked; not visited yet. */
#define WALKED (UINT32_MAX - 1)
#define FRESH  (UINT32_MAX - 2)

/* An internal node, for the choice of an adopter (PROTOCOL 7.1). `inner` counts
 * its internal children that have not failed. A failed node keeps its last
 * parent. The front-end, and a node whose parent was never known, are their own
 * parents. */
struct node {
    uint32_t incarnation;
    uint64_t parent : 21;
    uint64_t inner : 21;
    uint64_t backends : 18;
    uint64_t failed : 1;
    uint64_t changed : 1;
} __attribute__((packed, aligned(4)));

_Static_assert(sizeof(struct node) <= 12, "PROTOCOL 7.1: 12 bytes a node");
_Static_assert(TOPOLOGY_NODES_MAX <= UINT32_C(1) << 21, "indices: 21 bits");
_Static_assert(TOPOLOGY_CHILDREN_MAX < UINT32_C(1) << 18, "fan-outs: 18 bits");

/* Nodes that differ in their parents only: each parent has `each` of them, and
 * the parents follow each other. */
struct run {
    uint32_t index;  /* of the first node */
    uint32_t parent; /* its parent's index; its own: it has none */
    uint32_t each;
    uint32_t inner;
    uint32_t backends;
};

/* Nodes of a packed table of which one has changed, and their fan-outs'
 * versions. */
#define LEAF_NODES 64

struct leaf {
    struct node nodes[LEAF_NODES];
    uint32_t versions[LEAF_NODES];
};

/* The last record of one back-end. */
struct backend {
    uint32_t incarnation;
    uint32_t parent : 21;
    uint32_t failed : 1;
    uint32_t known : 1;
};

struct page {
    struct backend backends[PAGE_RANKS];
};

/* A node that was added to a table that is not complete. */
struct draft {
    uint32_t rank;
    uint32_t parent;
    uint32_t incarnation;
    uint32_t fan_out;
};

struct table {
    uint32_t count;     /* 0 until complete */
    struct node *nodes; /* NULL: the table is packed */
    uint32_t *versions; /* of fan-outs; NULL: none was announced, or packed */
    struct run *runs;   /* packed: the nodes as they were then */
    uint32_t run_count;
    struct leaf **leaves; /* packed: by index / LEAF_NODES, NULL where none */
    uint32_t *ranks;      /* ascending; NULL: rank and index are the same */
    struct page **pages;  /* PAGE_COUNT, or NULL: no record of a back-end yet */
    uint64_t digest;      /* of all records since launch: table_version() */
    struct draft *drafts;
    uint32_t draft_count;
};

/* The kinds of records in the digest. */
enum table_kind {
    KIND_RECORD = 1,
    KIND_FAN_OUT
};

int table_new(struct table **out)
{
    struct table *table = calloc(1, sizeof *table);

    if (!table)
        return -ENOMEM;
    *out = table;
    return 0;
}

static uint32_t leaf_count(const struct table *table)
{
    return (table->count + LEAF_NODES - 1) / LEAF_NODES;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; table->pages && i < PAGE_COUNT; i++)
        free(table->pages[i]);
    free(table->pages);
    for (uint32_t i = 0; table->leaves && i < leaf_count(table); i++)
        free(table->leaves[i]);
    free(table->leaves);
    free(table->runs);
    free(table->nodes);
    free(table->versions);
    free(table->ranks);
    free(table->drafts);
    free(table);
}

int table_add(struct table *table,
              uint32_t rank,
              uint32_t parent,
              uint32_t incarnation,
              uint32_t fan_out)
{
    if (table->count > 0 || table->draft_count == TOPOLOGY_NODES_MAX ||
        rank >= TABLE_RANKS_MAX || fan_out > TOPOLOGY_CHILDREN_MAX)
        return -EBADMSG;
    if ((rank == 0) != (parent == TABLE_NONE) || parent == rank)
        return -EBADMSG;
    if (array_grow(&table->drafts, table->draft_count, sizeof *table->drafts) <
        0)
        return -ENOMEM;
    table->drafts[table->draft_count++] =
        (struct draft){rank, parent, incarnation, fan_out};
    return 0;
}

static int draft_compare(const void *a, const void *b)
{
    const struct draft *left = a;
    const struct draft *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* The index of internal node `rank`, or TABLE_NONE. */
static uint32_t find_index(const struct table *table, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = table->count;

    if (!table->ranks)
        return rank < table->count ? rank : TABLE_NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (table->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->ranks[low] == rank ? low : TABLE_NONE;
}

static uint32_t rank_of(const struct table *table, uint32_t index)
{
    return table->ranks ? table->ranks[index] : index;
}

/* The leaf of node `index` of a packed table; NULL: there is none. */
static struct leaf *leaf_of(const struct table *table, uint32_t index)
{
    return table->leaves ? table->leaves[index / LEAF_NODES] : NULL;
}

/* A node of a packed table, as it was when that was packed. */
static struct node packed_at(const struct table *table, uint32_t index)
{
    uint32_t low = 0, high = table->run_count;
    const struct run *run;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (table->runs[middle].index <= index)
            low = middle;
        else
            high = middle;
    }
    run = &table->runs[low];
    return (struct node){
        .parent = run->parent + (index - run->index) / run->each,
        .inner = run->inner,
        .backends = run->backends,
    };
}

static struct node node_at(const struct table *table, uint32_t index)
{
    const struct leaf *leaf;

    if (table->nodes)
        return table->nodes[index];
    leaf = leaf_of(table, index);
    return leaf ? leaf->nodes[index % LEAF_NODES] : packed_at(table, index);
}

/* The leaf of node `index` of a packed table, made if need be; NULL: no memory.
 */
static struct leaf *leaf_make(struct table *table, uint32_t index)
{
    uint32_t first = index - index % LEAF_NODES;
    struct leaf *leaf = leaf_of(table, index);

    if (leaf)
        return leaf;
    if (!table->leaves)
        table->leaves = calloc(leaf_count(table), sizeof *table->leaves);
    if (!table->leaves)
        return NULL;
    leaf = calloc(1, sizeof *leaf);
    for (uint32_t i = first; leaf && i < first + LEAF_NODES && i < table->count;
         i++)
        leaf->nodes[i - first] = packed_at(table, i);
    table->leaves[index / LEAF_NODES] = leaf;
    return leaf;
}

/* Node `index`, to be changed; NULL: no memory. Valid as long as the table. */
static struct node *node_edit(struct table *table, uint32_t index)
{
    struct leaf *leaf;

    if (table->nodes)
        return &table->nodes[index];
    leaf = leaf_make(table, index);
    return leaf ? &leaf->nodes[index % LEAF_NODES] : NULL;
}

static uint32_t version_at(const struct table *table, uint32_t index)
{
    const struct leaf *leaf = leaf_of(table, index);

    if (table->nodes)
        return table->versions ? table->versions[index] : 0;
    return leaf ? leaf->versions[index % LEAF_NODES] : 0;
}

/* The version of a fan-out, to be changed; NULL: no memory. */
static uint32_t *version_edit(struct table *table, uint32_t index)
{
    struct leaf *leaf;

    if (!table->nodes) {
        leaf = leaf_make(table, index);
        return leaf ? &leaf->versions[index % LEAF_NODES] : NULL;
    }
    if (!table->versions)
        table->versions = calloc(table->count, sizeof *table->versions);
    return table->versions ? &table->versions[index] : NULL;
}

/* Whether the path upwards ends at `index`: the front-end, or a failed node. */
static bool table_ends(const struct table *table, uint32_t index)
{
    return index == 0 || node_at(table, index).failed;
}

/* Set the depth of every node from `index` up to the first node that has one.
 * Over all calls each node is visited twice. */
static void table_walk(const struct table *table,
                       uint32_t index,
                       struct table_site *sites)
{
    uint32_t steps = 0;
    uint32_t depth;
    uint32_t at;

    for (at = index; sites[at].depth == FRESH; at = node_at(table, at).parent) {
        sites[at].depth = WALKED;
        steps++;
    }
    depth = sites[at].depth < WALKED ? sites[at].depth + steps : TABLE_NO_PATH;
    for (at = index; sites[at].depth == WALKED; at = node_at(table, at).parent)
        sites[at].depth = depth == TABLE_NO_PATH ? TABLE_NO_PATH : depth--;
}

/* table_sites(), by index. Most parents come before their children, so the first
 * pass finds most depths; the second pass is for nodes that moved. */
static void sites_from(const struct table *table,
                       uint32_t top,
                       uint32_t cut,
                       struct table_site *sites)
{
    bool again = false;

    for (uint32_t i = 0; i < table->count; i++) {
        const struct node node = node_at(table, i);
        uint32_t parent = node.parent;
        uint32_t depth = FRESH;

        if (i == cut)
            depth = TABLE_NO_PATH;
        else if (i == top)
            depth = 0;
        else if (i == 0 || node.failed)
            depth = TABLE_NO_PATH;
        else if (parent < i && sites[parent].depth < FRESH)
            depth = sites[parent].depth + 1;
        else if (parent < i)
            depth = sites[parent].depth;
        again |= depth == FRESH;
        sites[i] = (struct table_site){
            rank_of(table, i), (uint32_t)(node.inner + node.backends), depth};
    }
    for (uint32_t i = 0; again && i < table->count; i++)
        table_walk(table, i, sites);
}

/* Sort the drafts, and keep the ranks if they are not the indices. Returns 0,
 * -ENOMEM, or -EBADMSG if a rank comes twice or the front-end is missing. */
static int set_ranks(struct table *table)
{
    struct draft *drafts = table->drafts;
    uint32_t count = table->draft_count;
    uint32_t i;

    if (count == 0)
        return -EBADMSG;
    for (i = 1; i < count && drafts[i - 1].rank < drafts[i].rank; i++)
        ;
    if (i < count)
        qsort(drafts, count, sizeof *drafts, draft_compare);
    for (i = 1; i < count; i++) {
        if (drafts[i - 1].rank == drafts[i].rank)
            return -EBADMSG;
    }
    if (drafts[0].rank != 0)
        return -EBADMSG;
    if (drafts[count - 1].rank == count - 1)
        return 0;
    table->ranks = malloc(count * sizeof *table->ranks);
    if (!table->ranks)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        table->ranks[i] = drafts[i].rank;
    return 0;
}

/* A record's part of the digest: exclusive or adds it, and removes it again. */
static uint64_t table_part(enum table_kind kind,
                           uint32_t rank,
                           uint32_t a,
                           uint32_t b)
{
    uint64_t bits = (uint64_t)kind << 32 | rank;
    const uint32_t values[] = {a, b};

    for (size_t i = 0; i < 2; i++) {
        bits = (bits ^ values[i]) * UINT64_C(0x9e3779b97f4a7c15);
        bits ^= bits >> 29;
    }
    bits *= UINT64_C(0xbf58476d1ce4e5b9);
    return bits ^ bits >> 32;
}

static uint64_t node_part(const struct table *table, uint32_t index)
{
    const struct node node = node_at(table, index);

    return table_part(KIND_RECORD, rank_of(table, index), node.incarnation,
                      node.failed ? TABLE_FAILED : rank_of(table, node.parent));
}

/* Make the nodes from the drafts; table->count and the ranks are set. */
static int set_nodes(struct table *table)
{
    uint32_t parent;

    for (uint32_t i = 0; i < table->count; i++) {
        const struct draft *draft = &table->drafts[i];
        struct node *node = &table->nodes[i];

        node->incarnation = draft->incarnation;
        node->failed = draft->parent == TABLE_FAILED;
        node->changed = node->failed || draft->incarnation > 0;
        node->parent = i;
        if (i == 0 || node->failed)
            continue;
        parent = find_index(table, draft->parent);
        if (parent == TABLE_NONE)
            return -EBADMSG;
        node->parent = parent;
        table->nodes[parent].inner++;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t inner = table->nodes[i].inner;

        if (table->drafts[i].fan_out < inner)
            return -EBADMSG;
        table->nodes[i].backends = table->drafts[i].fan_out - inner;
        if (table->nodes[i].changed)
            table->digest ^= node_part(table, i);
    }
    return 0;
}

/* Check that no path is a circle. Returns 0, -EBADMSG or -ENOMEM. */
static int check_paths(const struct table *table)
{
    struct table_site *sites = malloc(table->count * sizeof *sites);
    int r = 0;

    if (!sites)
        return -ENOMEM;
    for (uint32_t i = 0; i < table->count; i++)
        sites[i].depth = table_ends(table, i) ? 0 : FRESH;
    for (uint32_t i = 0; r == 0 && i < table->count; i++) {
        table_walk(table, i, sites);
        if (sites[i].depth == TABLE_NO_PATH)
            r = -EBADMSG;
    }
    free(sites);
    return r;
}

int table_check(struct table *table)
{
    uint32_t count = table->draft_count;
    int r;

    if (table->count > 0)
        return -EBADMSG;
    r = set_ranks(table);
    if (r < 0)
        return r;
    table->nodes = calloc(count, sizeof *table->nodes);
    if (!table->nodes)
        return -ENOMEM;
    table->count = count;
    r = set_nodes(table);
    if (r == 0)
        r = check_paths(table);
    free(table->drafts);
    table->drafts = NULL;
    table->draft_count = 0;
    if (r < 0)
        table->count = 0;
    return r;
}

/* How many nodes from `index` on have its parent, and as many children. */
static uint32_t count_siblings(const struct table *table, uint32_t index)
{
    const struct node *first = &table->nodes[index];
    const struct node *node = first + 1;

    while (node < table->nodes + table->count &&
           node->parent == first->parent && node->inner == first->inner &&
           node->backends == first->backends)
        node++;
    return (uint32_t)(node - first);
}

/* The run that begins at `index`. Returns how many nodes it has. */
static uint32_t find_run(const struct table *table,
                         uint32_t index,
                         struct run *out)
{
    const struct node *first = &table->nodes[index];
    uint32_t each = count_siblings(table, index);
    uint32_t length = each;

    *out =
        (struct run){index, first->parent, each, first->inner, first->backends};
    while (index > 0 && index + length < table->count &&
           first[length].parent == first->parent + length / each &&
           first[length].inner == first->inner &&
           first[length].backends == first->backends &&
           count_siblings(table, index + length) == each)
        length += each;
    return length;
}

int table_pack(struct table *table)
{
    struct run run;
    uint32_t length;

    if (!table->nodes || table->digest != 0)
        return 0;
    for (uint32_t i = 0; i < table->count; i += length) {
        length = find_run(table, i, &run);
        if ((table->run_count + 1) * sizeof run >
            table->count * sizeof *table->nodes / 2)
            goto irregular;
        if (array_grow(&table->runs, table->run_count, sizeof run) < 0)
            return -ENOMEM;
        table->runs[table->run_count++] = run;
    }
    free(table->nodes);
    table->nodes = NULL;
    return 0;
irregular:
    free(table->runs);
    table->runs = NULL;
    table->run_count = 0;
    return 0;
}

int table_from_topology(struct table **out, const struct topology *topo)
{
    struct table *table = NULL;
    int r;

    r = table_new(&table);
    for (uint32_t i = 0; r == 0 && i < topology_count(topo); i++) {
        uint32_t parent = topology_parent(topo, i);

        if (topology_is_leaf(topo, i))
            continue;
        r = table_add(table, topology_rank(topo, i),
                      parent == TOPOLOGY_NONE ? TABLE_NONE
                                              : topology_rank(topo, parent),
                      0, topology_child_count(topo, i));
    }
    if (r == 0)
        r = table_check(table);
    if (r == 0) {
        *out = table;
        table = NULL;
    }
    table_free(table);
    return r;
}

/* PROTOCOL 6.3: whether a record wins against one of incarnation `kept`. */
static bool is_news(uint32_t kept,
                    bool kept_failed,
                    uint32_t incarnation,
                    bool failed)
{
    if (incarnation != kept)
        return incarnation > kept;
    return failed && !kept_failed;
}

/* The place of a back-end's record; NULL if its page does not exist. */
static struct backend *backend_find(const struct table *table, uint32_t rank)
{
    struct page *page;

    if (!table->pages || rank >= TABLE_RANKS_MAX)
        return NULL;
    page = table->pages[rank / PAGE_RANKS];
    return page ? &page->backends[rank % PAGE_RANKS] : NULL;
}

/* Make the page of a back-end. NULL: out of memory. */
static struct backend *backend_make(struct table *table, uint32_t rank)
{
    struct page **pages = table->pages;

    if (!pages)
        pages = table->pages = calloc(PAGE_COUNT, sizeof(struct page *));
    if (!pages)
        return NULL;
    if (!pages[rank / PAGE_RANKS])
        pages[rank / PAGE_RANKS] = calloc(1, sizeof(struct page));
    return backend_find(table, rank);
}

static uint64_t backend_part(const struct table *table,
                             uint32_t rank,
                             const struct backend *backend)
{
    return table_part(KIND_RECORD, rank, backend->incarnation,
                      backend->failed ? TABLE_FAILED
                                      : rank_of(table, backend->parent));
}

static int record_backend(struct table *table,
                          uint32_t rank,
                          uint32_t incarnation,
                          bool failed,
                          uint32_t parent)
{
    struct backend *backend = backend_make(table, rank);

    if (!backend)
        return -ENOMEM;
    if (backend->known &&
        !is_news(backend->incarnation, backend->failed, incarnation, failed))
        return 0;
    if (backend->known)
        table->digest ^= backend_part(table, rank, backend);
    backend->known = true;
    backend->incarnation = incarnation;
    backend->failed = failed;
    backend->parent = failed ? 0 : parent;
    table->digest ^= backend_part(table, rank, backend);
    return 1;
}

static int record_node(struct table *table,
                       uint32_t index,
                       uint32_t incarnation,
                       bool failed,
                       uint32_t parent)
{
    const struct node before = node_at(table, index);
    struct node *node, *old_parent, *new_parent;

    if (!is_news(before.incarnation, before.failed, incarnation, failed))
        return 0;
    node = node_edit(table, index);
    old_parent = node_edit(table, before.parent);
    new_parent = failed ? node : node_edit(table, parent);
    if (!node || !old_parent || !new_parent)
        return -ENOMEM;
    if (!node->failed)
        old_parent->inner--;
    if (node->changed)
        table->digest ^= node_part(table, index);
    node->incarnation = incarnation;
    node->failed = failed;
    node->changed = true;
    if (!failed) {
        node->parent = parent;
        new_parent->inner++;
    }
    table->digest ^= node_part(table, index);
    return 1;
}

int table_record(struct table *table,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent)
{
    bool failed = parent == TABLE_FAILED;
    uint32_t index = find_index(table, rank);
    uint32_t parent_index = failed ? TABLE_NONE : find_index(table, parent);

    if (table->count == 0 || rank >= TABLE_RANKS_MAX || parent == rank)
        return -EBADMSG;
    if (!failed && (parent_index == TABLE_NONE || rank == 0))
        return -EBADMSG;
    if (rank == 0)
        return 0;
    if (index == TABLE_NONE)
        return record_backend(table, rank, incarnation, failed, parent_index);
    return record_node(table, index, incarnation, failed, parent_index);
}

int table_set_backends(struct table *table,
                       uint32_t rank,
                       uint32_t backend_count)
{
    uint32_t index = find_index(table, rank);
    struct node *node;

    if (backend_count > TOPOLOGY_CHILDREN_MAX)
        return -EBADMSG;
    if (index == TABLE_NONE)
        return -ENOENT;
    if (node_at(table, index).backends == backend_count)
        return 0;
    node = node_edit(table, index);
    if (!node)
        return -ENOMEM;
    node->backends = backend_count;
    return 1;
}

size_t table_bytes(const struct table *table)
{
    size_t bytes = table->ranks ? table->count * sizeof *table->ranks : 0;

    if (table->nodes)
        return bytes + table->count * sizeof *table->nodes;
    bytes += table->run_count * sizeof *table->runs;
    if (!table->leaves)
        return bytes;
    for (uint32_t i = 0; i < leaf_count(table); i++)
        bytes += table->leaves[i] ? sizeof *table->leaves[i] : 0;
    return bytes + leaf_count(table) * sizeof *table->leaves;
}

static struct table_fan_out fan_out_at(const struct table *table,
                                       uint32_t index)
{
    return (struct table_fan_out){
        .rank = rank_of(table, index),
        .version = version_at(table, index),
        .backend_count = node_at(table, index).backends,
    };
}

static uint64_t fan_out_part(const struct table *table, uint32_t index)
{
    uint32_t version = version_at(table, index);

    if (version == 0)
        return 0;
    return table_part(KIND_FAN_OUT, rank_of(table, index), version,
                      node_at(table, index).backends);
}

int table_fan_out(struct table *table, const struct table_fan_out *record)
{
    uint32_t index = find_index(table, record->rank);
    uint32_t *version;
    uint64_t old;
    int r;

    if (index == TABLE_NONE)
        return -ENOENT;
    if (record->version <= version_at(table, index))
        return 0;
    version = version_edit(table, index);
    if (!version)
        return -ENOMEM;
    old = fan_out_part(table, index);
    r = table_set_backends(table, record->rank, record->backend_count);
    if (r < 0)
        return r;
    *version = record->version;
    table->digest ^= old ^ fan_out_part(table, index);
    return 1;
}

int table_fan_out_of(const struct table *table,
                     uint32_t rank,
                     struct table_fan_out *out)
{
    uint32_t index = find_index(table, rank);

    if (index == TABLE_NONE)
        return -ENOENT;
    *out = fan_out_at(table, index);
    return 0;
}

bool table_fan_out_changed(const struct table *table,
                           uint32_t *cursor,
                           struct table_fan_out *out)
{
    for (; *cursor < table->count; ++*cursor) {
        if (version_at(table, *cursor) == 0)
            continue;
        *out = fan_out_at(table, (*cursor)++);
        return true;
    }
    return false;
}

uint64_t table_version(const struct table *table)
{
    return table->digest;
}

uint32_t table_count(const struct table *table)
{
    return table->count;
}

static uint32_t parent_rank(const struct table *table, uint32_t index)
{
    const struct node node = node_at(table, index);

    if (node.failed)
        return TABLE_FAILED;
    return index == 0 ? TABLE_NONE : rank_of(table, node.parent);
}

void table_at(const struct table *table,
              uint32_t index,
              struct table_entry *out)
{
    struct node node;

    assert(index < table->count);
    node = node_at(table, index);
    *out = (struct table_entry){
        .rank = rank_of(table, index),
        .parent = parent_rank(table, index),
        .incarnation = node.incarnation,
        .fan_out = (uint32_t)(node.inner + node.backends),
        .backend_count = node.backends,
        .failed = node.failed,
    };
}

int table_entry(const struct table *table,
                uint32_t rank,
                struct table_entry *out)
{
    uint32_t index = find_index(table, rank);

    if (index == TABLE_NONE)
        return -ENOENT;
    table_at(table, index, out);
    return 0;
}

static struct table_record node_record(const struct table *table,
                                       uint32_t index)
{
    return (struct table_record){rank_of(table, index),
                                 node_at(table, index).incarnation,
                                 parent_rank(table, index)};
}

static struct table_record backend_record(const struct table *table,
                                          uint32_t rank,
                                          const struct backend *backend)
{
    return (struct table_record){
        rank, backend->incarnation,
        backend->failed ? TABLE_FAILED : rank_of(table, backend->parent)};
}

bool table_changed(const struct table *table,
                   uint32_t *cursor,
                   struct table_record *out)
{
    for (; *cursor < table->count; ++*cursor) {
        if (!node_at(table, *cursor).changed)
            continue;
        *out = node_record(table, (*cursor)++);
        return true;
    }
    if (!table->pages)
        return false;
    for (uint32_t rank = *cursor - table->count; rank < TABLE_RANKS_MAX;
         rank++) {
        const struct backend *backend = backend_find(table, rank);

        if (!backend) {
            rank |= PAGE_RANKS - 1; /* on to the next page */
            continue;
        }
        if (!backend->known)
            continue;
        *out = backend_record(table, rank, backend);
        *cursor = table->count + rank + 1;
        return true;
    }
    *cursor = table->count + TABLE_RANKS_MAX;
    return false;
}

int table_latest(const struct table *table,
                 uint32_t rank,
                 struct table_record *out)
{
    uint32_t index = find_index(table, rank);
    const struct backend *backend = backend_find(table, rank);

    if (index != TABLE_NONE) {
        *out = node_record(table, index);
        return 0;
    }
    if (!backend || !backend->known)
        return -ENOENT;
    *out = backend_record(table, rank, backend);
    return 0;
}

uint32_t table_depth(const struct table *table, uint32_t rank)
{
    uint32_t at = find_index(table, rank);
    uint32_t depth = 0;

    if (at == TABLE_NONE)
        return TABLE_NO_PATH;
    while (!table_ends(table, at) && depth < table->count) {
        at = node_at(table, at).parent;
        depth++;
    }
    return at == 0 ? depth : TABLE_NO_PATH;
}

uint32_t table_last_parent(const struct table *table, uint32_t rank)
{
    uint32_t index = find_index(table, rank);

    uint32_t parent;

    if (index == TABLE_NONE)
        return TABLE_NONE;
    parent = node_at(table, index).parent;
    return parent == index ? TABLE_NONE : rank_of(table, parent);
}

void table_sites(const struct table *table,
                 uint32_t cut,
                 struct table_site *sites)
{
    sites_from(table, 0, find_index(table, cut), sites);
}

/* Links from node `index` up to `top`, found without memory. */
static uint32_t table_climb(const struct table *table,
                            uint32_t index,
                            uint32_t top)
{
    uint32_t depth = 0;

    while (index != top && !table_ends(table, index) && depth < table->count) {
        index = node_at(table, index).parent;
        depth++;
    }
    return index == top ? depth : TABLE_NO_PATH;
}

uint32_t table_subtree_height(const struct table *table, uint32_t rank)
{
    struct table_site *sites = malloc((table->count + 1) * sizeof *sites);
    uint32_t top = find_index(table, rank);
    uint32_t height = 0;

    if (sites)
        sites_from(table, top, TABLE_NONE, sites);
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t depth = sites ? sites[i].depth : table_climb(table, i, top);

        if (node_at(table, i).backends > 0 && depth != TABLE_NO_PATH &&
            depth + 1 > height)
            height = depth + 1;
    }
    free(sites);
    return height;
}

uint32_t table_height(const struct table *table)
{
    return table_subtree_height(table, 0);
}

bool table_is_below(const struct table *table, uint32_t rank, uint32_t ancestor)
{
    uint32_t at = find_index(table, rank);
    uint32_t above = find_index(table, ancestor);
    uint32_t steps = 0;

    if (at == TABLE_NONE || above == TABLE_NONE)
        return false;
    while (at != above && !table_ends(table, at) && steps++ < table->count)
        at = node_at(table, at).parent;
    return at == above;
}
