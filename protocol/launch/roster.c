/* roster.c - the payload of READY and TABLE: which nodes have started. */
#include "protocol/launch/roster.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/internals.h"
#include "topology/array.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* Back-ends as runs, internal nodes (internals.h), missing ranks, their hosts,
 * and the reasons. TABLE has only internal nodes. */
#define ROSTER_FORMAT "%aud %auc %aud %as %as"

void roster_fini(struct roster *roster)
{
    for (uint32_t i = 0; i < roster->internal_count; i++)
        free(roster->internals[i].address);
    for (uint32_t i = 0; i < roster->missing_count; i++) {
        free(roster->missing[i].host);
        free(roster->missing[i].reason);
    }
    free(roster->internals);
    free(roster->missing);
    ranks_fini(&roster->backends);
    memset(roster, 0, sizeof(*roster));
}

int roster_add_internal(struct roster *roster,
                        uint32_t rank,
                        uint32_t parent,
                        uint32_t fan_out,
                        const char *address)
{
    struct roster_internal added = {rank, parent, fan_out, NULL};

    if (array_grow(&roster->internals, roster->internal_count, sizeof(added)) <
        0)
        return -ENOMEM;
    added.address = strdup(address);
    if (!added.address)
        return -ENOMEM;
    roster->internals[roster->internal_count++] = added;
    return 0;
}

int roster_add_missing(struct roster *roster,
                       uint32_t rank,
                       const char *host,
                       const char *reason)
{
    struct roster_missing added = {.rank = rank};

    if (array_grow(&roster->missing, roster->missing_count, sizeof(added)) < 0)
        return -ENOMEM;
    added.host = strdup(host);
    added.reason = strndup(reason, LIMIT_TEXT);
    if (!added.host || !added.reason) {
        free(added.host);
        free(added.reason);
        return -ENOMEM;
    }
    roster->missing[roster->missing_count++] = added;
    return 0;
}

int roster_remove(struct roster *roster, const struct ranks *ranks)
{
    uint32_t i, kept = 0;

    for (i = 0; i < roster->internal_count; i++) {
        if (ranks_has(ranks, roster->internals[i].rank))
            free(roster->internals[i].address);
        else
            roster->internals[kept++] = roster->internals[i];
    }
    roster->internal_count = kept;
    for (i = kept = 0; i < roster->missing_count; i++) {
        if (ranks_has(ranks, roster->missing[i].rank)) {
            free(roster->missing[i].host);
            free(roster->missing[i].reason);
        } else {
            roster->missing[kept++] = roster->missing[i];
        }
    }
    roster->missing_count = kept;
    return ranks_subtract(&roster->backends, ranks);
}

static int by_rank(const void *a, const void *b)
{
    const struct roster_missing *one = a, *other = b;

    return (one->rank > other->rank) - (one->rank < other->rank);
}

static int by_inner_rank(const void *a, const void *b)
{
    const struct roster_internal *one = a, *other = b;

    return (one->rank > other->rank) - (one->rank < other->rank);
}

void roster_sort_missing(struct roster *roster)
{
    if (roster->missing_count > 1)
        qsort(roster->missing, roster->missing_count, sizeof(*roster->missing),
              by_rank);
}

int roster_merge(struct roster *roster, const struct roster *other)
{
    int r;

    r = ranks_unite(&roster->backends, &other->backends);
    for (uint32_t i = 0; r == 0 && i < other->internal_count; i++)
        r = roster_add_internal(
            roster, other->internals[i].rank, other->internals[i].parent,
            other->internals[i].fan_out, other->internals[i].address);
    for (uint32_t i = 0; r == 0 && i < other->missing_count; i++)
        r = roster_add_missing(roster, other->missing[i].rank,
                               other->missing[i].host,
                               other->missing[i].reason);
    return r;
}

/* The missing nodes as the arrays of ROSTER_FORMAT. */
struct columns {
    uint32_t *ranks;
    const char **hosts; /* the start of one block */
    const char **reasons;
};

static void columns_fini(struct columns *columns)
{
    free(columns->ranks);
    free(columns->hosts);
}

static int columns_init(struct columns *c, const struct roster *roster)
{
    size_t count = roster->missing_count, i;

    c->ranks = calloc(count + 1, sizeof(*c->ranks));
    c->hosts = calloc(2 * count + 1, sizeof(*c->hosts));
    if (!c->ranks || !c->hosts)
        return -ENOMEM;
    c->reasons = c->hosts + count;
    for (i = 0; i < count; i++) {
        c->ranks[i] = roster->missing[i].rank;
        c->hosts[i] = roster->missing[i].host;
        c->reasons[i] = roster->missing[i].reason;
    }
    return 0;
}

/* Write the internal nodes, in order of rank. */
static int write_internals(const struct roster *roster,
                           unsigned char **bytes,
                           size_t *len)
{
    size_t size = roster->internal_count * sizeof(*roster->internals);
    struct roster_internal *sorted = malloc(size + 1);
    int r;

    if (!sorted)
        return -ENOMEM;
    if (size > 0) {
        memcpy(sorted, roster->internals, size);
        qsort(sorted, roster->internal_count, sizeof(*sorted), by_inner_rank);
    }
    r = internals_write(sorted, roster->internal_count, bytes, len);
    free(sorted);
    return r;
}

