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

/* Back-ends as runs, internal nodes (internals.h); missing ranks, their hosts,
 * and the reasons; ranks with a name, their hosts, and the labels. TABLE has
 * only internal nodes. */
#define ROSTER_FORMAT "%aud %auc %aud %as %as %aud %as %as"

bool label_is_valid(const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (i >= LIMIT_LABEL || (unsigned char)text[i] < ' ' ||
            text[i] == '\x7f')
            return false;
    return true;
}

static void note_fini(struct roster_note *note)
{
    free(note->host);
    free(note->text);
}

static void notes_fini(struct roster_notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        note_fini(&notes->list[i]);
    free(notes->list);
}

void roster_fini(struct roster *roster)
{
    for (uint32_t i = 0; i < roster->internal_count; i++)
        free(roster->internals[i].address);
    free(roster->internals);
    notes_fini(&roster->missing);
    notes_fini(&roster->names);
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

int roster_add_note(struct roster_notes *notes,
                    uint32_t rank,
                    const char *host,
                    const char *text)
{
    struct roster_note added = {.rank = rank, .parent = RANK_NONE};

    if (array_grow(&notes->list, notes->count, sizeof(added)) < 0)
        return -ENOMEM;
    added.host = strdup(host);
    added.text = strndup(text, LIMIT_TEXT);
    if (!added.host || !added.text) {
        note_fini(&added);
        return -ENOMEM;
    }
    notes->list[notes->count++] = added;
    return 0;
}

static void notes_remove(struct roster_notes *notes, const struct ranks *ranks)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < notes->count; i++) {
        if (ranks_has(ranks, notes->list[i].rank))
            note_fini(&notes->list[i]);
        else
            notes->list[kept++] = notes->list[i];
    }
    notes->count = kept;
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
    notes_remove(&roster->missing, ranks);
    notes_remove(&roster->names, ranks);
    return ranks_subtract(&roster->backends, ranks);
}

static int by_rank(const void *a, const void *b)
{
    const struct roster_note *one = a, *other = b;

    return (one->rank > other->rank) - (one->rank < other->rank);
}

static int by_inner_rank(const void *a, const void *b)
{
    const struct roster_internal *one = a, *other = b;

    return (one->rank > other->rank) - (one->rank < other->rank);
}

static void notes_sort(struct roster_notes *notes)
{
    if (notes->count > 1)
        qsort(notes->list, notes->count, sizeof(*notes->list), by_rank);
}

void roster_sort(struct roster *roster)
{
    notes_sort(&roster->missing);
    notes_sort(&roster->names);
}

struct roster_note *roster_find(const struct roster_notes *notes, uint32_t rank)
{
    struct roster_note key = {.rank = rank};

    return notes->count == 0
               ? NULL
               : bsearch(&key, notes->list, notes->count, sizeof(key), by_rank);
}

static int notes_merge(struct roster_notes *notes,
                       const struct roster_notes *other)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < other->count; i++)
        r = roster_add_note(notes, other->list[i].rank, other->list[i].host,
                            other->list[i].text);
    return r;
}

int roster_merge(struct roster *roster, const struct roster *other)
{
    int r;

    r = ranks_unite(&roster->backends, &other->backends);
    for (uint32_t i = 0; r == 0 && i < other->internal_count; i++)
        r = roster_add_internal(
            roster, other->internals[i].rank, other->internals[i].parent,
            other->internals[i].fan_out, other->internals[i].address);
    if (r == 0)
        r = notes_merge(&roster->missing, &other->missing);
    return r == 0 ? notes_merge(&roster->names, &other->names) : r;
}

/* Notes as three arrays of ROSTER_FORMAT. */
struct columns {
    uint32_t *ranks;
    const char **hosts; /* the start of one block */
    const char **texts;
    uint32_t count;
};

static void columns_fini(struct columns *columns)
{
    free(columns->ranks);
    free(columns->hosts);
}

