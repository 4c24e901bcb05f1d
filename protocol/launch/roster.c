/* roster.c - the payload of READY and TABLE: which nodes have started. */
#include "protocol/launch/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/array.h"
#include "wire/limits.h"
#include "wire/packet.h"

#define ROSTER_FORMAT "%aud %aud %aud %aud %as %aud %as %as"

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

const char *roster_address(const struct roster *roster, uint32_t rank)
{
    for (uint32_t i = 0; i < roster->internal_count; i++)
        if (roster->internals[i].rank == rank)
            return roster->internals[i].address;
    return "";
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

/* A roster as the arrays of ROSTER_FORMAT, in two blocks of memory. */
struct columns {
    uint32_t *ranks; /* the start of one block */
    uint32_t *parents, *fan_outs, *missing;
    const char **addresses; /* the start of the other */
    const char **hosts, **reasons;
};

static void columns_fini(struct columns *columns)
{
    free(columns->ranks);
    free(columns->addresses);
}

static int columns_init(struct columns *c, const struct roster *roster)
{
    size_t n = roster->internal_count, m = roster->missing_count, i;

    c->ranks = calloc(3 * n + m + 1, sizeof(*c->ranks));
    c->addresses = calloc(n + 2 * m + 1, sizeof(*c->addresses));
    if (!c->ranks || !c->addresses)
        return -ENOMEM;
    c->parents = c->ranks + n;
    c->fan_outs = c->parents + n;
    c->missing = c->fan_outs + n;
    c->hosts = c->addresses + n;
    c->reasons = c->hosts + m;
    for (i = 0; i < n; i++) {
        c->ranks[i] = roster->internals[i].rank;
        c->parents[i] = roster->internals[i].parent;
        c->fan_outs[i] = roster->internals[i].fan_out;
        c->addresses[i] = roster->internals[i].address;
    }
    for (i = 0; i < m; i++) {
        c->missing[i] = roster->missing[i].rank;
        c->hosts[i] = roster->missing[i].host;
        c->reasons[i] = roster->missing[i].reason;
    }
    return 0;
}

int roster_encode(const struct roster *roster,
                  enum frame_type type,
                  struct frame *out)
{
    struct columns c;
    int r;

    memset(out, 0, sizeof(*out));
    out->type = (uint8_t)type;
    r = columns_init(&c, roster);
    if (r == 0)
        r = packet_pack(
            &out->payload, ROSTER_FORMAT, ranks_pairs(&roster->backends),
            (uint32_t)(2 * roster->backends.count), c.ranks,
            roster->internal_count, c.parents, roster->internal_count,
            c.fan_outs, roster->internal_count, c.addresses,
            roster->internal_count, c.missing, roster->missing_count, c.hosts,
            roster->missing_count, c.reasons, roster->missing_count);
    columns_fini(&c);
    return r;
}

/* The same arrays as unpacked, with their counts; borrowed from the packet. */
struct wire {
    const uint32_t *pairs, *ranks, *parents, *fan_outs, *missing;
    const char **addresses, **hosts, **reasons;
    uint32_t pair_count, rank_count, parent_count, fan_out_count;
    uint32_t address_count;
    uint32_t missing_count, host_count, reason_count;
};

static int roster_from_wire(const struct wire *wire, struct roster *roster)
{
    int r;

    if (wire->rank_count != wire->parent_count ||
        wire->rank_count != wire->fan_out_count ||
        wire->rank_count != wire->address_count ||
        wire->missing_count != wire->host_count ||
        wire->missing_count != wire->reason_count)
        return -EBADMSG;
    r = ranks_from_pairs(&roster->backends, wire->pairs, wire->pair_count);
    for (uint32_t i = 0; r == 0 && i < wire->rank_count; i++)
        r = wire->ranks[i] >= LIMIT_NODES ||
                    strlen(wire->addresses[i]) > 4 * LIMIT_ADDRESS
                ? -EBADMSG
                : roster_add_internal(roster, wire->ranks[i], wire->parents[i],
                                      wire->fan_outs[i], wire->addresses[i]);
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
    struct wire w;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, ROSTER_FORMAT, &w.pairs, &w.pair_count,
                          &w.ranks, &w.rank_count, &w.parents, &w.parent_count,
                          &w.fan_outs, &w.fan_out_count, &w.addresses,
                          &w.address_count, &w.missing, &w.missing_count,
                          &w.hosts, &w.host_count, &w.reasons, &w.reason_count);
    if (r == 0)
        r = roster_from_wire(&w, &roster);
    cop_packet_free(packet);
    if (r < 0) {
        roster_fini(&roster);
        return r == -EINVAL ? -EBADMSG : r;
    }
    roster_fini(out);
    *out = roster;
    return 0;
}