int roster_encode(const struct roster *roster,
                  enum frame_type type,
                  struct frame *out)
{
    bool whole = type == FRAME_READY;
    uint32_t missing_count = whole ? roster->missing_count : 0;
    size_t pair_count = whole ? 2 * roster->backends.count : 0;
    unsigned char *bytes = NULL;
    struct columns c;
    size_t len;
    int r;

    memset(out, 0, sizeof(*out));
    out->type = (uint8_t)type;
    r = columns_init(&c, roster);
    if (r == 0)
        r = write_internals(roster, &bytes, &len);
    if (r == 0)
        r = packet_pack(&out->payload, ROSTER_FORMAT,
                        ranks_pairs(&roster->backends), (uint32_t)pair_count,
                        bytes, (uint32_t)len, c.ranks, missing_count, c.hosts,
                        missing_count, c.reasons, missing_count);
    columns_fini(&c);
    free(bytes);
    return r;
}

/* The unpacked arrays of ROSTER_FORMAT; borrowed from the packet. */
struct wire {
    const uint32_t *pairs, *missing;
    const unsigned char *internals;
    const char **hosts, **reasons;
    uint32_t pair_count, internals_len, missing_count, host_count;
    uint32_t reason_count;
};

/* Open the packet of a roster. Returns 0, -EBADMSG or -ENOMEM. */
static int wire_open(struct wire *w,
                     struct payload *payload,
                     struct cop_packet **packet)
{
    int r = packet_open(packet, payload);

    if (r < 0)
        return r;
    r = cop_packet_unpack(*packet, ROSTER_FORMAT, &w->pairs, &w->pair_count,
                          &w->internals, &w->internals_len, &w->missing,
                          &w->missing_count, &w->hosts, &w->host_count,
                          &w->reasons, &w->reason_count);
    return r == -EINVAL ? -EBADMSG : r;
}

static int read_internals(const struct wire *wire, struct roster *roster)
{
    struct internals_reader reader;
    struct roster_internal node;
    int r;

    r = internals_begin(&reader, wire->internals, wire->internals_len);
    while (r == 0 && (r = internals_next(&reader, &node)) > 0)
        r = roster_add_internal(roster, node.rank, node.parent, node.fan_out,
                                node.address);
    return r;
}

static int roster_from_wire(const struct wire *wire, struct roster *roster)
{
    int r;

    if (wire->missing_count != wire->host_count ||
        wire->missing_count != wire->reason_count)
        return -EBADMSG;
    r = ranks_from_pairs(&roster->backends, wire->pairs, wire->pair_count);
    if (r == 0)
        r = read_internals(wire, roster);
    for (uint32_t i = 0; r == 0 && i < wire->missing_count; i++)
        r = wire->missing[i] >= LIMIT_NODES ||
                    strlen(wire->hosts[i]) > LIMIT_HOST_NAME
                ? -EBADMSG
                : roster_add_missing(roster, wire->missing[i], wire->hosts[i],
                                     wire->reasons[i]);
    return r;
}

int roster_decode(const struct frame *frame, struct roster *out)
{
    struct cop_packet *packet = NULL;
    struct roster roster = {0};
    struct wire wire;
    int r;

    r = wire_open(&wire, frame->payload, &packet);
    if (r == 0)
        r = roster_from_wire(&wire, &roster);
    cop_packet_free(packet);
    if (r < 0) {
        roster_fini(&roster);
        return r;
    }
    roster_fini(out);
    *out = roster;
    return 0;
}

int roster_table(struct payload *payload, struct table **out)
{
    struct cop_packet *packet = NULL;
    struct table *table = NULL;
    struct internals_reader reader;
    struct roster_internal node;
    struct wire wire;
    int r;

    r = wire_open(&wire, payload, &packet);
    if (r == 0)
        r = table_new(&table);
    if (r == 0)
        r = internals_begin(&reader, wire.internals, wire.internals_len);
    while (r == 0 && (r = internals_next(&reader, &node)) > 0)
        r = table_add(table, node.rank, node.parent, 0, node.fan_out);
    if (r == 0)
        r = table_check(table);
    if (r == 0)
        r = table_pack(table);
    cop_packet_free(packet);
    if (r < 0)
        table_free(table);
    else
        *out = table;
    return r;
}

int roster_address(struct payload *payload, uint32_t rank, char **out)
{
    struct cop_packet *packet = NULL;
    struct internals_reader reader;
    struct roster_internal node = {.rank = RANK_NONE};
    struct wire wire;
    int r;

    r = wire_open(&wire, payload, &packet);
    if (r == 0)
        r = internals_begin(&reader, wire.internals, wire.internals_len);
    while (r == 0 && node.rank != rank)
        r = internals_next(&reader, &node) > 0 ? 0 : -ENOENT;
    cop_packet_free(packet);
    if (r < 0)
        return r;
    *out = strdup(node.address);
    return *out ? 0 : -ENOMEM;
}