static int columns_init(struct columns *c, const struct roster_notes *notes)
{
    size_t count = notes->count, i;

    c->ranks = calloc(count + 1, sizeof(*c->ranks));
    c->hosts = calloc(2 * count + 1, sizeof(*c->hosts));
    if (!c->ranks || !c->hosts)
        return -ENOMEM;
    c->texts = c->hosts + count;
    c->count = notes->count;
    for (i = 0; i < count; i++) {
        c->ranks[i] = notes->list[i].rank;
        c->hosts[i] = notes->list[i].host;
        c->texts[i] = notes->list[i].text;
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
    size_t pair_count = whole ? 2 * roster->backends.count : 0;
    struct columns missing = {0}, names = {0};
    unsigned char *bytes = NULL;
    size_t len;
    int r = 0;

    memset(out, 0, sizeof(*out));
    out->type = (uint8_t)type;
    if (whole)
        r = columns_init(&missing, &roster->missing);
    if (whole && r == 0)
        r = columns_init(&names, &roster->names);
    if (r == 0)
        r = write_internals(roster, &bytes, &len);
    if (r == 0)
        r = packet_pack(&out->payload, ROSTER_FORMAT,
                        ranks_pairs(&roster->backends), (uint32_t)pair_count,
                        bytes, (uint32_t)len, missing.ranks, missing.count,
                        missing.hosts, missing.count, missing.texts,
                        missing.count, names.ranks, names.count, names.hosts,
                        names.count, names.texts, names.count);
    columns_fini(&missing);
    columns_fini(&names);
    free(bytes);
    return r;
}

/* The unpacked arrays of ROSTER_FORMAT; borrowed from the packet. */
struct wire_notes {
    const uint32_t *ranks;
    const char **hosts, **texts;
    uint32_t count, host_count, text_count;
};
struct wire {
    const uint32_t *pairs;
    const unsigned char *internals;
    struct wire_notes missing, names;
    uint32_t pair_count, internals_len;
};

/* Open the packet of a roster. Returns 0, -EBADMSG or -ENOMEM. */
static int wire_open(struct wire *w,
                     struct payload *payload,
                     struct cop_packet **packet)
{
    int r = packet_open(packet, payload);

    if (r < 0)
        return r;
    r = cop_packet_unpack(
        *packet, ROSTER_FORMAT, &w->pairs, &w->pair_count, &w->internals,
        &w->internals_len, &w->missing.ranks, &w->missing.count,
        &w->missing.hosts, &w->missing.host_count, &w->missing.texts,
        &w->missing.text_count, &w->names.ranks, &w->names.count,
        &w->names.hosts, &w->names.host_count, &w->names.texts,
        &w->names.text_count);
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

static int read_notes(const struct wire_notes *wire, struct roster_notes *notes)
{
    int r = 0;

    if (wire->count != wire->host_count || wire->count != wire->text_count)
        return -EBADMSG;
    for (uint32_t i = 0; r == 0 && i < wire->count; i++)
        r = wire->ranks[i] >= LIMIT_NODES ||
                    strlen(wire->hosts[i]) > LIMIT_HOST_NAME
                ? -EBADMSG
                : roster_add_note(notes, wire->ranks[i], wire->hosts[i],
                                  wire->texts[i]);
    return r;
}

static int roster_from_wire(const struct wire *wire, struct roster *roster)
{
    int r;

    r = ranks_from_pairs(&roster->backends, wire->pairs, wire->pair_count);
    if (r == 0)
        r = read_internals(wire, roster);
    if (r == 0)
        r = read_notes(&wire->missing, &roster->missing);
    if (r == 0)
        r = read_notes(&wire->names, &roster->names);
    for (uint32_t i = 0; r == 0 && i < roster->names.count; i++)
        if (!label_is_valid(roster->names.list[i].text))
            r = -EBADMSG;
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
