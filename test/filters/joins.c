/* joins.c - a join filter whose state counts the packets joined to it. What it
 * packs has no tag of its own. */
#include <errno.h>
#include <stdlib.h>

#include <coppice/filter.h>

static int joins_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = calloc(1, sizeof(int32_t));
    return *state ? 0 : -ENOMEM;
}

static int joins_join(void *state,
                      const struct cop_packet *packet,
                      struct cop_filter_call *call)
{
    (void)packet;
    (void)call;
    ++*(int32_t *)state;
    return 0;
}

static int joins_pack(const void *state, struct cop_packet **out)
{
    return cop_packet_new(out, 0, "%d", *(const int32_t *)state);
}

static const struct cop_filter joins = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(struct cop_filter),
    .name = "joins",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE,
    .init = joins_init,
    .free = free,
    .join = joins_join,
    .pack = joins_pack,
};

COP_FILTER_EXPORT(joins);
