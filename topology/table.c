/* table.c - the records of internal nodes and back-ends, and lookups. */
#include "topology/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "topology/table_store.h"

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
    return store_part(KIND_RECORD, rank, backend->incarnation,
                      backend->failed ? TABLE_FAILED
                                      : store_rank(table, backend->parent));
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
    const struct table_node before = store_node(table, index);
    struct table_node *node, *old_parent, *new_parent;

    if (!is_news(before.incarnation, before.failed, incarnation, failed))
        return 0;
    node = store_edit(table, index);
    old_parent = store_edit(table, before.parent);
    new_parent = failed ? node : store_edit(table, parent);
    if (!node || !old_parent || !new_parent)
        return -ENOMEM;
    if (!node->failed)
        old_parent->inner--;
    if (node->changed)
        table->digest ^= store_node_part(table, index);
    node->incarnation = incarnation;
    node->failed = failed;
    node->changed = true;
    if (!failed) {
        node->parent = parent;
        new_parent->inner++;
    }
    table->digest ^= store_node_part(table, index);
    return 1;
}

int table_record(struct table *table,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent)
{
    bool failed = parent == TABLE_FAILED;
    uint32_t index = store_index(table, rank);
    uint32_t parent_index = failed ? TABLE_NONE : store_index(table, parent);

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
    uint32_t index = store_index(table, rank);
    struct table_node *node;

    if (backend_count > TOPOLOGY_CHILDREN_MAX)
        return -EBADMSG;
    if (index == TABLE_NONE)
        return -ENOENT;
    if (store_node(table, index).backends == backend_count)
        return 0;
    node = store_edit(table, index);
    if (!node)
        return -ENOMEM;
    node->backends = backend_count;
    return 1;
}

static struct table_fan_out fan_out_at(const struct table *table,
                                       uint32_t index)
{
    return (struct table_fan_out){
        .rank = store_rank(table, index),
        .version = store_version(table, index),
        .backend_count = store_node(table, index).backends,
    };
}

static uint64_t fan_out_part(const struct table *table, uint32_t index)
{
    uint32_t version = store_version(table, index);

    if (version == 0)
        return 0;
    return store_part(KIND_FAN_OUT, store_rank(table, index), version,
                      store_node(table, index).backends);
}

int table_fan_out(struct table *table, const struct table_fan_out *record)
{
    uint32_t index = store_index(table, record->rank);
    uint32_t *version;
    uint64_t old;
    int r;

    if (index == TABLE_NONE)
        return -ENOENT;
    if (record->version <= store_version(table, index))
        return 0;
    version = store_version_edit(table, index);
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
    uint32_t index = store_index(table, rank);

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
        if (store_version(table, *cursor) == 0)
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
    const struct table_node node = store_node(table, index);

    if (node.failed)
        return TABLE_FAILED;
    return index == 0 ? TABLE_NONE : store_rank(table, node.parent);
}

void table_at(const struct table *table,
              uint32_t index,
              struct table_entry *out)
{
    struct table_node node;

    assert(index < table->count);
    node = store_node(table, index);
    *out = (struct table_entry){
        .rank = store_rank(table, index),
        .parent = parent_rank(table, index),
        .incarnation = node.incarnation,
        .fan_out = (uint32_t)(node.inner + node.backends),
        .backend_count = node.backends,
        .failed = node.failed,
        .awaited = index >= table->launched && !node.changed,
    };
}

int table_entry(const struct table *table,
                uint32_t rank,
                struct table_entry *out)
{
    uint32_t index = store_index(table, rank);

    if (index == TABLE_NONE)
        return -ENOENT;
    table_at(table, index, out);
    return 0;
}

static struct table_record node_record(const struct table *table,
                                       uint32_t index)
{
    return (struct table_record){store_rank(table, index),
                                 store_node(table, index).incarnation,
                                 parent_rank(table, index)};
}

static struct table_record backend_record(const struct table *table,
                                          uint32_t rank,
                                          const struct backend *backend)
{
    return (struct table_record){
        rank, backend->incarnation,
        backend->failed ? TABLE_FAILED : store_rank(table, backend->parent)};
}

bool table_changed(const struct table *table,
                   uint32_t *cursor,
                   struct table_record *out)
{
    for (; *cursor < table->count; ++*cursor) {
        if (!store_node(table, *cursor).changed)
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
    uint32_t index = store_index(table, rank);
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

uint32_t table_last_parent(const struct table *table, uint32_t rank)
{
    uint32_t index = store_index(table, rank);

    uint32_t parent;

    if (index == TABLE_NONE)
        return TABLE_NONE;
    parent = store_node(table, index).parent;
    return parent == index ? TABLE_NONE : store_rank(table, parent);
}
