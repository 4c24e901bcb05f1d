/* int_union.c - the set of all integers seen, "%ad": a join filter.
 *
 * Each node remembers its set. Up goes what is new, in ascending order. */
#include <coppice/filter.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct set {
    int32_t *members; /* ascending, each once */
    size_t count;
    int32_t tag; /* of the packet that was joined last */
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
    free(set->members);
    free(set);
}

static int compare(const void *a, const void *b)
{
    const int32_t *x = a;
    const int32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* Unite `a` and `b`, both ascending; `out` has room for all. Returns how many
 * there are. */
static size_t merge(int32_t *out,
                    const int32_t *a,
                    size_t a_count,
                    const int32_t *b,
                    size_t b_count)
{
    size_t count = 0;
    size_t i = 0;
    size_t j = 0;
    int32_t next;

    while (i < a_count || j < b_count) {
        next = j == b_count || (i < a_count && a[i] <= b[j]) ? a[i++] : b[j++];
        if (count == 0 || out[count - 1] != next)
            out[count++] = next;
    }
    return count;
}

static int set_join(void *state,
                    const struct cop_packet *packet,
                    struct cop_filter_call *call)
{
    struct set *set = state;
    const int32_t *members;
    uint32_t count;
    int32_t *sorted;
    int32_t *all;
    int r;

    r = cop_packet_unpack(packet, "%ad", &members, &count);
    if (r == -EINVAL)
        return cop_filter_fail(call,
                               "a packet has the format \"%s\": \"%%ad\" is "
                               "wanted",
                               cop_packet_format(packet));
    if (r < 0)
        return r;
    sorted = malloc((count + 1) * sizeof(*sorted));
    all = malloc((set->count + count + 1) * sizeof(*all));
    if (!sorted || !all) {
        free(sorted);
        free(all);
        return -ENOMEM;
    }
    if (count > 0) {
        memcpy(sorted, members, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), compare);
    }
    set->count = merge(all, set->members, set->count, sorted, count);
    free(sorted);
    free(set->members);
    set->members = all;
    set->tag = cop_packet_tag(packet);
    return 0;
}

static int set_difference(void *newer, const void *older)
{
    struct set *set = newer;
    const struct set *known = older;
    size_t count = 0;
    size_t i;

    if (known->count == 0)
        return 0;
    for (i = 0; i < set->count; i++)
        if (!bsearch(&set->members[i], known->members, known->count,
                     sizeof(int32_t), compare))
            set->members[count++] = set->members[i];
    set->count = count;
    return 0;
}

static int set_pack(const void *state, struct cop_packet **out)
{
    const struct set *set = state;

    if (set->count == 0)
        return 0;
    if (set->count > COP_PACKET_MAX)
        return -EMSGSIZE;
    return cop_packet_new(out, set->tag, "%ad", set->members,
                          (uint32_t)set->count);
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
