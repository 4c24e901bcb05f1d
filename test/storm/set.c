/* set.c - a user's filter: the set of all strings, written as a join filter.
 *
 * A state keeps a reference to each packet that had a new string, and a table
 * of the strings in them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <coppice/filter.h>

struct set {
    const char **slots; /* open addressing; NULL is free */
    uint32_t room;      /* a power of two */
    uint32_t count;
    struct cop_packet **packets;
    uint32_t packet_count;
};

static uint32_t string_hash(const char *text)
{
    uint32_t hash = 2166136261u;

    while (*text)
        hash = (hash ^ (unsigned char)*text++) * 16777619u;
    return hash;
}

/* Find the slot of `text`, or the free slot for it. */
static const char **set_find(const struct set *set, const char *text)
{
    uint32_t i = string_hash(text) & (set->room - 1);

    while (set->slots[i] && strcmp(set->slots[i], text) != 0)
        i = (i + 1) & (set->room - 1);
    return &set->slots[i];
}

static bool set_has(const struct set *set, const char *text)
{
    return set->room > 0 && *set_find(set, text);
}

/* Make room for `more` strings. */
static int set_grow(struct set *set, uint32_t more)
{
    struct set old = *set;
    uint32_t room = old.room ? old.room : 16;

    while (room / 2 < old.count + more)
        room *= 2;
    if (room == old.room)
        return 0;
    set->slots = calloc(room, sizeof(*set->slots));
    if (!set->slots) {
        *set = old;
        return -ENOMEM;
    }
    set->room = room;
    for (uint32_t i = 0; i < old.room; i++)
        if (old.slots[i])
            *set_find(set, old.slots[i]) = old.slots[i];
    free(old.slots);
    return 0;
}

static int set_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = calloc(1, sizeof(struct set));
    return *state ? 0 : -ENOMEM;
}

static void set_free(void *state)
{
    struct set *set = state;

    if (!set)
        return;
    for (uint32_t i = 0; i < set->packet_count; i++)
        cop_packet_free(set->packets[i]);
    free(set->packets);
    free(set->slots);
    free(set);
}

static int set_join(void *state,
                    const struct cop_packet *packet,
                    struct cop_filter_call *call)
{
    struct set *set = state;
    uint32_t count, i, before = set->count;
    struct cop_packet **packets;
    const char **strings;

    if (cop_packet_unpack(packet, "%as", &strings, &count) < 0)
        return cop_filter_fail(call, "rank %u was sent a \"%s\", no \"%%as\"",
                               cop_filter_rank(call),
                               cop_packet_format(packet));
    packets = realloc(set->packets,
                      (set->packet_count + 1) * sizeof(struct cop_packet *));
    if (!packets)
        return -ENOMEM;
    set->packets = packets;
    if (set_grow(set, count) < 0)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        const char **slot = set_find(set, strings[i]);

        set->count += !*slot;
        if (!*slot)
            *slot = strings[i];
    }
    if (set->count > before)
        set->packets[set->packet_count++] = cop_packet_ref(packet);
    return 0;
}

static int set_difference(void *newer, const void *older)
{
    struct set *set = newer;
    const char **slots = set->slots;
    uint32_t room = set->room, i;

    if (room == 0)
        return 0;
    set->slots = calloc(room, sizeof(*slots));
    if (!set->slots) {
        set->slots = slots;
        return -ENOMEM;
    }
    set->count = 0;
    for (i = 0; i < room; i++)
        if (slots[i] && !set_has(older, slots[i])) {
            *set_find(set, slots[i]) = slots[i];
            set->count++;
        }
    free(slots);
    return 0;
}

static int set_pack(const void *state, struct cop_packet **out)
{
    const struct set *set = state;
    const char **strings;
    uint32_t count = 0, i;
    int r;

    if (set->count == 0)
        return 0;
    strings = calloc(set->count, sizeof(*strings));
    if (!strings)
        return -ENOMEM;
    for (i = 0; i < set->room; i++)
        if (set->slots[i])
            strings[count++] = set->slots[i];
    r = cop_packet_new(out, 0, "%as", strings, count);
    free(strings);
    return r;
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "set",
    .summary = "the set of all strings",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT,
    .init = set_init,
    .free = set_free,
    .join = set_join,
    .difference = set_difference,
    .pack = set_pack,
};

COP_FILTER_EXPORT(filter);
