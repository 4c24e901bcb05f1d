/* int_union.c - the set of all integers seen, "%ad": a join filter.
 *
 * Each node keeps its set, and sends up new integers in ascending order. */
#include <coppice/filter.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A hash table with open addressing, at most half full: adding takes the same
 * time whatever the size of the set. */
#define SLOTS_MIN 64

struct set {
    int32_t *slots;    /* 0: free */
    size_t slot_count; /* a power of two, or 0 */
    size_t used;
    bool has_zero; /* a slot cannot hold it: 0 is a free slot */
    int32_t tag;   /* of the packet that was joined last */
};

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
    free(set->slots);
    free(set);
}

/* The slot that holds `member`, or the free slot for it. `member` is not 0, and
 * the set has slots. The multiplier is 2^32 divided by the golden ratio. */
static int32_t *set_slot(const struct set *set, int32_t member)
{
    uint32_t hash = (uint32_t)member * UINT32_C(0x9e3779b1);
    size_t mask = set->slot_count - 1;
    size_t i = (hash ^ hash >> 16) & mask;

    while (set->slots[i] != 0 && set->slots[i] != member)
        i = (i + 1) & mask;
    return &set->slots[i];
}

static bool set_has(const struct set *set, int32_t member)
{
    if (member == 0)
        return set->has_zero;
    return set->slot_count > 0 && *set_slot(set, member) == member;
}

/* Add `member`. The set must have room. */
static void set_add(struct set *set, int32_t member)
{
    int32_t *slot;

    if (member == 0) {
        set->has_zero = true;
        return;
    }
    slot = set_slot(set, member);
    set->used += *slot == 0;
    *slot = member;
}

/* Make room for `count` more. Returns 0 or -ENOMEM. */
static int set_reserve(struct set *set, size_t count)
{
    struct set larger = *set;

    if (set->slot_count / 2 >= set->used + count)
        return 0;
    larger.slot_count = set->slot_count ? set->slot_count : SLOTS_MIN;
    while (larger.slot_count / 2 < set->used + count)
        larger.slot_count *= 2;
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    larger.used = 0;
    for (size_t i = 0; i < set->slot_count; i++)
        if (set->slots[i] != 0)
            set_add(&larger, set->slots[i]);
    free(set->slots);
    *set = larger;
    return 0;
}

static int set_join(void *state,
                    const struct cop_packet *packet,
                    struct cop_filter_call *call)
{
    struct set *set = state;
    const int32_t *members;
    uint32_t count;
    int r;

    r = cop_packet_unpack(packet, "%ad", &members, &count);
    if (r == -EINVAL)
        return cop_filter_fail(call,
                               "a packet has the format \"%s\": it must be "
                               "\"%%ad\"",
                               cop_packet_format(packet));
    if (r < 0)
        return r;
    if (set_reserve(set, count) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        set_add(set, members[i]);
    set->tag = cop_packet_tag(packet);
    return 0;
}

static int compare_integers(const void *a, const void *b)
{
    const int32_t *x = a;
    const int32_t *y = b;

    return (*x > *y) - (*x < *y);
}

static int set_difference(void *newer, const void *older)
{
    struct set *set = newer;
    const struct set *known = older;
    struct set rest = {.slot_count = set->slot_count, .tag = set->tag};

    rest.has_zero = set->has_zero && !known->has_zero;
    rest.slots = calloc(rest.slot_count + 1, sizeof(*rest.slots));
    if (!rest.slots)
        return -ENOMEM;
    for (size_t i = 0; i < set->slot_count; i++)
        if (set->slots[i] != 0 && !set_has(known, set->slots[i]))
            set_add(&rest, set->slots[i]);
    free(set->slots);
    *set = rest;
    return 0;
}

static int set_pack(const void *state, struct cop_packet **out)
{
    const struct set *set = state;
    size_t count = 0;
    int32_t *members;
    int r = 0;

    if (set->used >= COP_PACKET_MAX)
        return -EMSGSIZE;
    members = malloc((set->used + 1) * sizeof(*members));
    if (!members)
        return -ENOMEM;
    if (set->has_zero)
        members[count++] = 0;
    for (size_t i = 0; i < set->slot_count; i++)
        if (set->slots[i] != 0)
            members[count++] = set->slots[i];
    if (count > 0) {
        qsort(members, count, sizeof(*members), compare_integers);
        r = cop_packet_new(out, set->tag, "%ad", members, (uint32_t)count);
    }
    free(members);
    return r;
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "int_union",
    .summary = "set of all integers seen; what is new goes up",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT,
    .init = set_init,
    .free = set_free,
    .join = set_join,
    .difference = set_difference,
    .pack = set_pack,
};

COP_FILTER_EXPORT(filter);
