/* gather_filter.c - a filter that survives: the set of all numbers seen.
 *
 * A packet is "%aud": numbers below SPAN. That a state can be packed, and that
 * joining one twice changes nothing, makes the stream recoverable. */
#include <coppice/filter.h>

#include <errno.h>
#include <stdlib.h>

#define SPAN 131072

struct set {
    bool has[SPAN];
};

static int set_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = calloc(1, sizeof(struct set));
    return *state ? 0 : -ENOMEM;
}

static int set_join(void *state,
                    const struct cop_packet *packet,
                    struct cop_filter_call *call)
{
    struct set *set = state;
    const uint32_t *numbers;
    uint32_t count;

    if (cop_packet_unpack(packet, "%aud", &numbers, &count) < 0)
        return cop_filter_fail(call, "a packet is no \"%%aud\"");
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] >= SPAN)
            return cop_filter_fail(call, "%u is not below %d", numbers[i],
                                   SPAN);
        set->has[numbers[i]] = true;
    }
    return 0;
}

static int set_difference(void *newer, const void *older)
{
    struct set *set = newer;
    const struct set *known = older;

    for (size_t i = 0; i < SPAN; i++)
        set->has[i] = set->has[i] && !known->has[i];
    return 0;
}

static int set_pack(const void *state, struct cop_packet **out)
{
    const struct set *set = state;
    uint32_t *numbers = malloc(SPAN * sizeof(*numbers));
    uint32_t count = 0, i;
    int r = numbers ? 0 : -ENOMEM;

    for (i = 0; numbers && i < SPAN; i++)
        if (set->has[i])
            numbers[count++] = i;
    if (count > 0) /* else there is nothing to tell */
        r = cop_packet_new(out, 0, "%aud", numbers, count);
    free(numbers);
    return r;
}

static const struct cop_filter gather = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(gather),
    .name = "gather",
    .summary = "the set of all numbers seen",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT,
    .init = set_init,
    .free = free,
    .join = set_join,
    .difference = set_difference,
    .pack = set_pack,
};

COP_FILTER_EXPORT(gather);
